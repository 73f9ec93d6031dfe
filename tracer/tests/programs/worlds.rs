//! Tests of programs whose paths lead elsewhere from the start or from some time on (chroot, mounts, namespaces). The trace is in the
//! intended place, or the calls are in the spool. The tracer writes nothing to the new root, and does not affect the program.

use crate::filters::{BOTH, noted};
use crate::harness::{
    Launch, Outcome, Scratch, Traces, have, is_root, library, recover, skip, skip_here, spools, workload, workload_with,
};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const OUT_OF_REACH: &str = "traces not written, because their directory was out of reach";

/// Creates the program's new root, an empty directory; returns its path.
fn jail(scratch: &Scratch) -> PathBuf {
    let jail = scratch.root().join("jail");
    std::fs::create_dir_all(&jail).expect("failed to make a directory");
    jail
}

fn launch<'a>(scratch: &'a Scratch, program: &Path, way: &str, calls: [&str; 2]) -> Launch<'a> {
    let launch = Launch::new(scratch, program).arg(scratch.data()).arg(way).args(calls);
    launch.arg(jail(scratch))
}

fn writes(scratch: &Scratch) -> u64 {
    Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).expect("a directory").next().is_none()
}

/// True if the program could do what the test needs (chroot or mounts). Asserts the exit code, and that the tracer left no file in the new root.
fn went(scratch: &Scratch, outcome: &Outcome, what: &str) -> bool {
    if outcome.code == 77 {
        skip_here(&format!("{what}: may not be done here"));
        return false;
    }
    assert_eq!(outcome.code, 5, "{what}: {outcome:?}");
    assert!(is_empty(&jail(scratch)), "{what}");
    true
}

#[test]
fn traces_are_where_they_were_wanted_wherever_the_program_goes() {
    if !is_root() {
        return skip_here("only root may change the root directory");
    }
    let program = workload_with("worlds", crate::harness::Compiler::Cc, &["-O1", "-pthread"]);
    let modes: [&[(&str, &str)]; 4] = [
        &[("DXT_JOB_BYTES", "100M"), ("DXT_JOB_ID", "7")],
        &[("DXT_BUFFER_MAX", "64K"), ("DXT_JOB_ID", "7")],
        &[("DXT_BUFFER_MAX", "64K"), ("DXT_OVERFLOW", "spill")],
        &[("DXT_ENABLE", "counters")],
    ];
    for way in ["nothing", "chroot", "system_call", "forks", "thread", "pivot", "mount", "bind", "closes"] {
        for (mode, before) in modes.into_iter().flat_map(|mode| [(mode, "100"), (mode, "0")]) {
            let (scratch, what) = (Scratch::new(), format!("{way} {mode:?} {before}"));
            let launch = launch(&scratch, &program, way, [before, "20000"]);
            let outcome = mode.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
            if !went(&scratch, &outcome, &what) {
                continue;
            }
            assert_eq!(outcome.stderr, "", "{what}");
            let after = if way == "forks" { 40_000 } else { 20_000 };
            assert_eq!(writes(&scratch), before.parse::<u64>().expect("a number") + after, "{what}");
            // Neither spool nor spill file remains; the node quota file stays with the traces charged to it.
            let left = std::fs::read_dir(scratch.spools()).into_iter().flatten().flatten().map(|entry| entry.path());
            let left: Vec<PathBuf> = left.collect();
            assert_eq!(left.len(), usize::from(mode[0].0 == "DXT_JOB_BYTES"), "{what}: {left:?}");
            assert!(left.iter().all(|path| path.extension().is_some_and(|end| end == "budget")), "{what}: {left:?}");
            assert_eq!(
                noted(&Traces::read(&scratch.traces()), "processes with a fixed share of DXT_JOB_BYTES"),
                0,
                "{what}"
            );
        }
    }
}

#[test]
fn what_cannot_be_written_there_is_in_the_spool() {
    if !is_root() {
        return skip_here("only root may change the root directory");
    }
    let program = workload_with("worlds", crate::harness::Compiler::Cc, &["-O1", "-pthread"]);
    for (way, why) in [("user", "Permission denied"), ("gone", "No such file")] {
        for before in ["100", "0"] {
            let scratch = Scratch::new();
            // A process of another user needs an existing directory to create a spool in.
            std::fs::create_dir(scratch.spools()).expect("failed to make a directory");
            let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
            std::fs::set_permissions(scratch.spools(), anybody).expect("our own directory");
            let outcome = launch(&scratch, &program, way, [before, "3000"]).run();
            if !went(&scratch, &outcome, way) {
                continue;
            }
            let said = [why, "recover"].iter().all(|part| outcome.stderr.contains(part));
            assert!(said && outcome.stderr.lines().count() == 1, "{way}: {outcome:?}");
            let _ = std::fs::create_dir(scratch.traces());
            recover(&scratch);
            assert_eq!(writes(&scratch), before.parse::<u64>().expect("a number") + 3000, "{way}");
        }
    }
}

#[test]
fn ranks_that_change_their_root_directory() {
    if !is_root() {
        return skip_here("only root may change the root directory");
    }
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let program = workload_with("worlds", mpi, &["-O1", "-pthread", "-DWITH_MPI"]);
        for way in ["chroot", "mount"] {
            let scratch = Scratch::new();
            let outcome = launch(&scratch, &program, way, ["100", "3000"]).ranks(mpi, 2).run();
            assert!(is_empty(&jail(&scratch)) && !outcome.stderr.contains("dxt:"), "{mpi:?} {way}: {outcome:?}");
            assert_eq!(writes(&scratch), 6200, "{mpi:?} {way}: {outcome:?}");
            assert!(is_empty(&scratch.spools()), "{mpi:?} {way}");
        }
    }
}

/// Returns the value of the variable by which dxt-run identifies a directory that it has created.
fn made(directory: &Path) -> String {
    let about = std::fs::metadata(directory).expect("a directory that is there");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a machine that was booted");
    format!("{}:{}:{}:{}", about.dev(), about.ino(), boot.trim(), directory.display())
}

/// Runs a program with 300 writes while an empty file system hides the output directory (`hides_output`), the spool directory
/// (`hides_spool`), or both. Uses bwrap(1) and unshare(1); `check` gets the outcome of each. Files that the tracer creates there would be
/// listed on standard output.
fn behind_a_mount(hides_output: bool, hides_spool: bool, check: impl Fn(&Scratch, &Outcome, &str)) {
    let inside = "\"$@\"; code=$?; ls -A \"$0\"; exit $code";
    let mounts = format!("mount -t tmpfs none \"$0\" && {{ {inside}; }}");
    for way in [&["bwrap"][..], &["unshare", "-m"], &["unshare", "-r", "-m"]] {
        if !have(way[0]) {
            skip(&format!("{} is not installed", way[0]));
            continue;
        }
        let scratch = Scratch::new();
        let hidden = scratch.root().join("hidden");
        let place = |is_hidden: bool, name: &str| if is_hidden { hidden.join(name) } else { scratch.root().join(name) };
        let (output, spool) = (place(hides_output, "traces"), place(hides_spool, "spools"));
        for directory in [&hidden, &output, &spool] {
            std::fs::create_dir_all(directory).expect("failed to make a directory");
        }
        let mut launch = Launch::new(&scratch, way[0]).untraced();
        launch = way[1..].iter().fold(launch, |launch, argument| launch.arg(argument));
        launch = match way[0] {
            "bwrap" => launch.args(["--dev-bind", "/", "/", "--tmpfs"]).arg(&hidden).args(["sh", "-c", inside]),
            _ => launch.args(["sh", "-c", &mounts]),
        };
        let preload = format!("LD_PRELOAD={}", library().display());
        launch = launch.arg(&hidden).arg("env").arg(preload).arg(workload("exits")).arg(scratch.data());
        launch = launch.args(["return", "300"]).env("DXT_OUTPUT_DIR", &output).env("DXT_SPOOL", &spool);
        let outcome = launch.env("DXT_OUTPUT_ID", made(&output)).env("DXT_SPOOL_ID", made(&spool)).run();
        if outcome.code == 1 && !outcome.stderr.contains("dxt:") {
            skip_here(&format!("{way:?}: may not be done here"));
            continue;
        }
        assert_eq!((outcome.code, outcome.stdout.as_str()), (7, ""), "{way:?}: {outcome:?}");
        assert!(is_empty(&hidden.join(if hides_output { "traces" } else { "" })) || !hides_output, "{way:?}");
        check(&scratch, &outcome, way[0]);
    }
}

#[test]
fn a_program_that_starts_where_its_spool_is_out_of_reach_writes_its_trace() {
    behind_a_mount(false, true, |scratch, outcome, way| {
        assert_eq!((outcome.stderr.as_str(), writes(scratch)), ("", 300), "{way}");
    });
}

#[test]
fn a_program_that_starts_where_its_output_directory_is_out_of_reach_leaves_its_spool() {
    behind_a_mount(true, false, |scratch, outcome, way| {
        let said = ["another directory here", "recover"].iter().all(|part| outcome.stderr.contains(part));
        assert!(said && outcome.stderr.lines().count() == 1, "{way}: {outcome:?}");
        assert_eq!(spools(scratch).len(), 1, "{way}");
        recover(scratch);
        assert_eq!(writes(scratch), 300, "{way}");
        assert_eq!(noted(&Traces::read(&scratch.traces()), OUT_OF_REACH), 1, "{way}");
    });
}

#[test]
fn a_program_that_starts_where_nothing_is_in_reach_says_so() {
    behind_a_mount(true, true, |_, outcome, way| {
        let said = outcome.stderr.contains("failed to write the trace") && outcome.stderr.lines().count() == 1;
        assert!(said && outcome.stderr.contains("another directory here"), "{way}: {outcome:?}");
    });
}

/// The tracer must keep no file open that would prevent unmounting the output directory's file system.
#[test]
fn a_file_system_that_the_output_directory_lies_on_can_be_unmounted() {
    if !is_root() || !have("unshare") {
        return skip_here("needs root and unshare(1)");
    }
    let program = workload_with("worlds", crate::harness::Compiler::Cc, &["-O1", "-pthread"]);
    let scratch = Scratch::new();
    let script = "mount -t tmpfs none \"$DXT_OUTPUT_DIR\" && exec env LD_PRELOAD=\"$0\" \"$@\"";
    let launch = Launch::new(&scratch, "unshare").untraced().args(["-m", "sh", "-c", script]).arg(library());
    let launch = launch.arg(program).arg(scratch.data()).args(["unmount", "100", "200"]).arg(jail(&scratch));
    let outcome = launch.run();
    if outcome.code == 1 {
        return skip_here("file systems of one's own cannot be mounted here");
    }
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (5, 1), "{outcome:?}");
    assert!(is_empty(&scratch.traces()));
    recover(&scratch);
    assert_eq!(writes(&scratch), 300);
}

/// A program changes its root directory, then executes another. The first program's trace must be in its intended place. The second
/// program, which starts in the new root, must write nothing there.
#[test]
fn a_program_that_changes_its_root_directory_and_becomes_another() {
    if !is_root() {
        return skip_here("only root may change the root directory");
    }
    let program = workload_with("worlds", crate::harness::Compiler::Cc, &["-O1", "-pthread"]);
    let scratch = Scratch::new();
    let launch = launch(&scratch, &program, "execs", ["100", "200"]).env("DXT_OUTPUT_ID", made(&scratch.traces()));
    let outcome = launch.arg(workload("exits")).arg(scratch.data()).args(["return", "300"]).run();
    if outcome.code == 77 {
        return skip_here("may not be done here");
    }
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (7, 1), "{outcome:?}");
    assert_eq!(writes(&scratch), 300);
    recover(&scratch);
    assert_eq!(writes(&scratch), 600);
}
