//! Tests of settings by which a site traces all jobs by default: excluded processes, sampled jobs, and limits on bytes per job (docs/site.md).

use crate::filters::{BOTH, noted, setting};
use crate::harness::{
    Compiler, Launch, Order, Outcome, Scratch, Traces, assert_same, have, is_root, read_log, recover, spools, workload,
    workload_with,
};
use crate::launcher::unloadable;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the path of the example configuration for sites.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/site/dxt.conf")
}

/// The task prolog script sets the variables of a Slurm task by its output, and only once.
#[test]
fn the_prolog_of_tasks_sets_its_variables_once() {
    let script = example().with_file_name("task_prolog.sh");
    let run = |variables: &[(&str, &str)]| {
        let scratch = Scratch::new();
        let launch =
            Launch::new(&scratch, "/bin/sh").untraced().arg(&script).env("DXT_TRACER", crate::harness::library());
        let outcome =
            with(launch.env("DXT_CONFIG", example()).without("DXT_ENABLE").without("ASAN_OPTIONS"), variables).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        outcome.stdout
    };
    let library = crate::harness::library().display().to_string();
    let preloaded = format!("export DXT_CONFIG={}\nexport LD_PRELOAD={library}\n", example().display());
    let in_any_order = "export ASAN_OPTIONS=verify_asan_link_order=0\n";
    assert_eq!(run(&[]), format!("{preloaded}{in_any_order}"));
    let more = format!("{preloaded}export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0\n");
    assert_eq!(run(&[("ASAN_OPTIONS", "detect_leaks=0")]), more);
    assert_eq!(run(&[("ASAN_OPTIONS", "verify_asan_link_order=1:detect_leaks=0")]), preloaded);
    for variables in [("DXT_ENABLE", "off"), ("LD_PRELOAD", library.as_str()), ("DXT_CONFIG", "/no/such/file")] {
        assert_eq!(run(&[variables]), "", "{variables:?}");
    }
    // A tracer under another name, or of another build, is recognized.
    let scratch = Scratch::new();
    for name in ["libdxt_tracer.so.0.1.0", "libio.so", "link.so"] {
        let place = scratch.root().join(name);
        if name.starts_with("link") {
            std::os::unix::fs::symlink(&library, &place).expect("a link");
        } else {
            std::fs::copy(&library, &place).expect("a copy");
        }
        for other in [place.display().to_string(), format!("libm.so.6 {}:libdl.so.2", place.display())] {
            assert_eq!(run(&[("LD_PRELOAD", &other)]), "", "{other}");
        }
    }
    assert!(run(&[("LD_PRELOAD", "libm.so.6")]).contains(&format!("export LD_PRELOAD={library}:libm.so.6\n")));
    // A library that would keep the task's programs from starting is not preloaded.
    let unloadable = unloadable(&scratch).display().to_string();
    assert_eq!(run(&[("DXT_TRACER", &unloadable)]), "");
}

/// Returns the launch of a program that makes one open and `calls` pwrites of 4 bytes.
fn writes<'a>(scratch: &'a Scratch, calls: &str) -> Launch<'a> {
    Launch::new(scratch, workload("exits")).arg(scratch.data()).arg("return").arg(calls)
}

/// Returns all files in the directories of traces and spools.
pub(crate) fn left(scratch: &Scratch) -> Vec<PathBuf> {
    fn below(directory: &Path, into: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.path().is_dir() { below(&entry.path(), into) } else { into.push(entry.path()) }
        }
    }
    let mut files = Vec::new();
    [scratch.traces(), scratch.spools()].iter().for_each(|directory| below(directory, &mut files));
    files
}

fn with<'a>(launch: Launch<'a>, variables: &[(&str, &str)]) -> Launch<'a> {
    variables.iter().fold(launch, |launch, (name, value)| launch.env(name, value))
}

#[test]
fn a_loop_of_cats_leaves_nothing_at_a_site_and_all_by_hand() {
    let run = |times: u32, variables: &[(&str, &str)]| {
        let scratch = Scratch::new();
        std::fs::write(scratch.data().join("x"), "line\n").expect("failed to write a file");
        let script = format!("for i in $(seq {times}); do cat {0}/x > {0}/y || exit 1; done", scratch.data().display());
        let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script);
        let outcome = with(launch, variables).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{variables:?}");
        left(&scratch).len()
    };
    let example = example().display().to_string();
    for site in [
        &[("DXT_CONFIG", example.as_str()), ("DXT_ENABLE", "trace")][..],
        &[("DXT_CONFIG", &example), ("DXT_PROCESSES", "all")],
        &[("DXT_MIN_RUN_TIME", "600")],
        &[("DXT_MIN_IO", "1M"), ("DXT_ENABLE", "counters")],
    ] {
        assert_eq!(run(300, site), 0, "{site:?}");
    }
    // The shell's child opens the output file of cat(1).
    assert!(run(20, &[]) >= 20);
}

#[test]
fn a_process_without_mpi_must_do_enough() {
    for (variables, kept) in [
        (&[("DXT_MIN_RUN_TIME", "30")][..], false),
        (&[("DXT_MIN_RUN_TIME", "0.000001")], true),
        (&[("DXT_MIN_IO", "40001")], false),
        (&[("DXT_MIN_IO", "40000")], true),
        // Packed and folded calls count too.
        (&[("DXT_MIN_IO", "40000"), ("DXT_BUFFER_MAX", "64K")], true),
        (&[("DXT_MIN_IO", "40000"), ("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")], true),
        (&[("DXT_MIN_IO", "40001"), ("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")], false),
        (&[("DXT_MIN_CALLS", "10001")], true),
        (&[("DXT_MIN_CALLS", "10002")], false),
        (&[("DXT_MIN_CALLS", "10002"), ("DXT_MIN_IO", "1")], true),
        (&[("DXT_MIN_CALLS", "10001"), ("DXT_ENABLE", "counters")], true),
        (&[("DXT_MIN_CALLS", "10002"), ("DXT_ENABLE", "counters")], false),
        (&[("DXT_MIN_IO", "1"), ("DXT_MIN_RUN_TIME", "30")], false),
        (&[("DXT_PROCESSES", "mpi")], false),
        (&[("DXT_PROCESSES", "mpi"), ("PMI_RANK", "0")], false),
    ] {
        let scratch = Scratch::new();
        let outcome = with(writes(&scratch, "10000"), variables).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{variables:?}");
        assert_eq!(left(&scratch).len(), usize::from(kept), "{variables:?}");
        let traces = Traces::read(&scratch.traces());
        if kept {
            assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (10_000, 40_000), "{variables:?}");
            assert!(setting(&traces, variables[0].0).is_some(), "{variables:?}");
        }
    }
}

#[test]
fn an_exec_that_fails_decides_nothing() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("becomes")).arg(scratch.data()).arg("execv");
    // There are too few calls at the exec that fails, enough at the exec that succeeds, and too few in the new program.
    let outcome = launch.env("DXT_MIN_CALLS", "120").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(left(&scratch).len(), 1, "{:?}", left(&scratch));
    let log: Vec<_> = read_log(&scratch).into_iter().filter(|op| !op.path.ends_with("/after")).collect();
    assert!(log.len() > 120);
    assert_same(Order::File, &log, &Traces::read(&scratch.traces()).own_ops(&["POSIX"], &scratch.data()));
}

#[test]
fn a_program_that_confines_itself_is_judged_by_then() {
    // Two opens and 100 writes precede the confinement; as many writes follow.
    for (least, kept) in [("102", 1), ("103", 0)] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).arg("kill").arg("100");
        let outcome = launch.env("DXT_MIN_CALLS", least).run();
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (5, kept), "{outcome:?}");
        assert_eq!(left(&scratch).len(), kept);
    }
}

fn mpi(scratch: &Scratch, mpi: Compiler) -> Launch<'_> {
    let program = workload_with("scarce_mpi", mpi, &["-O1", "-ldl"]);
    Launch::new(scratch, program).arg(scratch.data()).args(["0", "0"])
}

/// Asserts that the ranks exited with status 5, as the test program always does, and that the tracer printed nothing.
#[track_caller]
pub(crate) fn ended_quietly(outcome: &Outcome) {
    let said = outcome.stderr.lines().any(|line| line.starts_with("dxt:"));
    assert!(outcome.code == 5 && !said, "{outcome:?}");
}

/// Returns the total number of writes by both ranks in the traces.
fn writes_of_two(scratch: &Scratch) -> u64 {
    Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0
}

#[test]
fn ranks_have_a_trace_and_what_is_around_them_has_none() {
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let program = workload_with("scarce_mpi", compiler, &["-O1", "-ldl"]);
        let scratch = Scratch::new();
        let script = "cat \"$1\"/* > \"$1/copy.$$\" 2> /dev/null; head -c 100 /dev/zero > \"$1/more.$$\"; exec \"$0\" \"$1\" 0 0";
        let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(&program).arg(scratch.data());
        let variables = [("DXT_PROCESSES", "mpi"), ("DXT_MIN_RUN_TIME", "600"), ("DXT_MIN_IO", "1T")];
        let outcome = with(launch, &variables).ranks(compiler, 2).run();
        ended_quietly(&outcome);
        assert_eq!(left(&scratch).len(), 1, "{compiler:?} {:?}", left(&scratch));
        assert_eq!(writes_of_two(&scratch), 6000, "{compiler:?}");
    }
}

/// A job is sampled as a whole: all its processes make the same decision, whatever their own settings, and no process waits for another.
#[test]
fn jobs_are_sampled_as_a_whole() {
    let scratch = Scratch::new();
    for (share, job, kept) in [("0", "1", 0), ("1", "1", 1)] {
        let scratch = Scratch::new();
        let outcome = writes(&scratch, "10").env("DXT_SAMPLE", share).env("DXT_JOB_ID", job).run();
        assert_eq!((outcome.code, outcome.stderr.as_str(), left(&scratch).len()), (7, "", kept), "{share}");
    }
    // Job steps share the decision of their job.
    let is_kept = |job: u32, step: &str| {
        let before = left(&scratch).len();
        let launch = writes(&scratch, "1").env("DXT_SAMPLE", "0.5").env("SLURM_JOB_ID", job.to_string());
        assert_eq!(launch.env("SLURM_STEP_ID", step).run().code, 7);
        left(&scratch).len() > before
    };
    let kept: Vec<bool> = (1000..1020).map(|job| is_kept(job, "0")).collect();
    let again: Vec<bool> = (1000..1020).map(|job| is_kept(job, "7")).collect();
    assert_eq!(kept, again);
    let number = kept.iter().filter(|kept| **kept).count();
    assert!((3..18).contains(&number), "{number} of 20");
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        // Each rank has its own job ID, so that some ranks would be excluded if each rank decided alone.
        let mut found = BTreeSet::new();
        for attempt in 0..4 {
            let scratch = Scratch::new();
            let program = workload_with("scarce_mpi", compiler, &["-O1", "-ldl"]);
            let script = format!("DXT_JOB_ID={attempt}.${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}} exec \"$0\" \"$@\"");
            let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(program).arg(scratch.data());
            let launch = launch.args(["0", "0"]).env("DXT_SAMPLE", "0.5").env("DXT_APPS", "!sh,!dash,!bash");
            let outcome = launch.ranks(compiler, 2).run();
            ended_quietly(&outcome);
            found.insert(writes_of_two(&scratch));
            assert!([0, 1].contains(&left(&scratch).len()), "{:?}", left(&scratch));
        }
        assert!(found.is_subset(&BTreeSet::from([0, 6000])), "{compiler:?}: {found:?}");
    }
}

#[test]
fn the_kill_switch_is_looked_at_when_a_process_starts() {
    let scratch = Scratch::new();
    let switch = scratch.root().join("off");
    let outcome = || writes(&scratch, "10").env("DXT_KILL_SWITCH", &switch).run();
    assert_eq!((outcome().code, left(&scratch).len()), (7, 1));
    std::fs::write(&switch, "").expect("failed to write a file");
    assert_eq!((outcome().code, left(&scratch).len()), (7, 1));
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        // The switch is set for one rank only, as may happen if it is set while the job starts. Rank 0 decides.
        for (rank, writes) in [("0", 0), ("1", 6000)] {
            let scratch = Scratch::new();
            let program = workload_with("scarce_mpi", compiler, &["-O1", "-ldl"]);
            let script = format!(
                "[ \"${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}\" = {rank} ] && export DXT_KILL_SWITCH={}; exec \"$0\" \"$@\"",
                switch.display()
            );
            let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(program).arg(scratch.data());
            let launch = launch.args(["0", "0"]).env("DXT_APPS", "!sh,!dash,!bash");
            let outcome = launch.ranks(compiler, 2).run();
            ended_quietly(&outcome);
            assert_eq!(writes_of_two(&scratch), writes, "{compiler:?} {rank}");
        }
    }
}

/// A node with a different configuration file, or without one, must not block the job.
#[test]
fn a_rank_whose_settings_make_no_sense_holds_nobody_up() {
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for wrong in ["DXT_CONFIG=/no/such/file", "DXT_OVERFLOW=maybe", "DXT_FLUSH=sometimes"] {
            for (rank, writes) in [("0", 0), ("1", 3000)] {
                let scratch = Scratch::new();
                let program = workload_with("scarce_mpi", compiler, &["-O1", "-ldl"]);
                let script = format!(
                    "[ \"${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}\" = {rank} ] && export {wrong}; exec \"$0\" \"$@\""
                );
                let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(program).arg(scratch.data());
                let launch = launch.args(["0", "0"]).env("DXT_APPS", "!sh,!dash,!bash");
                let outcome = launch.ranks(compiler, 2).run();
                let said = outcome.stderr.matches("not tracing").count();
                assert_eq!((outcome.code, said), (5, 1), "{compiler:?} {wrong} {rank}: {outcome:?}");
                assert_eq!(writes_of_two(&scratch), writes, "{compiler:?} {wrong} {rank}");
            }
        }
    }
}

#[test]
fn nodes_whose_files_differ_hold_nobody_up() {
    // Configuration files of rank 0 and of rank 1; `None` if missing. Settings of a newer tracer are unknown variables here.
    let files: [[Option<&str>; 2]; 6] = [
        [Some("DXT_ENABLE=off"), Some("DXT_ENABLE=trace")],
        [Some("DXT_ENABLE=trace"), Some("")],
        [Some("# by hand only"), None],
        [None, Some("DXT_ENABLE=trace")],
        [Some("DXT_ENABLE=trace\nDXT_FLUSH=process"), Some("DXT_ENABLE=trace\nDXT_NEWER=1\nDXT_FLUSH=process")],
        [Some("DXT_ENABLE=counters"), Some("DXT_ENABLE=off")],
    ];
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for pair in files {
            let scratch = Scratch::new();
            for (rank, text) in pair.iter().enumerate() {
                if let Some(text) = text {
                    std::fs::write(scratch.root().join(format!("{rank}.conf")), text).expect("a file");
                }
            }
            let program = workload_with("scarce_mpi", compiler, &["-O1", "-ldl"]);
            let script = format!(
                "DXT_CONFIG={}/${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}.conf exec \"$0\" \"$@\"",
                scratch.root().display()
            );
            let launch = Launch::new(&scratch, "/bin/sh").without("DXT_ENABLE").arg("-c").arg(script).arg(program);
            let outcome = launch.arg(scratch.data()).args(["0", "0"]).ranks(compiler, 2).run();
            assert_eq!(outcome.code, 5, "{compiler:?} {pair:?}: {outcome:?}");
        }
    }
}

/// Asserts that all calls of the process are recorded or counted, and that the trace files take at most `most` bytes in total.
fn within(traces: &Traces, data: &Path, calls: u64, most: u64) {
    let bytes: u64 = traces.files.iter().map(|file| file.metadata().expect("a trace").len()).sum();
    assert!(bytes <= most, "{bytes} bytes, {most} allowed");
    assert_eq!(traces.writes_within_budget(data), calls);
    let segments: u64 = traces.processes.iter().map(|process| process.info.segments).sum();
    assert!(segments > 0 && segments < calls, "{segments} of {calls} have segments");
    // Either for the calls, or for the name of their file, whose calls are then only counted.
    let room = noted(traces, "DXT_JOB_BYTES has no room");
    assert!(room > 0, "{segments} segments of {calls} calls, in {bytes} of {most} bytes, and nothing said");
    assert!(setting(traces, "DXT_JOB_BYTES").is_some());
}

#[test]
fn a_job_writes_no_more_than_its_budget() {
    for overflow in ["compact", "spill"] {
        let scratch = Scratch::new();
        let launch = writes(&scratch, "300000").env("DXT_JOB_BYTES", "100K").env("DXT_OVERFLOW", overflow);
        assert_eq!(launch.env("DXT_BUFFER_MAX", "512K").run().code, 7);
        // The description of the job is not part of the budget.
        within(&Traces::read(&scratch.traces()), &scratch.data(), 300_000, 104 << 10);
    }
    let scratch = Scratch::new();
    assert_eq!(writes(&scratch, "1000").env("DXT_JOB_BYTES", "0").run().code, 7);
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (1000, 4000));
    assert_eq!(traces.processes[0].info.segments, 0);
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (flush, files) in [("auto", 1), ("process", 2)] {
            let scratch = Scratch::new();
            let launch = mpi(&scratch, compiler).env("DXT_JOB_BYTES", "6K").env("DXT_FLUSH", flush);
            let outcome = launch.ranks(compiler, 2).run();
            ended_quietly(&outcome);
            let traces = Traces::read(&scratch.traces());
            assert_eq!(traces.files.len(), files);
            within(&traces, &scratch.data(), 6000, (6 << 10) + files as u64 * (4 << 10));
        }
    }
}

/// Returns the disk space that files take, in bytes. Less than their lengths, since spools are sparse.
fn bytes_on_disk(files: &[PathBuf]) -> u64 {
    files.iter().map(|file| file.metadata().expect("a file").blocks() * 512).sum()
}

/// All files of a job must stay within its byte budget: file names take room in traces and spools too, and a killed process leaves both.
#[test]
fn whatever_a_job_leaves_is_within_its_budget() {
    let (budget, files, calls) = (1 << 20, 20_000, 300_000);
    for (overflow, end) in [("compact", "return"), ("compact", "kill"), ("spill", "kill"), ("fold", "kill")] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("many_files")).arg(scratch.data()).arg(end);
        let launch = launch.arg(files.to_string()).arg(calls.to_string());
        let launch = launch.env("DXT_JOB_BYTES", budget.to_string()).env("DXT_OVERFLOW", overflow);
        launch.env("DXT_BUFFER_MAX", "16M").run();
        let left = left(&scratch);
        assert!(!left.is_empty());
        let bytes = bytes_on_disk(&left);
        assert!(bytes <= budget, "{overflow} {end}: {bytes} bytes in {left:?}");
        recover(&scratch);
        let traces = Traces::read(&scratch.traces());
        // All calls are recorded, those on the first file under its name; many other names are not recorded.
        let one = traces.totals(&["POSIX"], "write", &scratch.data().join("one"));
        assert_eq!(one.0, calls, "{overflow} {end}");
        let others = traces.totals(&["POSIX"], "write", Path::new("<other files>")).0;
        let named = traces.totals(&["POSIX"], "write", &scratch.data()).0 - one.0;
        assert_eq!(named + others, files, "{overflow} {end}");
        assert!(named > 100 && others > 100, "{named} {others}");
        let noted = noted(&traces, "files that DXT_JOB_BYTES has no room for");
        assert!(noted >= others, "{noted} of {others} openings are noted");
        let [process] = traces.processes.as_slice() else { panic!("{} processes", traces.processes.len()) };
        assert!(process.info.segments > 10_000, "{} segments", process.info.segments);
    }
}

/// Runs the program with the output directory `pattern` below `traces/`. `pattern` may contain placeholders such as `%j` (job ID).
fn below(scratch: &Scratch, pattern: &str) -> Outcome {
    let pattern = format!("{}/{pattern}", scratch.traces().display());
    writes(scratch, "10").env("DXT_OUTPUT_DIR", pattern).env("DXT_JOB_ID", "../7").run()
}

#[test]
fn each_user_job_and_day_has_a_directory() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let scratch = Scratch::new();
    let outcome = below(&scratch, "%u/%d/%j");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""));
    let user = scratch.traces().metadata().expect("a directory").uid();
    let trace = left(&scratch).pop().expect("a trace");
    let parts: Vec<_> = trace.strip_prefix(scratch.traces()).expect("below").iter().map(|part| part.to_str()).collect();
    assert_eq!((parts[0], parts[2]), (Some(user.to_string().as_str()), Some("___7")));
    let day: Vec<usize> = parts[1].expect("a day").split('-').map(str::len).collect();
    assert_eq!(day, [4, 2, 2]);
    for directory in trace.ancestors().skip(1).take(3) {
        assert_eq!(directory.metadata().expect("a directory").permissions().mode() & 0o777, 0o700);
    }
    for wrong in ["%d/%u", "%x", "%"] {
        let scratch = Scratch::new();
        let outcome = below(&scratch, wrong);
        assert_eq!((outcome.code, outcome.stderr.lines().count(), left(&scratch).len()), (7, 1, 0), "{outcome:?}");
        assert!(outcome.stderr.contains("DXT_OUTPUT_DIR"), "{outcome:?}");
    }
}

#[test]
fn a_directory_that_others_prepared_is_refused() {
    use std::os::unix::fs::MetadataExt;
    for plant in ["link", "owner", "file"] {
        let scratch = Scratch::new();
        let own = scratch.traces().join(scratch.traces().metadata().expect("a directory").uid().to_string());
        let elsewhere = scratch.root().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("failed to make a directory");
        match plant {
            "link" => std::os::unix::fs::symlink(&elsewhere, &own).expect("failed to make a link"),
            "file" => std::fs::write(&own, "").expect("failed to write a file"),
            _ if !is_root() => continue,
            _ => std::fs::create_dir(&own)
                .and_then(|()| std::os::unix::fs::chown(&own, Some(65_534), None))
                .expect("failed to give a directory away"),
        }
        let outcome = below(&scratch, "%u/x");
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (7, 1), "{plant}: {outcome:?}");
        assert!(outcome.stderr.contains("recover"), "{plant}: {outcome:?}");
        assert_eq!((std::fs::read_dir(&elsewhere).expect("a directory").count(), spools(&scratch).len()), (0, 1));
        std::fs::rename(&own, scratch.root().join("planted")).expect("failed to move what was planted");
        recover(&scratch);
        assert_eq!(Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0, 10, "{plant}");
    }
}

#[test]
fn ranks_share_the_directory_of_rank_0() {
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let pattern = format!("{}/%u/%d/%j", scratch.traces().display());
        let outcome = mpi(&scratch, compiler).env("DXT_OUTPUT_DIR", pattern).ranks(compiler, 2).run();
        ended_quietly(&outcome);
        assert_eq!(left(&scratch).len(), 1, "{compiler:?}");
    }
}

#[test]
fn two_users_share_a_directory_of_everybody() {
    if !is_root() || !have("setpriv") {
        return crate::harness::skip_here("needs root and setpriv(1)");
    }
    let scratch = Scratch::new();
    let open = std::env::temp_dir().join(format!("dxt-site-{}", std::process::id()));
    let script = format!(
        "mkdir -m 755 {0} && mkdir -m 1777 {0}/all {0}/data && cp {1} {0}/program && cp {2} {0}/library && chmod 755 {0}/program {0}/library
         for user in 12345 12346; do
             mkdir -m 777 {0}/data/$user
             setpriv --reuid=$user --regid=$user --clear-groups env OPLOG={0}/data/$user/log DXT_SPOOL=off DXT_OUTPUT_DIR={0}/all/%u \
                 LD_PRELOAD={0}/library {0}/program {0}/data/$user return 10
             echo $?
         done
         cd {0}/all && find . -mindepth 1 -printf '%y %m %U ' -exec sh -c 'echo ${{1%_*.dxt}}' x {{}} \\; | sed 's/_.*//' | sort; rm -r {0}",
        open.display(),
        workload("exits").display(),
        crate::harness::library().display()
    );
    let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
    let expected =
        "7\n7\nd 700 12345 ./12345\nd 700 12346 ./12346\nf 600 12345 ./12345/program\nf 600 12346 ./12346/program\n";
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (expected, ""));
}
