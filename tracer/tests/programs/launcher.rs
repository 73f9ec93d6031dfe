//! scripts/dxt-run: it sets everything, keeps the command's status and output, and says which traces were written.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, library, workload, workload_source, workload_with};
use std::path::{Path, PathBuf};

fn dxt_run() -> PathBuf {
    workload_source("../../scripts/dxt-run").canonicalize().expect("scripts/dxt-run is there")
}

/// Runs `dxt-run --lib ... -o traces OPTIONS -- COMMAND`.
fn run(scratch: &Scratch, options: &[&str], command: &[&Path]) -> Outcome {
    let launch =
        Launch::new(scratch, dxt_run()).untraced().without("DXT_ENABLE").without("DXT_OUTPUT_DIR").without("DXT_SPOOL");
    let launch = launch.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let launch = launch.arg("--lib").arg(library()).arg("-o").arg(scratch.traces());
    let launch = options.iter().fold(launch, |launch, option| launch.arg(option)).arg("--");
    command.iter().fold(launch, |launch, argument| launch.arg(argument)).run()
}

/// The traces that dxt-run says it wrote.
fn said(outcome: &Outcome) -> Vec<PathBuf> {
    outcome.stderr.lines().filter_map(|line| line.strip_prefix("dxt-run: wrote ")).map(PathBuf::from).collect()
}

#[test]
fn a_program_keeps_its_status_and_the_trace_is_named() {
    let scratch = Scratch::new();
    let data = scratch.data();
    let command = [&*workload("exits"), &*data, "exit".as_ref(), "20".as_ref()];
    let outcome = run(&scratch, &["--buffer-max", "1M"], &command);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (7, ""));
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 21));
}

#[test]
fn several_processes_are_one_job() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, &[], &[&workload("fork"), &scratch.data()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome).len(), traces.files.len()), (8, 8));
    assert!(traces.jobs.iter().all(|job| job.info.key == traces.jobs[0].info.key));
}

#[test]
fn both_mpis_get_the_variables_to_their_ranks() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (program, data) = (workload_with("mpiio", mpi, &["-O1"]), scratch.data());
        let launcher: &[&Path] = match mpi {
            Compiler::Mpich => &["mpirun.mpich".as_ref()],
            _ => &["mpirun.openmpi".as_ref(), "--oversubscribe".as_ref()],
        };
        let command = [launcher, &["-n".as_ref(), "2".as_ref(), &*program, &*data]].concat();
        let outcome = run(&scratch, &[], &command);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert_eq!((said(&outcome), traces.processes.len()), (traces.files, 2));
    }
}

#[test]
fn without_a_trace_it_says_so_and_why() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, &[], &["/bin/true".as_ref()]);
    assert_eq!((outcome.code, said(&outcome).len()), (0, 0));
    assert!(outcome.stderr.contains("no trace was written") && outcome.stderr.contains("did no I/O"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["no-such-program".as_ref()]);
    assert_eq!(outcome.code, 127);
    assert!(outcome.stderr.contains("was not found"), "{outcome:?}");
    let fixed = workload_with("exits", Compiler::Cc, &["-O1", "-static"]);
    let outcome = run(&scratch, &[], &[&fixed, &scratch.data(), "exit".as_ref()]);
    assert_eq!(outcome.code, 7);
    assert!(outcome.stderr.contains("statically"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["/bin/sh".as_ref(), "-c".as_ref(), "kill -9 $$".as_ref()]);
    assert_eq!(outcome.code, 137);
    assert!(outcome.stderr.lines().all(|line| line.starts_with("dxt-run: ")), "{outcome:?}");
}

#[test]
fn a_configuration_file_goes_with_it_and_may_say_where_traces_go() {
    let scratch = Scratch::new();
    let (data, file) = (scratch.data(), scratch.root().join("site.conf"));
    let text = format!("DXT_BUFFER_MAX=1M\nDXT_OUTPUT_DIR = \"{}\" # here\n", scratch.traces().display());
    std::fs::write(&file, text).unwrap();
    let launch = Launch::new(&scratch, dxt_run()).untraced().without("DXT_ENABLE").without("DXT_OUTPUT_DIR");
    let launch = launch.arg("--lib").arg(library()).arg("--config").arg(&file).arg(workload("exits"));
    let outcome = launch.arg(&data).arg("exit").arg("20").run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 21));
    assert!(traces.jobs[0].settings.contains(&("DXT_BUFFER_MAX".into(), "1048576".into())));
}

#[test]
fn a_library_that_is_preloaded_already_stays() {
    let scratch = Scratch::new();
    let command = "sh -c 'echo $LD_PRELOAD'";
    let script = format!("LD_PRELOAD=libm.so.6 {} --lib {} {command}", dxt_run().display(), library().display());
    let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
    assert_eq!(outcome.stdout, format!("{}:libm.so.6\n", library().display()), "{outcome:?}");
}

#[test]
fn wrong_use_is_said() {
    let scratch = Scratch::new();
    let launch = |argument: &str| Launch::new(&scratch, dxt_run()).untraced().arg(argument).run();
    assert_eq!(launch("--bogus").code, 2);
    assert_eq!(launch("--output").code, 2);
    let help = launch("--help");
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.starts_with("usage: dxt-run"));
}

#[test]
fn what_a_killed_program_had_done_is_recovered() {
    if !library().with_file_name("dxt-analyze").exists() {
        return crate::harness::skip("dxt-analyze is not built beside the library (cargo build)");
    }
    let scratch = Scratch::new();
    let data = scratch.data();
    let outcome = run(&scratch, &[], &[&*workload("exits"), &*data, "kill".as_ref(), "200".as_ref()]);
    assert_eq!(outcome.code, 128 + 9);
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 201));
}
