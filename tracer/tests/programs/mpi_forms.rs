//! Tests of nonblocking, split, shared-pointer and other MPI-IO calls: the trace has exactly the program's operations, under each MPI.

use crate::harness::{
    Compiler, Launch, Order, Scratch, Traces, assert_same, read_failures, read_log, read_ranks, skip_here,
    workload_with,
};

/// Runs one part of a test program with each of the given numbers of ranks under each MPI, and compares the trace with the program's own log
/// of its calls.
fn exact(program: &'static str, part: &str, ranks: &[u32]) {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for &ranks in ranks {
            let scratch = Scratch::new();
            let program = workload_with(program, mpi, &["-O1"]);
            let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg(part).ranks(mpi, ranks).run();
            if outcome.code == 77 {
                skip_here(&format!("{mpi:?} is older than MPI 4.0"));
                break;
            }
            assert_eq!(outcome.code, 0, "{mpi:?}, {ranks} ranks: {outcome:?}");
            let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
            assert_eq!((read_ranks(&scratch).len() as u32, traces.missing()), (ranks, 0));
            assert!(!log.is_empty());
            assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
            // Each asynchronous operation is submitted by one call, and awaited by one call, possibly together with other operations.
            let goes_on = log.iter().filter(|op| ["nonblocking", "split"].contains(&op.mode.as_str())).count();
            let [submits, waits] = ["submit", "wait"].map(|name| traces.kept(name, &scratch.data()).len());
            // Each rank of the part "crowd" frees a request, whose completion is not seen.
            let freed = if part == "crowd" { ranks as usize } else { 0 };
            assert_eq!(submits, goes_on + freed, "{mpi:?}, {ranks} ranks");
            assert!((waits > 0) == (goes_on > 0) && waits <= goes_on, "{waits} of {goes_on}");
        }
    }
}

#[test]
fn calls_that_fail() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("mpiio_failed", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 2).run();
        assert_eq!(outcome.code, 0, "{mpi:?}: {outcome:?}");
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
        let mut failed = traces.failed_ops(&scratch.data());
        failed.retain(|op| op.layer == "MPIIO");
        assert_same(Order::File, &read_failures(&scratch), &failed);
    }
}

#[test]
fn nonblocking() {
    exact("mpiio_requests", "nonblocking", &[1, 3]);
}

#[test]
fn more_requests_than_statuses() {
    exact("mpiio_requests", "crowd", &[1, 2]);
}

#[test]
fn split_collectives() {
    exact("mpiio_forms", "split", &[1, 3]);
}

#[test]
fn positions_and_sizes() {
    exact("mpiio_forms", "positions", &[1, 2]);
}

#[test]
fn large_counts() {
    exact("mpiio_forms", "counts", &[1, 2]);
}

/// With an MPI library that lacks functions with 64-bit counts, a program that looks for them finds the tracer's, which must work.
#[test]
fn large_counts_that_the_library_lacks() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for ranks in [1, 3] {
            let scratch = Scratch::new();
            let program = workload_with("mpi_weak_counts", mpi, &["-O1"]);
            let outcome = Launch::new(&scratch, program).arg(scratch.data().join("file")).ranks(mpi, ranks).run();
            assert_eq!(outcome.code, 0, "{mpi:?}, {ranks} ranks: {outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let writes = traces.own_ops(&["MPIIO"], &scratch.data());
            let collective = writes.iter().filter(|op| op.name == "write" && op.mode == "collective").count();
            assert_eq!((collective as u32, traces.missing()), (ranks, 0), "{mpi:?}");
        }
    }
}

#[test]
fn reads_past_the_end_are_short() {
    exact("mpiio_ends", "ends", &[1, 2, 3]);
}

#[test]
fn more_than_two_gibibytes_in_one_call() {
    exact("mpiio_ends", "huge", &[1]);
}
