//! Tests of recorded MPI-IO hints, and of datatypes with their extents: the trace has exactly those that the program sees, under each MPI.

use crate::harness::{Compiler, Launch, Scratch, Traces, log_lines, read_ranks, workload_with};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{HintOrigin, extent_bin};

/// MPI-IO hints as (process, origin, path, key, value).
type Hints = BTreeSet<(u32, u32, String, String, String)>;
/// Number of uses of datatypes, by (process, role, combiner, path).
type Datatypes = BTreeMap<(u32, String, String, String), u64>;
/// Number of uses of datatypes per bin of extents, by (process, role, path).
type Extents = BTreeMap<(u32, String, String), [u64; SIZE_BINS]>;

fn logged(scratch: &Scratch) -> (Hints, Datatypes, Extents) {
    let (mut hints, mut datatypes, mut extents) = (Hints::new(), Datatypes::new(), Extents::new());
    for line in log_lines(scratch) {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let number = |at: usize| words[at].parse::<u32>().expect("a number");
        match words[0] {
            "HINT" => _ = hints.insert((number(1), number(2), words[3].into(), words[4].into(), words[5].into())),
            "DATATYPE" => {
                let role = words[2].replace('_', " ");
                let extent: i64 = words[4].parse().expect("an extent");
                extents.entry((number(1), role.clone(), words[5].into())).or_default()[extent_bin(extent)] += 1;
                *datatypes.entry((number(1), role, words[3].into(), words[5].into())).or_default() += 1;
            }
            _ => {}
        }
    }
    (hints, datatypes, extents)
}

fn reported(traces: &Traces) -> (Hints, Datatypes, Extents) {
    let (mut hints, mut datatypes, mut extents) = (Hints::new(), Datatypes::new(), Extents::new());
    for process in &traces.processes {
        let (pid, path) = (process.info.pid, |file: u32| process.paths[file as usize].clone());
        for hint in &process.block.hints {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let origin = u32::from(hint.origin);
            assert!(hints.insert((pid, origin, path(hint.file), text(&hint.key), text(&hint.value))), "{hint:?} twice");
        }
        for one in &process.block.datatypes {
            let key = (pid, one.role.name().to_owned(), one.combiner.name().to_owned(), path(one.file));
            assert!(datatypes.insert(key, one.count).is_none(), "{one:?} twice");
        }
        for one in &process.block.datatype_extents {
            let key = (pid, one.role.name().to_owned(), path(one.file));
            assert!(extents.insert(key, one.extents).is_none(), "{one:?} twice");
        }
    }
    (hints, datatypes, extents)
}

#[test]
fn hints_and_datatypes_are_those_that_the_program_sees() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for ranks in [1, 3] {
            let scratch = Scratch::new();
            let program = workload_with("mpiio_details", mpi, &["-O1"]);
            let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, ranks).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let ((hints, datatypes, extents), (reported_hints, reported_datatypes, reported_extents)) =
                (logged(&scratch), reported(&traces));
            assert_eq!(reported_hints, hints, "{mpi:?}, {ranks} ranks");
            assert_eq!(reported_datatypes, datatypes, "{mpi:?}, {ranks} ranks");
            assert_eq!(reported_extents, extents, "{mpi:?}, {ranks} ranks");
            let all_bins = |role: &str| extents.iter().any(|(key, bins)| key.1 == role && !bins.contains(&0));
            assert!(all_bins("read buffer") && all_bins("write buffer"), "the program leaves out a bin: {extents:?}");
            // Only one rank records the hints of a collectively opened file.
            let shared = scratch.data().join("hints").display().to_string();
            let tellers: BTreeSet<u32> = hints.iter().filter(|hint| hint.2 == shared).map(|hint| hint.0).collect();
            let ranks_of = read_ranks(&scratch);
            assert_eq!(tellers.iter().map(|pid| ranks_of[pid]).collect::<Vec<_>>(), [0]);
            let asked = |key: &str| hints.iter().any(|hint| hint.1 == u32::from(HintOrigin::Asked) && hint.3 == key);
            assert!(asked("cb_nodes") && asked("romio_ds_write"));
        }
    }
}

#[test]
fn counters_of_ranks_have_datatypes_and_extents_too() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("mpiio_details", mpi, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 2);
        let outcome = launch.env("DXT_ENABLE", "counters").env("DXT_FLUSH", "process").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let ((_, datatypes, extents), (_, reported_datatypes, reported_extents)) =
            (logged(&scratch), reported(&Traces::read(&scratch.traces())));
        assert_eq!((reported_datatypes, reported_extents), (datatypes, extents), "{mpi:?}");
    }
}

#[test]
fn the_ranks_common_record_has_the_sums() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("mpiio_details", mpi, &["-O1"]);
        let outcome =
            Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 3).env("DXT_ENABLE", "counters").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let common = traces.processes.iter().find(|process| process.block.reduction.ranks == 3);
        assert!(common.is_some_and(|common| !common.block.datatypes.is_empty()), "{mpi:?}: nothing is reduced");
        let of_job = |(_, datatypes, extents): (Hints, Datatypes, Extents)| {
            let (mut kinds, mut bins) = (Datatypes::new(), Extents::new());
            for ((_, role, combiner, path), count) in datatypes {
                *kinds.entry((0, role, combiner, path)).or_default() += count;
            }
            for ((_, role, path), counts) in extents {
                let sums = bins.entry((0, role, path)).or_insert([0; SIZE_BINS]);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
            (kinds, bins)
        };
        assert_eq!(of_job(reported(&traces)), of_job(logged(&scratch)), "{mpi:?}");
    }
}
