//! Tests of `timeline` on real programs: bytes equal those logged by the programs.

use crate::harness::{Compiler, Launch, Scratch, library, read_log, skip, workload, workload_with};
use crate::programs::analyze;
use serde_json::Value;

#[test]
fn bins_and_phases_hold_all_bytes_of_an_mpi_program() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            skip(&format!("{mpi:?} is not installed"));
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("mpiio", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg("all").ranks(mpi, 3).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "timeline", &["--layer", "mpiio"], 0);
        let log: Vec<_> = read_log(&scratch).into_iter().filter(|op| op.layer == "MPIIO").collect();
        for (name, key) in [("write", "bytes_written"), ("read", "bytes_read")] {
            let logged: u64 = log.iter().filter(|op| op.name == name).map(|op| op.length).sum();
            for list in ["bins", "phases"] {
                let rows = found[list].as_array().expect("a list");
                let sum: u64 = rows.iter().filter_map(|row| row[key].as_u64()).sum();
                assert_eq!(sum, logged, "{mpi:?} {list} {key}");
            }
        }
    }
}

/// The program writes, then alternates reads and writes, then reads, without pauses. Phases end where the type of I/O changes.
#[test]
fn phases_end_where_what_is_done_changes() {
    let scratch = Scratch::new();
    let slow = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let file = scratch.data().join("matrices");
    let launch = Launch::new(&scratch, workload("matrices")).arg(&file).args(["8", "65536"]);
    let launch = launch.env("LD_PRELOAD", format!("{}:{}", library().display(), slow.display()));
    let launch = launch.env("DELAYS", "op=write,us=20000;op=read,us=20000").env("DELAYS_PATH", &file);
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let found = analyze(&scratch, "timeline", &["--files", "matrices"], 0);
    let phases: Vec<_> =
        found["phases"].as_array().expect("phases").iter().filter(|one| one["kind"] != "metadata").collect();
    let kinds: Vec<_> = phases.iter().map(|one| one["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["write", "read and write", "read"], "{found}");
    // To within a bin of a thousand.
    let bytes = |key: &str| phases.iter().map(|one| one[key].as_f64().expect("bytes") / 65_536.0).collect::<Vec<_>>();
    for (key, matrices) in [("bytes_written", [8.0, 8.0, 0.0]), ("bytes_read", [0.0, 8.0, 8.0])] {
        assert!(bytes(key).iter().zip(matrices).all(|(found, known)| (found - known).abs() < 0.5), "{key}: {found}");
    }
    // No silence between the phases, except for one bin.
    let ns = |phase: &Value, key: &str| phase[key].as_u64().expect("ns");
    let gap = |two: &[&Value]| ns(two[1], "start_ns").checked_sub(ns(two[0], "end_ns"));
    let all = ns(phases[2], "end_ns") - ns(phases[0], "start_ns");
    assert!(phases.windows(2).all(|two| gap(two).is_some_and(|gap| gap < all / 50)), "{found}");
}
