//! Tests of `layers` on programs that control the MPI library by hints. Results are compared with the programs' own logs.

use crate::harness::{Compiler, Launch, Op, Scratch, log_lines, read_log, workload_hdf5, workload_with};
use crate::programs::analyze;
use serde_json::Value;

const RANKS: u32 = 4;

/// Runs variant `variant` of `mpiio_layers` with MPI-IO `hints`. Returns the scratch directory, the program's log and the report.
fn run(mpi: Compiler, variant: &str, hints: &[&str], romio: bool) -> (Scratch, Vec<Op>, Value) {
    let scratch = Scratch::new();
    let mut launch =
        Launch::new(&scratch, workload_with("mpiio_layers", mpi, &["-O1"])).arg(scratch.data()).arg(variant);
    for hint in hints {
        launch = launch.arg(hint);
    }
    if romio && mpi == Compiler::OpenMpi {
        launch = launch.env("OMPI_MCA_io", "romio321");
    }
    let outcome = launch.ranks(mpi, RANKS).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let found = analyze(&scratch, "layers", &["--top", "100"], 0);
    let log = read_log(&scratch).into_iter().filter(|op| op.layer == "MPIIO").collect();
    (scratch, log, found)
}

fn both() -> impl Iterator<Item = Compiler> {
    [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available())
}

fn bytes(log: &[Op], name: &str) -> u64 {
    log.iter().filter(|op| op.name == name).map(|op| op.length).sum()
}

fn calls(log: &[Op], name: &str) -> u64 {
    log.iter().filter(|op| op.name == name).count() as u64
}

fn codes(found: &Value) -> Vec<&str> {
    let findings = found["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

#[test]
fn data_sieving_moves_the_gaps_too_and_locks_them() {
    for mpi in both() {
        let (_scratch, log, found) = run(mpi, "strided", &["romio_ds_write=enable"], true);
        let (job, file) = (&found["job"]["mpiio"], &found["files"][0]);
        assert_eq!(
            (&job["calls"], &job["bytes"]),
            (&calls(&log, "write").into(), &bytes(&log, "write").into()),
            "{mpi:?}"
        );
        // One block per call, from the first piece to the last: 64 pieces of 100 bytes and 63 gaps of 300.
        let inside = &job["inside"];
        for kind in ["reads", "writes", "locks", "unlocks"] {
            assert_eq!(inside[kind]["calls"], calls(&log, "write"), "{mpi:?} {kind}");
        }
        let block = 64 * 100 + 63 * 300;
        assert_eq!(inside["writes"]["bytes"], block * calls(&log, "write"), "{mpi:?}");
        assert_eq!(file["reads_in_writes"], inside["reads"], "{mpi:?}");
        // Reads may hit the end of the file, so each reads at most one block.
        let read = inside["reads"]["bytes"].as_u64().unwrap_or(u64::MAX);
        assert!(read <= block * calls(&log, "write"), "{mpi:?}: {read}");
        let amplification = (block * calls(&log, "write") + read) as f64 / bytes(&log, "write") as f64;
        assert_eq!(file["write_amplification"].as_f64(), Some(amplification), "{mpi:?}");
        assert!(codes(&found).contains(&"DXT-L002"), "{mpi:?} {:?}", codes(&found));
    }
}

#[test]
fn without_sieving_each_piece_is_a_write() {
    for mpi in both() {
        let (_scratch, log, found) = run(mpi, "strided", &["romio_ds_write=disable"], true);
        let inside = &found["job"]["mpiio"]["inside"];
        assert_eq!(inside["writes"]["calls"], 64 * calls(&log, "write"), "{mpi:?}");
        assert_eq!(inside["writes"]["bytes"], bytes(&log, "write"), "{mpi:?}");
        assert_eq!((&inside["locks"]["calls"], &inside["reads"]["calls"]), (&0.into(), &0.into()), "{mpi:?}");
        assert_eq!(found["files"][0]["write_amplification"], 1.0, "{mpi:?}");
        assert!(!codes(&found).iter().any(|code| ["DXT-L001", "DXT-L002"].contains(code)), "{mpi:?}");
    }
}

#[test]
fn one_aggregator_writes_what_all_ranks_ask_for() {
    for mpi in both() {
        let hints = ["romio_cb_write=enable", "romio_cb_read=enable", "cb_nodes=1"];
        let (_scratch, log, found) = run(mpi, "whole", &hints, true);
        let rows = found["collective_files"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(rows.len(), 2, "{mpi:?}");
        for row in rows {
            let name = row["op"].as_str().unwrap_or_default();
            assert_eq!((&row["calls"], &row["processes"]), (&calls(&log, name).into(), &RANKS.into()), "{mpi:?}");
            let aggregators = row["aggregators"].as_array().map(Vec::as_slice).unwrap_or_default();
            assert_eq!(aggregators.len(), 1, "{mpi:?} {aggregators:?}");
            assert_eq!(aggregators[0]["bytes"], bytes(&log, name), "{mpi:?}");
            assert_eq!((&row["buffered"], &row["hints"]["cb_nodes"]), (&true.into(), &"1".into()), "{mpi:?}");
        }
        let all = &found["collectives"];
        assert_eq!(all["followed"], (calls(&log, "write") + calls(&log, "read")) / u64::from(RANKS), "{mpi:?}");
        for one in all["slowest"].as_array().into_iter().flatten() {
            assert_eq!((&one["calls"], &one["bytes"]), (&RANKS.into(), &(RANKS * 4096).into()), "{mpi:?}");
            assert_eq!((&one["aggregators"], &one["data_bytes"]), (&1.into(), &one["bytes"]), "{mpi:?}");
            let of = |name: &str| one[name].as_u64().unwrap_or(u64::MAX);
            assert_eq!(of("skew_ns") + of("storage_ns") + of("rest_ns"), of("wall_ns"), "{mpi:?}");
        }
    }
}

#[test]
fn without_buffering_every_rank_is_on_its_own() {
    for mpi in both() {
        let hints = ["romio_cb_write=disable", "romio_cb_read=disable"];
        let (_scratch, log, found) = run(mpi, "whole", &hints, true);
        for row in found["collective_files"].as_array().into_iter().flatten() {
            assert_eq!(row["aggregators"].as_array().map(Vec::len), Some(RANKS as usize), "{mpi:?}");
            assert_eq!(row["buffered"], false, "{mpi:?}");
            let name = row["op"].as_str().unwrap_or_default();
            assert_eq!(row["inside"][format!("{name}s")]["calls"], calls(&log, name), "{mpi:?}");
        }
        assert!(codes(&found).contains(&"DXT-L007"), "{mpi:?} {:?}", codes(&found));
    }
}

#[test]
fn the_late_rank_is_named() {
    for mpi in both() {
        let (scratch, _log, found) = run(mpi, "late", &["romio_cb_write=enable"], false);
        let late_ns: u64 = log_lines(&scratch)
            .iter()
            .filter_map(|line| line.rsplit_once(' ').filter(|_| line.starts_with("LATE"))?.1.parse::<u64>().ok())
            .sum();
        let first = &found["collectives"]["late"][0];
        assert_eq!(first["process"], format!("rank {}", RANKS - 1), "{mpi:?}");
        // Each other rank waits for the full delay; their own arrival times depend on the machine.
        let waited = first["wait_ns"].as_u64().unwrap_or(0);
        assert!(waited >= late_ns * u64::from(RANKS - 1) / 2, "{mpi:?}: {waited} of {late_ns}");
        let writes = found["collectives"]["slowest"].as_array().into_iter().flatten();
        let by_last = writes.filter(|one| one["op"] == "write collective" && one["last"] == first["process"]).count();
        assert!(by_last >= 6, "{mpi:?}: {by_last} of 8");
    }
}

#[test]
fn nonblocking_calls_stand_apart() {
    for mpi in both() {
        let scratch = Scratch::new();
        let program = workload_with("mpiio_requests", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg("nonblocking").ranks(mpi, RANKS).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "layers", &[], 0);
        let is_data = |op: &Op| op.layer == "MPIIO" && ["read", "write"].iter().any(|name| op.name.starts_with(name));
        let log: Vec<Op> = read_log(&scratch).into_iter().filter(is_data).collect();
        let later = log.iter().filter(|op| op.mode == "nonblocking");
        let row = &found["job"]["mpiio_unfinished"];
        assert_eq!(row["calls"], later.clone().count() as u64, "{mpi:?}");
        assert_eq!(row["bytes"], later.map(|op| op.length).sum::<u64>(), "{mpi:?}");
        let blocking = log.iter().filter(|op| op.mode != "nonblocking").count() as u64;
        assert_eq!(found["job"]["mpiio"]["calls"], blocking, "{mpi:?}");
    }
}

#[test]
fn hdf5_on_mpi_io_on_posix() {
    for (mpi, hdf5) in [(Compiler::Mpich, "mpich"), (Compiler::OpenMpi, "openmpi")] {
        let Some(program) = mpi.available().then(|| workload_hdf5("hdf5_parallel", mpi, hdf5, &[])).flatten() else {
            continue;
        };
        let scratch = Scratch::new();
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, RANKS).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "layers", &[], 0);
        let log: Vec<Op> = read_log(&scratch).into_iter().filter(|op| op.layer == "HDF5").collect();
        let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
        let job = &found["job"]["hdf5"];
        assert_eq!(number(&job["calls"]), calls(&log, "read") + calls(&log, "write"), "{mpi:?}");
        assert_eq!(number(&job["bytes"]), bytes(&log, "read") + bytes(&log, "write"), "{mpi:?}");
        // Every MPI-IO and POSIX call is inside exactly one HDF5 call.
        let of = |layer: &str, path: [&str; 2]| -> u64 {
            let rows = found["calls"].as_array().into_iter().flatten().filter(|row| row["layer"] == layer);
            rows.map(|row| number(&row["inside"][path[0]][path[1]])).sum()
        };
        for kind in ["reads", "writes"] {
            for what in ["calls", "bytes"] {
                assert_eq!(of("HDF5", [kind, what]), of("MPIIO", [kind, what]), "{mpi:?} {kind}");
            }
        }
        let mpiio: u64 = found["calls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|row| row["layer"] == "MPIIO")
            .map(|row| number(&row["calls"]))
            .sum();
        assert_eq!(of("HDF5", ["mpiio", "calls"]), mpiio, "{mpi:?}");
        assert!(
            number(&found["job"]["hdf5_rest_ns"]) + number(&job["inside"]["mpiio"]["time_ns"])
                <= number(&job["time_ns"])
        );
    }
}
