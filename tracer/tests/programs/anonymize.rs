//! Tests of DXT_ANONYMIZE: traces, spools and spill files contain no name that the user chose; all other data is unchanged.

use crate::filters::{BOTH, noted, setting};
use crate::harness::{
    Compiler, Launch, Scratch, Traces, copy_program, recover, spools, workload, workload_hdf5, workload_with,
};
use std::path::{Path, PathBuf};

/// Word in every name that the user chooses in these tests.
const WORD: &str = "topsecret";

/// Data directory and program whose names contain the word, and a file with the anonymization key.
struct Secrets {
    scratch: Scratch,
    data: PathBuf,
    program: PathBuf,
    key: PathBuf,
}

impl Secrets {
    fn new(program: &Path) -> Self {
        let scratch = Scratch::new();
        let (data, own) = (scratch.data().join(WORD), scratch.root().join(format!("{WORD}.exe")));
        std::fs::create_dir(&data).expect("failed to make a directory");
        copy_program(program, &own);
        let key = scratch.root().join("key");
        std::fs::write(&key, "0123456789abcdef0123456789abcdef\n").expect("failed to write a key");
        Self { scratch, data, program: own, key }
    }

    fn launch(&self) -> Launch<'_> {
        let launch = Launch::new(&self.scratch, &self.program).arg(&self.data).env("DXT_ANONYMIZE", &self.key);
        launch.env("DXT_JOB_ID", format!("{WORD}.7")).env("DXT_EXCLUDE", format!("*/{WORD}.none"))
    }

    /// Returns the tables of all traces, and the names of the trace files. Omits segments, which are numbers.
    fn reported(&self) -> Vec<u8> {
        let traces = Traces::read(&self.scratch.traces());
        assert!(!traces.files.is_empty());
        assert!(setting(&traces, "DXT_ANONYMIZE").is_some_and(|reported| reported.len() == 16));
        let mut all: Vec<u8> = traces.jobs.iter().flat_map(trace_format::meta::Job::encode).collect();
        traces.processes.iter().for_each(|process| all.extend(process.block.encode()));
        traces.files.iter().for_each(|file| all.extend(file.file_name().expect("a name").as_encoded_bytes()));
        all
    }
}

fn has_word(bytes: &[u8]) -> bool {
    bytes.windows(WORD.len()).any(|here| here == WORD.as_bytes())
}

/// True if every component of a path is a hash, apart from file name extensions.
fn is_hashed(path: &str) -> bool {
    let hex = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.split('/').skip(1).all(|part| hex(part.split('.').next().unwrap_or_default())) || path.starts_with('<')
}

#[test]
fn no_word_of_the_users_is_in_a_trace() {
    for variables in [
        &[("DXT_ENABLE", "trace")][..],
        &[("DXT_OVERFLOW", "spill"), ("DXT_BUFFER_MAX", "16K")],
        &[("DXT_ENABLE", "counters")],
        &[("DXT_ENABLE", "counters"), ("DXT_COUNTERS_FILES", "64")],
    ] {
        let secrets = Secrets::new(&workload("exits"));
        let launch = secrets.launch().args(["return", "5000", WORD]);
        let outcome = variables.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{variables:?}");
        assert!(!has_word(&secrets.reported()), "{variables:?}");
        let traces = Traces::read(&secrets.scratch.traces());
        let written: u64 = traces.totals(&["POSIX"], "write", "/".as_ref()).0;
        assert_eq!(written, 5000, "{variables:?}");
        assert!(traces.processes.iter().flat_map(|process| &process.paths).all(|path| is_hashed(path)));
        assert!(traces.jobs[0].info.uid >= 1 << 31);
    }
}

#[test]
fn without_the_variable_they_are_there() {
    let secrets = Secrets::new(&workload("exits"));
    assert_eq!(secrets.launch().args(["return", "5", WORD]).without("DXT_ANONYMIZE").run().code, 7);
    let traces = Traces::read(&secrets.scratch.traces());
    assert!(has_word(&traces.jobs[0].encode()) && has_word(&traces.processes[0].block.encode()));
}

#[test]
fn none_is_in_what_a_killed_process_leaves() {
    for mode in [&[("DXT_OVERFLOW", "spill")][..], &[("DXT_ENABLE", "counters")]] {
        let secrets = Secrets::new(&workload("exits"));
        let launch = secrets.launch().args(["kill", "20000", WORD]).env("DXT_BUFFER_MAX", "32K");
        mode.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
        assert_eq!(spools(&secrets.scratch).len(), 1, "{mode:?}");
        for entry in std::fs::read_dir(secrets.scratch.spools()).expect("a directory") {
            let path = entry.expect("a file").path();
            // grep(1) skips the holes of sparse files.
            let found = std::process::Command::new("grep").arg("-q").arg("-a").arg(WORD).arg(&path).status();
            assert_eq!(found.expect("grep(1) runs").code(), Some(1), "{}", path.display());
        }
        recover(&secrets.scratch);
        assert!(!has_word(&secrets.reported()), "{mode:?}");
    }
}

#[test]
fn ranks_tell_none_either() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (name, mode, flush) in [
            ("mpiio_details", "trace", "auto"),
            ("counters_mpi", "counters", "auto"),
            ("counters_mpi", "trace", "process"),
        ] {
            let secrets = Secrets::new(&workload_with(name, mpi, &["-O1"]));
            let launch = secrets.launch().env("DXT_ENABLE", mode).env("DXT_FLUSH", flush);
            let launch = if name == "counters_mpi" { launch.arg("mixed") } else { launch };
            let outcome = launch.ranks(mpi, 2).run();
            assert_eq!((outcome.code, outcome.stderr.contains("dxt:")), (0, false), "{mpi:?} {name}: {outcome:?}");
            assert!(!has_word(&secrets.reported()), "{mpi:?} {name} {mode}");
            let traces = Traces::read(&secrets.scratch.traces());
            let paths: Vec<&String> = traces.processes.iter().flat_map(|process| &process.paths).collect();
            assert!(paths.iter().all(|path| is_hashed(path)), "{mpi:?} {name} {mode}: {paths:?}");
        }
    }
}

#[test]
fn data_sets_and_names_of_failed_calls_are_hashed() {
    if let Some(program) = workload_hdf5("hdf5_all", Compiler::Cc, "serial", &[]) {
        let secrets = Secrets::new(&program);
        let outcome = secrets.launch().run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(!has_word(&secrets.reported()));
        let traces = Traces::read(&secrets.scratch.traces());
        let sets = traces.processes.iter().flat_map(|process| &process.block.data_sets);
        let sets: Vec<String> = sets.map(|set| String::from_utf8_lossy(&set.path).into_owned()).collect();
        assert!(sets.len() > 2 && sets.iter().all(|set| is_hashed(set)), "{sets:?}");
    }
    let secrets = Secrets::new(&workload("failed"));
    assert_eq!(secrets.launch().run().code, 0);
    assert!(!has_word(&secrets.reported()));
    assert!(Traces::read(&secrets.scratch.traces()).failures.len() > 10);
}

#[test]
fn without_its_key_nothing_is_reported() {
    let secrets = Secrets::new(&workload("exits"));
    std::fs::write(&secrets.key, "short").expect("failed to write a key");
    for key in [&secrets.key, &secrets.scratch.root().join("none")] {
        let outcome = secrets.launch().args(["return", "10"]).env("DXT_ANONYMIZE", key).run();
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (7, 1), "{outcome:?}");
        assert!(outcome.stderr.contains("DXT_ANONYMIZE") && outcome.stderr.contains("not tracing"), "{outcome:?}");
        assert!(Traces::read(&secrets.scratch.traces()).files.is_empty());
    }
    // A key that is unreadable on one node must not block the ranks on other nodes.
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (rank, others) in [("0", 0), ("1", 3000)] {
            let secrets = Secrets::new(&workload_with("scarce_mpi", mpi, &["-O1", "-ldl"]));
            let script = format!(
                "[ \"${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}\" = {rank} ] && export DXT_ANONYMIZE=/no/key; exec \"$0\" \"$1\" 0 0"
            );
            let launch = Launch::new(&secrets.scratch, "/bin/sh").arg("-c").arg(script).arg(&secrets.program);
            let launch =
                launch.arg(&secrets.data).env("DXT_ANONYMIZE", &secrets.key).env("DXT_APPS", "!sh,!dash,!bash");
            let outcome = launch.ranks(mpi, 2).run();
            assert_eq!((outcome.code, outcome.stderr.matches("DXT_ANONYMIZE").count()), (5, 1), "{mpi:?} {outcome:?}");
            let traces = Traces::read(&secrets.scratch.traces());
            assert_eq!(traces.totals(&["POSIX"], "write", "/".as_ref()).0, others, "{mpi:?} {rank}");
            if others > 0 {
                assert!(!has_word(&secrets.reported()), "{mpi:?}");
                assert_eq!(noted(&traces, "ranks left out"), 1);
            }
        }
    }
}
