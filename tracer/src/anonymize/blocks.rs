//! Anonymizes a trace's job block (facts about the job) and process blocks (data of one process). Each function destructures all fields, so
//! that a new text field cannot be forgotten.

use super::{fingerprint, hash, is_on, path, word};
use trace_format::meta::{DataSetDef, HintDef, Job, JobInfo, Mount, Process, ProcessInfo};

/// Settings stored in clear text: their values are numbers or fixed words. Values of other settings may contain names and are hashed.
const PLAIN_SETTINGS: [&str; 20] = [
    "DXT_ENABLE",
    "DXT_COUNTERS_FILES",
    "DXT_BUFFER_MAX",
    "DXT_MPI_BUFFER_MAX",
    "DXT_OVERFLOW",
    "DXT_TRACE_MODE",
    "DXT_LIVE",
    "DXT_SITES",
    "DXT_RANKS",
    "DXT_LAYERS",
    "DXT_MIN_SIZE",
    "DXT_SMALL_IO_TRIGGER",
    "DXT_SMALL_IO_SIZE",
    "DXT_UNALIGNED_IO_TRIGGER",
    "DXT_PROCESSES",
    "DXT_MIN_RUN_TIME",
    "DXT_MIN_IO",
    "DXT_MIN_CALLS",
    "DXT_SAMPLE",
    "DXT_JOB_BYTES",
];

/// Prefixes of MPI info keys defined by MPI and its libraries (MPI 4.0, 14.2.8; ROMIO; OMPIO; PnetCDF), which stay readable. Other keys are
/// the program's own and are hashed.
const KNOWN_HINTS: [&[u8]; 18] = [
    b"access_style",
    b"cb_",
    b"chunked",
    b"collective_buffering",
    b"cray_",
    b"direct_",
    b"file_perm",
    b"ind_",
    b"io_node_list",
    b"mpi_",
    b"nb_proc",
    b"nc_",
    b"num_",
    b"pnetcdf_",
    b"romio_",
    b"sharedfp",
    b"striping_",
    b"start_iodevice",
];
/// Values of MPI info hints that MPI itself defines, which identify nobody; stored in clear text.
const KNOWN_VALUES: [&[u8]; 12] = [
    b"enable",
    b"disable",
    b"automatic",
    b"true",
    b"false",
    b"yes",
    b"no",
    b"on",
    b"off",
    b"read_once",
    b"write_once",
    b"sequential",
];

/// Lowest user ID in anonymous traces: real user IDs are hardly ever this high, so a hashed ID does not equal another user's ID.
const USERS: u32 = 1 << 31;

/// Returns the trace's job block (facts about the job), anonymized if DXT_ANONYMIZE is set.
pub(crate) fn job(job: Job) -> Job {
    if !is_on() {
        return job;
    }
    // `names` has been anonymized by `registry`.
    let Job { info, ops, names, settings, mounts } = job;
    let JobInfo { key, scheduler, uid, exe, args, cwd, start_unix_ns, mpi, tracer } = info;
    let info = JobInfo {
        key: word(key.as_bytes()),
        scheduler: job_id(&scheduler),
        uid: USERS | hash(&uid.to_le_bytes()) as u32,
        exe: path(&exe),
        args: args.iter().map(|arg| word(arg).into_bytes()).collect(),
        cwd: path(&cwd),
        start_unix_ns,
        mpi,
        tracer,
    };
    let plain = |name: &str| PLAIN_SETTINGS.contains(&name);
    let reported = |(name, value): (String, String)| {
        let value = if plain(&name) { value } else { word(value.as_bytes()) };
        (name, value)
    };
    let mut settings: Vec<(String, String)> = settings.into_iter().map(reported).collect();
    settings.push(("DXT_ANONYMIZE".to_owned(), fingerprint()));
    let mounts = mounts.into_iter().map(|Mount { path: place, kind }| Mount { path: path(&place), kind }).collect();
    Job { info, ops, names, settings, mounts }
}

/// Hashes the job ID in a string such as `SLURM_JOB_ID=123.0`, but keeps the step (`.0`).
fn job_id(scheduler: &str) -> String {
    let Some((variable, value)) = scheduler.split_once('=') else { return word(scheduler.as_bytes()) };
    let step = value.rsplit_once('.').filter(|(_, step)| step.bytes().all(|byte| byte.is_ascii_digit()));
    match step {
        Some((id, step)) => format!("{variable}={}.{step}", word(id.as_bytes())),
        None => format!("{variable}={}", word(value.as_bytes())),
    }
}

/// Returns the process information, anonymized if DXT_ANONYMIZE is set. Node names are kept, since reports name slow nodes.
pub(crate) fn process_info(mut info: ProcessInfo) -> ProcessInfo {
    if !is_on() {
        return info;
    }
    let ProcessInfo {
        rank: _,
        node: _,
        pid: _,
        ppid: _,
        exe,
        epoch_unix_ns: _,
        clock: _,
        clock_hz: _,
        sync_ns: _,
        end_ns: _,
        ended_by: _,
        segments: _,
        missing: _,
        blocks: _,
    } = &mut info;
    *exe = path(exe);
    info
}

/// Anonymizes a process block (a process's data in a trace) if DXT_ANONYMIZE is set, except `info` and the file names, which are anonymized
/// already.
pub(crate) fn process(process: &mut Process) {
    if !is_on() {
        return;
    }
    let Process {
        info: _,
        threads: _,
        files: _,
        streams: _,
        // Layouts describe the file system (with its pool names), not the user.
        layouts: _,
        missing: _,
        notes: _,
        hints,
        datatypes: _,
        datatype_extents: _,
        views: _,
        data_sets,
        chunks: _,
        profiles: _,
        reduction: _,
        heat: _,
        whole: _,
        communicators: _,
        memory: _,
        processor: _,
        sites,
    } = process;
    // Recorded only without anonymization: addresses in modules with build ids say which program it is.
    *sites = trace_format::meta::SitesDef::default();
    for HintDef { file: _, origin: _, key, value } in hints {
        if !KNOWN_HINTS.iter().any(|known| key.starts_with(known)) {
            *key = word(key).into_bytes();
        }
        if !value.iter().all(u8::is_ascii_digit) && !KNOWN_VALUES.contains(&value.as_slice()) {
            *value = word(value).into_bytes();
        }
    }
    for DataSetDef { file: _, path: name, element_bytes: _, extent: _, accesses: _ } in data_sets {
        *name = path(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::meta::HintOrigin;

    #[test]
    fn no_word_of_the_users_stays() {
        super::super::begin_for_tests();
        let words = |text: &str| (text.to_owned(), "secret".to_owned());
        let info = JobInfo {
            key: "secret".into(),
            scheduler: "SLURM_JOB_ID=secret.7".into(),
            uid: 1000,
            exe: b"/home/secret/secret".into(),
            args: vec![b"--secret".to_vec(), Vec::new()],
            cwd: b"/home/secret".into(),
            ..JobInfo::default()
        };
        let settings = vec![words("DXT_INCLUDE"), words("DXT_CONFIG"), ("DXT_MIN_SIZE".into(), "4K".into())];
        let mounts = vec![Mount { path: b"/secret".into(), kind: "lustre".into() }];
        let reported = job(Job { info, settings, mounts, ..Job::default() });
        assert!(!format!("{reported:?}").contains("secret"), "{reported:?}");
        assert!(!String::from_utf8_lossy(&reported.encode()).contains("secret"));
        assert!(reported.info.scheduler.starts_with("SLURM_JOB_ID=") && reported.info.scheduler.ends_with(".7"));
        assert!(
            reported.info.uid >= USERS
                && reported.info.exe.starts_with(&reported.info.cwd)
                && reported.info.args[1].is_empty()
        );
        assert_eq!((reported.settings[2].1.as_str(), reported.mounts[0].kind.as_str()), ("4K", "lustre"));
        assert_eq!(reported.settings[3], ("DXT_ANONYMIZE".to_owned(), fingerprint()));
    }

    #[test]
    fn hints_keep_what_mpi_knows() {
        super::super::begin_for_tests();
        let hint = |key: &str, value: &str| HintDef {
            file: 0,
            origin: HintOrigin::Asked,
            key: key.into(),
            value: value.into(),
        };
        let hints = vec![hint("cb_nodes", "4"), hint("romio_cb_write", "enable"), hint("my_secret", "secret")];
        let sets = vec![DataSetDef { path: b"/secret/x".into(), ..DataSetDef::default() }];
        let mut block = Process { hints, data_sets: sets, ..Process::default() };
        process(&mut block);
        let [nodes, write, mine] = block.hints.as_slice() else { panic!("three hints") };
        assert_eq!((nodes.value.as_slice(), write.value.as_slice()), (b"4".as_slice(), b"enable".as_slice()));
        assert!(mine.key.len() == 16 && mine.value.len() == 16 && block.data_sets[0].path.len() == 34);
    }
}
