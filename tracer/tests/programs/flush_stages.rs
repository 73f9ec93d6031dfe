//! Tests of the times that a trace contains for the stages of the tracer's flush, in trace and counters mode, for one process and for several ranks.

use crate::harness::{Compiler, Launch, Scratch, workload, workload_with};
use trace_format::frame::{FlushStage, FlushTimes};
use trace_format::read::Trace;

/// Returns rank, true if reduced over all ranks, and flush times, for each process region in a run's traces.
fn regions(scratch: &Scratch) -> Vec<(i32, bool, Option<FlushTimes>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(scratch.traces()).expect("the traces") {
        let bytes = std::fs::read(entry.expect("the traces").path()).expect("a trace");
        let trace = Trace::open(bytes).expect("a trace");
        for place in &trace.regions {
            let region = trace.region(place);
            assert!(region.problems.is_empty(), "{:?}", region.problems);
            let process = region.process.expect("a process block");
            all.push((process.info.rank, process.reduction.ranks > 0, region.flush));
        }
    }
    all
}

fn run(scratch: &Scratch, mpi: Compiler, settings: &[(&str, &str)]) -> String {
    let program = workload_with("counters_mpi", mpi, &["-O1"]);
    let launch = Launch::new(scratch, program).arg(scratch.data()).arg("mixed").ranks(mpi, 3);
    let launch = launch.env("OMPI_MCA_io", "^ompio").env("DXT_INCLUDE", scratch.data()).env("DXT_VERBOSE", "2");
    let outcome = settings.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.stderr
}

#[test]
fn each_rank_says_how_long_its_part_took() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let reported = run(&scratch, mpi, &[]);
        let regions = regions(&scratch);
        assert_eq!(regions.len(), 3, "{mpi:?}");
        for (rank, _, times) in regions {
            let times = times.unwrap_or_else(|| panic!("rank {rank} says nothing"));
            // Each stage except `other` takes some time.
            for stage in &FlushStage::ALL[..7] {
                assert!(times.of(*stage) > 0, "{mpi:?}, rank {rank}: {stage:?} in {times:?}");
            }
            assert!(times.total_ns() < 240_000_000_000, "{times:?}");
        }
        let lines =
            reported.lines().filter(|line| line.contains("writing the trace of process") && line.contains(", repair "));
        assert_eq!(lines.count(), 3, "{reported}");
    }
}

#[test]
fn alone_and_in_counters_mode_whoever_writes_says_so() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        run(&scratch, mpi, &[("DXT_FLUSH", "process")]);
        let alone = regions(&scratch);
        assert_eq!(alone.len(), 3, "{mpi:?}");
        for (_, _, times) in alone {
            let times = times.expect("stages");
            assert_eq!((times.of(FlushStage::Agree), times.of(FlushStage::Repair)), (0, 0));
            let taken =
                [FlushStage::Gather, FlushStage::Encode, FlushStage::Compress, FlushStage::Open, FlushStage::Write];
            assert!(taken.iter().all(|stage| times.of(*stage) > 0), "{times:?}");
        }

        let scratch = Scratch::new();
        run(&scratch, mpi, &[("DXT_ENABLE", "counters")]);
        let counted = regions(&scratch);
        // A rank that writes two regions stores the times once, in its last region.
        let reported = counted.iter().filter(|(_, _, times)| times.is_some()).count();
        let common = counted.iter().filter(|(_, common, _)| *common).count();
        let own = counted.len() - common;
        let of_rank_0 = counted.iter().any(|(rank, common, _)| *rank == 0 && !common);
        assert_eq!(reported, own + usize::from(common > 0 && !of_rank_0), "{mpi:?}: {counted:?}");
        assert!(reported > 0);
    }
}

#[test]
fn what_was_packed_before_is_said() {
    let scratch = Scratch::new();
    let program = workload("bench_calls");
    let launch = Launch::new(&scratch, program).arg("whole").arg("100000").arg(scratch.data().join("file"));
    assert_eq!(launch.env("DXT_BUFFER_MAX", "1M").run().code, 0);
    let regions = regions(&scratch);
    let times = regions.first().and_then(|(_, _, times)| *times).expect("stages");
    assert!((1..=100_010).contains(&times.packed_segments), "{times:?}");
}
