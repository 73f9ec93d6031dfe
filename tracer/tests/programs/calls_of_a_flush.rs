//! Tests of the tracer's flush in MPI_Finalize: it makes at most eight collective calls, regardless of the recorded data. If a call fails
//! on one rank, all ranks end and no call is lost.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, spools, workload_with};
use std::path::Path;

const BOTH: [Compiler; 2] = [Compiler::Mpich, Compiler::OpenMpi];

/// Returns the launch of `counters_mpi` on `ranks` ranks. `way`: its I/O, as listed in its source. A second library, preloaded after the
/// tracer, counts the tracer's MPI calls.
pub(crate) fn program<'a>(scratch: &'a Scratch, mpi: Compiler, ranks: u32, way: &str) -> Launch<'a> {
    let shim = workload_with("counting_calls", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let program = workload_with("counters_mpi", mpi, &["-O1"]);
    let launch = Launch::new(scratch, "/bin/sh").arg("-c").arg("LD_PRELOAD=$LD_PRELOAD:$0 exec \"$@\"").arg(shim);
    let launch = launch.arg(program).arg(scratch.data()).arg(way).ranks(mpi, ranks);
    launch.env("OMPI_MCA_io", "^ompio").env("DXT_INCLUDE", scratch.data())
}

/// Returns the tracer's collective calls in MPI_Finalize, one list per rank, as reported by the counting library. Omits the two calls made
/// in MPI_Init.
fn flushes(outcome: &Outcome) -> Vec<Vec<String>> {
    let lines = outcome.stderr.lines().filter_map(|line| line.strip_prefix("flush "));
    let words = lines.map(|line| line.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>());
    words
        .map(|words| {
            assert_eq!(words[..2], ["Barrier", "Bcast"], "{outcome:?}");
            words[2..].to_vec()
        })
        .collect()
}

/// Asserts that all ranks made the same collective calls, at most eight; returns these calls.
pub(crate) fn at_most_eight(outcome: &Outcome, ranks: u32) -> Vec<String> {
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let all = flushes(outcome);
    assert_eq!(all.len() as u32, ranks, "{outcome:?}");
    for calls in &all {
        assert!(calls == &all[0] && calls.len() <= 8, "{outcome:?}");
    }
    all[0].clone()
}

#[test]
fn a_flush_makes_at_most_eight_collective_calls() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (mode, way, sizes) in [
            ("trace", "mixed", &[1, 2, 4, 8][..]),
            ("trace", "nothing", &[1, 3]),
            ("trace", "many", &[2]),
            ("trace", "some", &[4]),
            ("counters", "mixed", &[1, 2, 4, 8]),
            ("counters", "nothing", &[1, 3]),
            ("counters", "many", &[2, 4]),
            ("counters", "some", &[4]),
            ("counters", "own", &[2]),
            ("counters", "subsets", &[2, 4, 8]),
            ("counters", "crowd", &[4]),
        ] {
            for &ranks in sizes {
                let scratch = Scratch::new();
                let launch = program(&scratch, mpi, ranks, way).env("DXT_ENABLE", mode);
                let outcome = launch.env("DXT_COUNTERS_FILES", "4K").run();
                let calls = at_most_eight(&outcome, ranks);
                println!("{mpi:?} {mode} {way} {ranks}: {}", calls.join(" "));
                let traces = Traces::read(&scratch.traces());
                assert_eq!(traces.files.len(), 1, "{mpi:?} {mode} {way} {ranks}");
                if way == "many" {
                    let wrote = traces.totals(&["POSIX"], "write", &scratch.data());
                    assert_eq!(wrote, (2000 * u64::from(ranks), 2000 * u64::from(ranks)), "{mpi:?} {mode} {ranks}");
                    let common = traces.processes.iter().find(|process| process.reduced.0 > 0);
                    assert_eq!(common.map(|common| common.block.files.len()), (mode == "counters").then_some(2000));
                }
            }
        }
    }
}

/// Asserts that the calls on the file shared by all ranks are counted exactly once over all traces of the job.
pub(crate) fn reported_once(traces: &Traces, data: &Path, ranks: u64) {
    let posix = data.join("posix.0");
    let writes = 20 * ranks + ranks * (ranks - 1) / 2;
    assert_eq!(traces.totals(&["POSIX"], "write", &posix), (writes, writes * 100));
    assert_eq!(traces.totals(&["POSIX"], "read", &posix), (1, 1));
}

#[test]
fn whichever_call_fails_on_one_rank_everything_is_reported_once() {
    let (trace, counters) = (
        ["Exscan:1", "File_open:1", "File_write_at_all:1", "File_close:1", "Allreduce:1", "Allreduce:2"],
        ["Op_create:1", "Type_contiguous:1", "Allreduce:1", "Reduce:1", "Allreduce:2", "Exscan:1"],
    );
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let failing = trace.map(|call| ("trace", call)).into_iter().chain(counters.map(|call| ("counters", call)));
        // The first two broadcasts are those of MPI_Init.
        for (mode, call) in failing.chain([("trace", "Bcast:2"), ("counters", "Bcast:2")]) {
            let scratch = Scratch::new();
            let launch = program(&scratch, mpi, 3, "shared").env("DXT_ENABLE", mode).env("FAILING", call);
            let outcome = launch.run();
            at_most_eight(&outcome, 3);
            let traces = Traces::read(&scratch.traces());
            println!("{mpi:?} {mode} {call}: {} files", traces.files.len());
            // The status of the write is ignored, since each rank verifies its part.
            if call.starts_with("File_write") {
                assert_eq!(traces.files.len(), 1, "{mpi:?} {mode} {call}");
            }
            reported_once(&traces, &scratch.data(), 3);
        }
    }
}

#[test]
fn everything_is_reported_once_if_a_rank_misses_the_last_agreement() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (mode, call) in [("trace", "Allreduce:3"), ("counters", "Allreduce:4")] {
            for (rank, spool) in [("0", true), ("1", true), ("2", true), ("2", false)] {
                let scratch = Scratch::new();
                let launch = program(&scratch, mpi, 3, "shared").env("DXT_ENABLE", mode).env("FAILING", call);
                let launch = if spool { launch } else { launch.env("DXT_SPOOL", "off") };
                at_most_eight(&launch.env("FAILING_RANK", rank).run(), 3);
                let traces = Traces::read(&scratch.traces());
                assert_eq!(traces.files.len(), 1, "{mpi:?} {mode}, rank {rank}");
                reported_once(&traces, &scratch.data(), 3);
                assert!(spools(&scratch).is_empty());
            }
        }
    }
}

#[test]
fn a_trace_that_gets_no_name_is_whole_under_the_one_it_has() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (mode, call, failing) in [
            ("trace", "Allreduce:3", "none:0"),
            ("counters", "Allreduce:4", "none:0"),
            // Both failures at once: a rank without the result writes its part again, and both copies name the same rank.
            ("trace", "Allreduce:3", "Allreduce:3"),
        ] {
            let scratch = Scratch::new();
            let launch = program(&scratch, mpi, 3, "shared").env("DXT_ENABLE", mode).env("TAKEN", call);
            let outcome = launch.env("FAILING", failing).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            assert!(outcome.stderr.contains(".partial; the trace is complete"), "{outcome:?}");
            let place = scratch.root().join("found");
            std::fs::create_dir(&place).expect("a directory");
            let mut own = 0;
            for entry in std::fs::read_dir(scratch.traces()).expect("the traces") {
                let path = entry.expect("the traces").path();
                let name = path.file_name().and_then(|name| name.to_str()).expect("a name").replace(".partial", "");
                if std::fs::metadata(&path).expect("it is there").len() > 0 {
                    own += usize::from(!name.contains("ranks"));
                    std::fs::rename(&path, place.join(name)).expect("a place for it");
                }
            }
            assert_eq!(own, usize::from(failing != "none:0"), "{mpi:?} {mode}: {outcome:?}");
            let traces = Traces::read(&place);
            let mut parts: Vec<_> = Vec::new();
            for process in traces.processes.iter().filter(|process| process.info.pid != 0) {
                parts.push((process.info.pid, process.info.epoch_unix_ns, process.info.end_ns));
            }
            parts.sort_unstable();
            let all = parts.len();
            parts.dedup();
            assert_eq!(all - parts.len(), own, "{mpi:?} {mode}");
            if own == 0 {
                reported_once(&traces, &scratch.data(), 3);
            }
        }
    }
}
