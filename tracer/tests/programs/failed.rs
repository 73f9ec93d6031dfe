//! Tests of failed calls: they are recorded separately, with their error number, and the program sees the same error as without the tracer.

use crate::harness::{Compiler, Launch, Order, Scratch, assert_same, read_failures, workload, workload_with};

#[test]
fn every_failing_call_is_recorded_with_its_error() {
    let scratch = Scratch::new();
    let (log, traces) = Launch::new(&scratch, workload("failed")).arg(scratch.data()).traced();
    let failures = read_failures(&scratch);
    assert!(failures.len() > 30, "{}", failures.len());
    assert_same(Order::Thread, &failures, &traces.failed_ops("/".as_ref()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], "/".as_ref()));
}

#[test]
fn every_failing_call_on_a_stream_is_recorded_with_its_error() {
    for flags in [&["-O0"][..], &["-O2", "-D_FORTIFY_SOURCE=2"]] {
        let scratch = Scratch::new();
        let program = workload_with("failed_streams", Compiler::Cc, flags);
        let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
        let failures = read_failures(&scratch);
        assert!(failures.len() > 25, "{}", failures.len());
        assert_same(Order::Thread, &failures, &traces.failed_ops("/".as_ref()));
        assert_same(Order::Thread, &log, &traces.own_ops(&["STDIO", "POSIX"], "/".as_ref()));
    }
}

#[test]
fn a_storm_of_names_that_do_not_exist_is_bounded_and_counted() {
    let scratch = Scratch::new();
    let (_, traces) = Launch::new(&scratch, workload("failed")).arg(scratch.data()).arg("20000").traced();
    let storm = traces.failures.iter().filter(|seg| seg.op.path.contains("/storm")).count() as u64;
    let notes = &traces.processes[0].notes;
    let counted =
        notes.iter().find(|note| note.what.contains("more than the tracer has room for")).map_or(0, |note| note.count);
    assert!(storm > 1000 && counted > 1000, "{storm} recorded, {counted} counted");
    // The program passes twice over 20,000 names. Both times each name is recorded or counted.
    assert_eq!(storm + counted, 40_000 + 1, "the one name more has no address");
}

#[test]
fn errors_are_the_same_without_the_tracer() {
    let errors = |change: fn(Launch<'_>) -> Launch<'_>| {
        let scratch = Scratch::new();
        let outcome = change(Launch::new(&scratch, workload("failed")).arg(scratch.data())).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        read_failures(&scratch).into_iter().map(|op| (op.name, op.errno)).collect::<Vec<_>>()
    };
    assert_eq!(errors(|launch| launch), errors(|launch| launch.untraced()));
}
