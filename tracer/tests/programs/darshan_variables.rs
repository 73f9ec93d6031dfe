//! Tests of Darshan's environment variables: they apply where the tracer's own variables are not set, with the meanings in Darshan's documentation.

use crate::filters::{kept_and_counted_are_all, noted};
use crate::harness::{Compiler, Launch, Scratch, Traces, workload, workload_with};
use crate::triggers::{kept, kinds};
use std::collections::BTreeSet;
use std::path::PathBuf;

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
fn ranks_that_darshan_is_reported_to_exclude_have_no_segments() {
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

fn triggers(scratch: &Scratch, lines: &str) -> PathBuf {
    let path = scratch.data().join("triggers.conf");
    std::fs::write(&path, lines).expect("a file");
    path
}

/// A file that matches a trigger in Darshan's trigger file keeps its segments; other files have only counters. The trigger file alone turns
/// tracing on.
#[test]
fn files_are_kept_that_a_trigger_of_darshans_file_names() {
    for (lines, expected) in [
        ("FILE small\n", "small"),
        ("FILE /(large|half)\\.?[[:alnum:]]*$  # remark\nFILE ^/no/such/place\n", "half large"),
        ("SMALL_IO 0.8\n", "small stream"),
        ("UNALIGNED_IO 1\n", "beside"),
        ("# all kinds\n\nUNALIGNED_IO 1\nFILE named\nSMALL_IO 1\nRANK ^7$\n", "beside named small stream"),
        ("RANK ^0$\n", "beside half large named small stream"),
        ("RANK 7\n", ""),
    ] {
        let scratch = Scratch::new();
        let launch = kinds(&scratch, 300).without("DXT_ENABLE");
        let (log, traces) = launch.env("DXT_TRIGGER_CONF_PATH", triggers(&scratch, lines)).traced();
        let expected: BTreeSet<String> = expected.split_terminator(' ').map(str::to_owned).collect();
        assert_eq!(kept(&traces, &scratch.data()), expected, "{lines}");
        kept_and_counted_are_all(&log, &traces, &["POSIX", "STDIO", "MPIIO"], &scratch.data());
        assert_eq!(noted(&traces, "a trigger"), 6 - expected.len() as u64, "{lines}");
        let settings = traces.jobs.iter().flat_map(|job| &job.settings);
        let reported: Vec<&String> =
            settings.filter(|(name, _)| name == "DXT_TRIGGER_CONF_PATH").map(|set| &set.1).collect();
        assert!(!reported.is_empty() && reported.iter().all(|reported| !reported.contains('#')), "{reported:?}");
    }
}

#[test]
fn a_wrong_line_is_said_once_and_the_others_count() {
    let lines = "FILE (small\nFILE small\nSMALL 1\n";
    let scratch = Scratch::new();
    let outcome = kinds(&scratch, 300).env("DXT_TRIGGER_CONF_PATH", triggers(&scratch, lines)).run();
    assert_eq!(outcome.code, 0);
    let said: Vec<&str> = outcome.stderr.lines().collect();
    let [first, second] = said.as_slice() else { panic!("{said:?}") };
    assert!(first.contains("line 1 is ignored: a parenthesis"), "{first}");
    assert!(second.contains("line 3 is ignored: SMALL is not a trigger"), "{second}");
    assert_eq!(kept(&Traces::read(&scratch.traces()), &scratch.data()), ["small".to_owned()].into());
    // A file that is unreadable or has no valid trigger is handled like an invalid setting.
    for lines in [Some("FILE (\n"), None] {
        let scratch = Scratch::new();
        let path = lines.map_or_else(|| scratch.data().join("none"), |lines| triggers(&scratch, lines));
        let outcome = kinds(&scratch, 3).env("DXT_TRIGGER_CONF_PATH", path).run();
        assert!(outcome.code == 0 && outcome.stderr.contains("not tracing"), "{outcome:?}");
    }
}

#[test]
fn ranks_that_a_trigger_names_keep_all_files() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("counters_mpi", mpi, &["-O1"]);
        let launch =
            Launch::new(&scratch, program).arg(scratch.data()).arg("mixed").ranks(mpi, 4).without("DXT_ENABLE");
        let lines = "RANK [1-2]\nFILE own\\.3$\n";
        assert_eq!(launch.env("DXT_TRIGGER_CONF_PATH", triggers(&scratch, lines)).run().code, 0);
        let traces = Traces::read(&scratch.traces());
        let mut with_segments: Vec<(i32, u64)> =
            traces.processes.iter().map(|process| (process.info.rank, process.info.segments)).collect();
        with_segments.retain(|(_, segments)| *segments > 0);
        with_segments.sort_unstable();
        let [(1, all), (2, _), (3, named)] = with_segments.as_slice() else { panic!("{mpi:?}: {with_segments:?}") };
        // Open, write and close of the named file. Collective MPI calls belong to no file.
        let own = |segment: &&crate::harness::Seg| segment.op.path.ends_with("/own.3");
        assert!(traces.segments.iter().filter(own).count() == 3 && all > named, "{mpi:?}: {with_segments:?}");
        assert!(!traces.segments.iter().any(|segment| segment.op.path.ends_with("/own.0")), "{mpi:?}");
    }
}
