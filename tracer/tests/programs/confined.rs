//! Tests of programs that restrict their own system calls by seccomp(2): they end as they would untraced, and their calls are in the spool.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, recover, spools, workload, workload_with};

fn run(scratch: &Scratch, way: &str, calls: &str) -> Outcome {
    Launch::new(scratch, workload("confined")).arg(scratch.data()).arg(way).arg(calls).run()
}

/// Returns the number of writes to each of the program's two files (used before and after it restricted its system calls), with or without
/// segments.
fn writes(scratch: &Scratch) -> (u64, u64) {
    let traces = Traces::read(&scratch.traces());
    let of = |name: &str| traces.totals(&["POSIX"], "write", &scratch.data().join(name)).0;
    (of("before"), of("after"))
}

/// Asserts that the tracer printed exactly one line, which names the spool.
fn reported_once(outcome: &Outcome) {
    assert_eq!(outcome.code, 5, "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("seccomp") && outcome.stderr.contains("recover"), "{outcome:?}");
}

#[test]
fn all_is_in_the_spool_whatever_a_filter_does() {
    for way in ["kill", "errno", "nosys", "trap", "strict", "system_call", "prctl_call"] {
        let scratch = Scratch::new();
        reported_once(&run(&scratch, way, "3000"));
        assert_eq!(spools(&scratch).len(), 1, "{way}");
        recover(&scratch);
        assert_eq!(writes(&scratch), (3000, 3000), "{way}");
    }
}

#[test]
fn what_is_counted_goes_on_in_the_spool() {
    for (way, before, after) in
        [("kill", 3000, 3000), ("strict", 3000, 3000), ("first", 0, 3000), ("threads", 6000, 3000)]
    {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).arg(way).arg("3000");
        reported_once(&launch.env("DXT_ENABLE", "counters").run());
        assert_eq!(recover(&scratch), 0, "{way}");
        assert_eq!(writes(&scratch), (before, after), "{way}");
    }
}

#[test]
fn the_first_call_of_all_comes_behind_the_filter() {
    let scratch = Scratch::new();
    reported_once(&run(&scratch, "first", "3000"));
    recover(&scratch);
    assert_eq!(writes(&scratch), (0, 3000));
}

#[test]
fn more_than_there_is_memory_for_is_counted() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).arg("kill").arg("60000");
    reported_once(&launch.env("DXT_BUFFER_MAX", "64K").run());
    recover(&scratch);
    assert_eq!(writes(&scratch), (60000, 60000));
}

#[test]
fn threads_that_are_confined_with_another() {
    // Also tested with the byte budget used up, so that all calls are only counted.
    for budget in ["", "0"] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).arg("threads").arg("2000");
        reported_once(&launch.env("DXT_JOB_BYTES", budget).env("DXT_JOB_ID", "7").run());
        recover(&scratch);
        assert_eq!(writes(&scratch), (4000, 2000), "{budget}");
    }
}

#[test]
fn operations_of_io_submit_behind_the_filter() {
    for threads in ["0", "1"] {
        let scratch = Scratch::new();
        let program = workload_with("confined_aio", Compiler::Cc, &["-O1", "-pthread"]);
        reported_once(&Launch::new(&scratch, program).arg(scratch.data()).arg(threads).run());
        recover(&scratch);
        let traces = Traces::read(&scratch.traces());
        let offsets = traces.segments.iter().filter(|segment| segment.op.name == "io_submit_write");
        let mut offsets: Vec<_> = offsets.map(|segment| segment.op.offset).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..100).map(|at| at * 4096).collect::<Vec<_>>(), "{threads}");
        let failed = traces.failed_ops(&scratch.data());
        assert_eq!(failed.iter().filter(|op| op.name == "io_submit_write").count(), 1, "{threads}: {failed:?}");
        assert_eq!(traces.kept("submit", &scratch.data()).len(), 50, "{threads}");
        let notes = &traces.processes[0].notes;
        let counted = notes.iter().find(|note| note.what.starts_with("asynchronous")).map(|note| note.count);
        assert_eq!(counted, Some(1), "{threads}: {notes:?}");
    }
}

#[test]
fn what_is_opened_behind_the_filter_is_recorded_without_a_name() {
    let scratch = Scratch::new();
    reported_once(&run(&scratch, "opens", "700"));
    recover(&scratch);
    assert_eq!(writes(&scratch), (700, 700));
    assert_eq!(Traces::read(&scratch.traces()).totals(&["POSIX"], "write", "/.dev".as_ref()).0, 700);
}

#[test]
fn a_child_that_confines_itself_leaves_its_parent_alone() {
    let scratch = Scratch::new();
    reported_once(&run(&scratch, "child", "500"));
    assert_eq!(spools(&scratch).len(), 1);
    assert_eq!(writes(&scratch), (1000, 0));
    recover(&scratch);
    assert_eq!(writes(&scratch), (1500, 500));
}

#[test]
fn a_child_of_a_confined_process_is_counted() {
    let scratch = Scratch::new();
    reported_once(&run(&scratch, "forks", "500"));
    recover(&scratch);
    assert_eq!(writes(&scratch), (500, 500));
    let traces = Traces::read(&scratch.traces());
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    let children: u64 = notes.filter(|note| note.what.contains("forked children")).map(|note| note.count).sum();
    assert_eq!(children, 1);
}

/// A rank that forbids itself all system calls must neither block the other ranks nor cost them their traces.
#[test]
fn ranks_that_confine_themselves() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for (mode, modulus, confined) in [("trace", "2", 2), ("trace", "1", 3), ("counters", "2", 2)] {
            let scratch = Scratch::new();
            let launch = Launch::new(&scratch, workload_with("confined_mpi", mpi, &["-O1"])).ranks(mpi, 3);
            let outcome = launch.arg(scratch.data()).arg(modulus).env("DXT_ENABLE", mode).run();
            assert_eq!(outcome.code, 0, "{mpi:?} {mode} {modulus}: {outcome:?}");
            let said = outcome.stderr.lines().filter(|line| line.contains("seccomp")).count();
            assert_eq!(said, confined, "{mpi:?} {mode} {modulus}: {outcome:?}");
            recover(&scratch);
            let traces = Traces::read(&scratch.traces());
            for rank in 0..3 {
                let writes =
                    |name: &str| traces.totals(&["POSIX"], "write", &scratch.data().join(format!("{name}.{rank}"))).0;
                assert_eq!((writes("before"), writes("after")), (300, 300), "{mpi:?} {mode} {modulus} {rank}");
            }
        }
    }
}

#[test]
fn a_program_that_forbids_to_read_the_counter() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, "no_counter", "300");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{outcome:?}");
    assert_eq!(writes(&scratch), (300, 600));
    let traces = Traces::read(&scratch.traces());
    assert!(traces.processes[0].notes.iter().any(|note| note.what.contains("clock") && note.count == 1));
}

#[test]
fn who_only_asks_is_not_confined() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, "asks", "300");
    // The kernel refused to install the filter, after the tracer had announced the confinement.
    assert_eq!(outcome.code, 5, "{outcome:?}");
    assert!(spools(&scratch).is_empty());
    assert_eq!(writes(&scratch), (300, 300));
}

#[test]
fn without_a_spool_the_trace_ends_where_the_program_confines_itself() {
    for (mode, spool) in [("trace", "off"), ("counters", "off")] {
        for way in ["kill", "strict", "errno"] {
            let scratch = Scratch::new();
            let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).arg(way).arg("400");
            let outcome = launch.env("DXT_ENABLE", mode).env("DXT_SPOOL", spool).run();
            assert_eq!((outcome.code, outcome.stderr.lines().count()), (5, 1), "{mode} {way}: {outcome:?}");
            assert!(outcome.stderr.contains("not recorded"), "{outcome:?}");
            assert_eq!(writes(&scratch), (400, 0), "{mode} {way}");
        }
    }
}
