//! Tests of counters mode under MPICH and Open MPI. For files shared by all ranks, one record has exact totals, and its size does not
//! depend on the number of ranks. Files used by a single rank stay in that rank's record. (`counters_subsets` tests files shared by some
//! ranks.)

use crate::harness::{Compiler, Launch, Scratch, Traces, read_log, workload_with};
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::counters::Counters;
use trace_format::profile::Profile;
use trace_format::spread::Spread;

pub(crate) const BOTH: [Compiler; 2] = [Compiler::Mpich, Compiler::OpenMpi];

/// Runs `counters_mpi` on `ranks` ranks in counters mode. `way`: its I/O, as listed in its source; `flush`: DXT_FLUSH. Returns its traces,
/// and the total size of the trace files in bytes.
pub(crate) fn run(scratch: &Scratch, mpi: Compiler, ranks: u32, way: &str, flush: &str) -> (Traces, u64) {
    let program = workload_with("counters_mpi", mpi, &["-O1"]);
    let launch = Launch::new(scratch, program).arg(scratch.data()).arg(way).ranks(mpi, ranks);
    // OMPIO creates a file per rank to test locks, which stays in the rank's record; ROMIO does not. Open MPI's ranks race to create the
    // job's directory, and only the late ones query its parents.
    let launch = launch.env("OMPI_MCA_io", "^ompio").env("DXT_INCLUDE", scratch.data());
    let outcome = launch.env("DXT_ENABLE", "counters").env("DXT_FLUSH", flush).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    let sizes = traces.files.iter().map(|file| file.metadata().expect("the trace is there").len());
    let sizes = sizes.sum();
    (traces, sizes)
}

/// Returns the counters of operation `name` through `layer` on `file` in the record of `rank` (-1: common record). Nested calls are excluded.
pub(crate) fn counters(traces: &Traces, rank: i32, layer: &str, name: &str, file: &Path) -> Option<Counters> {
    let mut sum: Option<Counters> = None;
    for process in traces.processes.iter().filter(|process| process.info.rank == rank) {
        for missing in process.missing.iter().filter(|missing| !missing.nested && Path::new(&missing.op.path) == file) {
            if missing.op.layer == layer && missing.op.name == name {
                sum.get_or_insert_with(Counters::default).merge(&missing.counters);
            }
        }
    }
    sum
}

pub(crate) fn calls(traces: &Traces, rank: i32, layer: &str, name: &str, file: &Path) -> (u64, u64) {
    counters(traces, rank, layer, name, file).map_or((0, 0), |counters| (counters.segments, counters.bytes))
}

fn profile(traces: &Traces, layer: &str, file: &Path) -> (Profile, Spread) {
    let common = traces.processes.iter().find(|process| process.reduced.0 > 0).expect("a common record");
    let key = (layer.to_owned(), file.display().to_string());
    (common.profiles[&key], common.reduced.1[&key])
}

#[test]
fn files_of_all_ranks_become_one_record() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let mut sizes = Vec::new();
        for ranks in [2_u32, 8] {
            let scratch = Scratch::new();
            let (traces, size) = run(&scratch, mpi, ranks, "shared", "collective");
            sizes.push(size);
            let all = u64::from(ranks);
            let common: Vec<_> = traces.processes.iter().filter(|process| process.reduced.0 > 0).collect();
            assert_eq!((traces.files.len(), common.len()), (1, 1), "{mpi:?}");
            assert_eq!((common[0].info.rank, common[0].info.pid, common[0].reduced.0), (-1, 0, ranks));

            let (collective, posix) = (scratch.data().join("collective"), scratch.data().join("posix.0"));
            let writes = counters(&traces, -1, "MPIIO", "write", &collective).expect("collective writes");
            assert_eq!((writes.segments, writes.bytes, writes.sizes[1]), (10 * all, 10_000 * all, 10 * all));
            assert_eq!((writes.min_offset, writes.max_end_offset), (0, 10_000 * all as i64));
            assert_eq!(calls(&traces, -1, "MPIIO", "open", &collective).0, all);
            let (wide, spread) = profile(&traces, "MPIIO", &collective);
            assert_eq!((wide.accesses, wide.switches, wide.memory_known), (10 * all, 0, 0));
            assert_eq!((wide.sizes.top()[0].value, wide.sizes.top()[0].count), (1000, 10 * all));
            assert_eq!((wide.strides.top()[0].value, wide.strides.top()[0].count), (1000 * (all as i64 - 1), 9 * all));
            assert_eq!((spread.ranks, spread.bytes.mean, spread.bytes_variance()), (ranks, 10_000.0, 0.0));

            let writes = 20 * all + all * (all - 1) / 2;
            assert_eq!(calls(&traces, -1, "POSIX", "write", &posix), (writes, writes * 100));
            assert_eq!(calls(&traces, -1, "POSIX", "read", &posix), (1, 1));
            assert_eq!(calls(&traces, -1, "POSIX", "close", &posix).0, all);
            let (own, spread) = profile(&traces, "POSIX", &posix);
            assert_eq!((own.accesses, own.switches, own.file_unaligned), (writes + 1, 1, 0));
            assert_eq!((own.memory_known, own.memory_unaligned), (writes + 1, 0));
            assert_eq!(spread.ranks, ranks);
            assert!(spread.fastest.time_ns <= spread.slowest.time_ns && spread.fastest.rank < ranks);
            let mean = (writes * 100 + 1) as f64 / f64::from(ranks);
            assert!((spread.bytes.mean - mean).abs() < 1e-6, "{spread:?}");
            let each = (0..all).map(|rank| (100 * (20 + rank) + u64::from(rank == 1)) as f64);
            let variance = each.map(|bytes| (bytes - mean) * (bytes - mean)).sum::<f64>() / f64::from(ranks);
            assert!((spread.bytes_variance() / variance - 1.0).abs() < 1e-9, "{spread:?}, not {variance}");
            let time: u64 = common[0]
                .missing
                .iter()
                .filter(|missing| missing.op.layer == "POSIX" && Path::new(&missing.op.path) == posix)
                .map(|missing| missing.counters.duration)
                .sum();
            assert!(
                (spread.time_ns.mean * f64::from(ranks) / time as f64 - 1.0).abs() < 1e-6,
                "{spread:?}, not {time}"
            );
            // Common time axis: all calls lie between the barrier of MPI_Init and the end of the process.
            let (info, sync) = (&common[0].info, common[0].info.sync_ns.expect("an aligned clock"));
            let all_writes = counters(&traces, -1, "POSIX", "write", &posix).expect("writes");
            assert!(sync <= all_writes.first_start && all_writes.last_end <= info.end_ns, "{all_writes:?} {info:?}");
            assert!((sync..info.end_ns).contains(&own.slowest_write.start));
        }
        println!("{mpi:?}: the trace takes {sizes:?} bytes for 2 and 8 ranks");
        assert!(sizes[1] < 4096, "{mpi:?}: {sizes:?} bytes");
        assert!(sizes[1] < sizes[0] + 256, "{mpi:?}: {sizes:?} bytes for 2 and 8 ranks");
    }
}

#[test]
fn files_of_single_ranks_stay_with_them() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let ranks = 4_u32;
        let (traces, _) = run(&scratch, mpi, ranks, "mixed", "collective");
        assert_eq!(traces.files.len(), 1);
        let half = scratch.data().join("half.0");
        for rank in 0..ranks as i32 {
            let own = scratch.data().join(format!("own.{rank}"));
            assert_eq!(calls(&traces, rank, "POSIX", "write", &own), (1, 7), "{mpi:?} rank {rank}");
            assert_eq!(calls(&traces, rank, "POSIX", "write", &half), (0, 0), "{mpi:?} rank {rank}");
            let shared = scratch.data().join("posix.0");
            assert_eq!(calls(&traces, rank, "POSIX", "write", &shared), (0, 0), "{mpi:?} rank {rank}");
        }
        assert_eq!(calls(&traces, -1, "POSIX", "write", &scratch.data().join("posix.0")), (86, 8600));
        assert_eq!(calls(&traces, -1, "POSIX", "write", &half), (2, 6));
    }
}

#[test]
fn sums_are_what_the_programs_log_whether_reduced_or_not() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("mpiio", mpi, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("all").ranks(mpi, 4);
        let outcome = launch.env("DXT_ENABLE", "counters").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert!(traces.processes.iter().any(|process| process.reduced.0 == 4), "{mpi:?}: something is shared");
        let mut did: BTreeMap<(String, String, String), (u64, u64)> = BTreeMap::new();
        for op in read_log(&scratch).into_iter().filter(|op| op.layer == "MPIIO") {
            let sum = did.entry((op.name, op.mode, op.path)).or_default();
            *sum = (sum.0 + 1, sum.1 + op.length);
        }
        let mut reported: BTreeMap<(String, String, String), (u64, u64)> = BTreeMap::new();
        let missing = traces.processes.iter().flat_map(|process| &process.missing);
        for missing in missing.filter(|missing| missing.op.layer == "MPIIO") {
            let op = missing.op.clone();
            let sum = reported.entry((op.name, op.mode, op.path)).or_default();
            *sum = (sum.0 + missing.counters.segments, sum.1 + missing.counters.bytes);
        }
        assert!(did.len() > 10, "{did:?}");
        assert_eq!(reported, did, "{mpi:?}");
    }
}

#[test]
fn where_nothing_is_shared_nothing_is_reduced() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (traces, _) = run(&scratch, mpi, 3, "own", "collective");
        assert_eq!(traces.files.len(), 1);
        // MPI itself may access the user's files on every rank.
        for process in traces.processes.iter().filter(|process| process.reduced.0 > 0) {
            assert!(process.missing.iter().all(|missing| !Path::new(&missing.op.path).starts_with(scratch.data())));
        }
        for rank in 0..3 {
            let own = scratch.data().join(format!("own.{rank}"));
            assert_eq!(calls(&traces, rank, "POSIX", "write", &own), (1, 7), "{mpi:?} rank {rank}");
        }
    }
}

#[test]
fn ranks_of_different_settings_do_not_wait_for_each_other() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        // A shell script turns on tracing for odd ranks. Launchers use different variables for the rank.
        let program = workload_with("counters_mpi", mpi, &["-O1"]);
        let script = scratch.root().join("start.sh");
        let text = "#!/bin/sh\nrank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\n\
                    [ $((rank % 2)) = 0 ] || DXT_ENABLE=trace\nexport DXT_ENABLE\nexec \"$@\"\n";
        std::fs::write(&script, text).expect("failed to write a script");
        let launch = Launch::new(&scratch, "/bin/sh").arg(&script).arg(program).arg(scratch.data()).arg("shared");
        let outcome = launch.ranks(mpi, 2).env("DXT_ENABLE", "counters").env("OMPI_MCA_io", "^ompio").run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        let traces = Traces::read_finished(&scratch.traces());
        assert!(traces.processes.iter().all(|process| process.reduced.0 == 0));
        let posix = scratch.data().join("posix.0");
        assert_eq!(calls(&traces, 0, "POSIX", "write", &posix), (20, 2000), "{mpi:?}");
        let traced = traces.own_ops(&["POSIX"], &scratch.data());
        assert_eq!(traced.iter().filter(|op| op.name == "write").count(), 21, "{mpi:?}");
    }
}

#[test]
fn where_a_rank_fails_every_rank_keeps_its_own() {
    let shim = workload_with("failing_calls", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for failing in ["", "PMPI_Op_create", "PMPI_Type_contiguous", "PMPI_Reduce"] {
            let scratch = Scratch::new();
            let program = workload_with("counters_mpi", mpi, &["-O1"]);
            let launch =
                Launch::new(&scratch, "/bin/sh").arg("-c").arg("LD_PRELOAD=$LD_PRELOAD:$0 exec \"$@\"").arg(&shim);
            let launch = launch.arg(program).arg(scratch.data()).arg("shared").ranks(mpi, 3);
            let launch = launch.env("OMPI_MCA_io", "^ompio").env("DXT_ENABLE", "counters").env("FAILING", failing);
            let outcome = launch.run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{mpi:?} {failing}: {outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let reduced = traces.processes.iter().any(|process| process.reduced.0 > 0);
            assert_eq!(reduced, failing.is_empty(), "{mpi:?} {failing}");
            let posix = scratch.data().join("posix.0");
            let own = (0..3).map(|rank| calls(&traces, rank, "POSIX", "write", &posix).0).collect::<Vec<_>>();
            assert_eq!(own, if reduced { [0, 0, 0] } else { [20, 21, 22] }, "{mpi:?} {failing}");
        }
    }
}

#[test]
fn without_communication_every_rank_keeps_its_own() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (traces, _) = run(&scratch, mpi, 2, "mixed", "process");
        assert_eq!(traces.files.len(), 2);
        for rank in 0..2 {
            let posix = scratch.data().join("posix.0");
            assert_eq!(calls(&traces, rank, "POSIX", "write", &posix), (20 + rank as u64, 2000 + 100 * rank as u64));
            let collective = scratch.data().join("collective");
            assert_eq!(calls(&traces, rank, "MPIIO", "write", &collective), (10, 10_000));
        }
    }
}
