//! Darshan's variables where ours are not set; its documentation says what they mean.

use crate::harness::{Compiler, Launch, Scratch, Traces, workload, workload_with};

fn program(scratch: &Scratch) -> Launch<'_> {
    let launch = Launch::new(scratch, workload("bench_calls")).arg("whole").arg("100").arg(scratch.data().join("file"));
    launch.without("DXT_ENABLE")
}

#[test]
fn a_program_is_traced_and_left_alone_by_darshans_words() {
    for (name, value, traced) in [
        ("DARSHAN_MOD_ENABLE", "DXT_POSIX,DXT_MPIIO", true),
        ("DARSHAN_MOD_ENABLE", "HEATMAP", false),
        ("DXT_ENABLE_IO_TRACE", "4", true),
    ] {
        for disabled in [false, true] {
            let scratch = Scratch::new();
            let launch = program(&scratch).env(name, value);
            let launch = if disabled { launch.env("DARSHAN_DISABLE", "1") } else { launch };
            let outcome = launch.run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
            let files = if scratch.traces().exists() { Traces::read(&scratch.traces()).files.len() } else { 0 };
            assert_eq!(files, usize::from(traced && !disabled), "{name}={value} {disabled}");
        }
    }
}

#[test]
fn files_that_no_trigger_wants_keep_no_segments() {
    for (share, kept) in [("1", true), ("0.5", true)] {
        let scratch = Scratch::new();
        let launch = program(&scratch).env("DXT_ENABLE", "trace").env("DARSHAN_DXT_SMALL_IO_TRIGGER", share);
        assert_eq!(launch.run().code, 0);
        let traces = Traces::read(&scratch.traces());
        assert_eq!(traces.segments.iter().any(|segment| segment.op.name == "write"), kept);
        let set = ("DXT_SMALL_IO_TRIGGER".to_owned(), share.to_owned());
        assert!(traces.jobs.iter().all(|job| job.settings.contains(&set)));
    }
    let scratch = Scratch::new();
    let outcome = program(&scratch).env("DXT_ENABLE", "trace").env("DARSHAN_DXT_SMALL_IO_TRIGGER", "20%").run();
    assert!(outcome.code == 0 && outcome.stderr.contains("DARSHAN_DXT_SMALL_IO_TRIGGER"), "{outcome:?}");
}

#[test]
fn ranks_that_darshan_is_told_to_exclude_have_no_segments() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("counters_mpi", mpi, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("shared").ranks(mpi, 4);
        let launch = launch.env("DARSHAN_RANK_EXCLUDE", "1:").env("DARSHAN_RANK_INCLUDE", "3");
        assert_eq!(launch.run().code, 0);
        let traces = Traces::read(&scratch.traces());
        let mut ranks: Vec<i32> =
            traces.processes.iter().filter(|p| p.info.segments > 0).map(|p| p.info.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [0, 3], "{mpi:?}");
    }
}
