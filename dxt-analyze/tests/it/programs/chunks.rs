//! Tests of the verdict on h5py programs whose rows cross more chunks than HDF5's cache holds.

use super::analyze;
use crate::common::facts::{assert_quiet, findings, of_code, says};
use crate::harness::{Launch, Scratch, python, skip, workload_source};
use serde_json::Value;

/// Arguments of the workload: 768 rows of 3,200 numbers, in HDF5 chunks of 256 x 80 numbers. A row crosses 40 chunks of 160 KiB; a cache of
/// 512 KiB holds 3 of them. So many rows that their cost is above the least that is reported, however fast the machine.
const SHAPE: [&str; 4] = ["768", "3200", "256", "80"];

/// Runs the workload, which writes and, if `way` is `read`, reads with a chunk cache of `cache_bytes`; returns (report, path of the HDF5
/// file, scratch directory). `None` if h5py is not installed.
fn run(way: &str, cache_bytes: u64) -> Option<(Value, String, Scratch)> {
    let Some(interpreter) = python() else {
        skip("python3 is not installed");
        return None;
    };
    let scratch = Scratch::new();
    let file = scratch.data().join("grid.h5");
    let launch = Launch::new(&scratch, interpreter).arg(workload_source("h5py_chunks.py")).arg(&file).arg(way);
    let outcome = SHAPE.iter().fold(launch, |launch, number| launch.arg(number)).arg(cache_bytes.to_string()).run();
    if outcome.stderr.contains("ModuleNotFoundError") {
        skip("h5py is not installed");
        return None;
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    Some((analyze(&scratch, "report", &[], 0), file.display().to_string(), scratch))
}

#[test]
fn a_cache_that_holds_a_few_of_a_rows_chunks_is_the_cause() {
    for way in ["write", "read"] {
        let Some((report, file, _scratch)) = run(way, 512 << 10) else { return };
        // On a busy machine, waits for a processor come first.
        let found = findings(&report).into_iter().find(|one| one["code"] != "DXT-V036").expect("a finding");
        assert!(found["code"] == "DXT-V024" && found["severity"] != "info", "{found}");
        let calls = if way == "read" { 2 * 768 } else { 768 };
        assert_eq!((&found["about"]["file"], &found["about"]["calls"]), (&file.into(), &calls.into()), "{found}");
        assert!(says(found, &["the chunk cache holds 3 of the 40 chunks that a call needs"]), "{}", found["title"]);
        // Each row loads 40 chunks again; in the run that writes, it also writes them back.
        let rows = 768.0 * 40.0 * 160.0 * 1024.0;
        let moved = found["about"]["bytes"].as_f64().unwrap();
        let passes = if way == "read" { 1.0 } else { 2.0 };
        assert!((moved / rows - passes).abs() < 0.1, "{way}: {moved} bytes");
        let commands = found["commands"].to_string();
        assert!(commands.contains("rdcc_nbytes=8388608") && commands.contains("chunks=(40, 3200)"), "{commands}");
    }
}

#[test]
fn a_cache_that_holds_a_rows_chunks_is_quiet() {
    for way in ["write", "read"] {
        let Some((report, ..)) = run(way, 16 << 20) else { return };
        assert_quiet(&report, "DXT-V024");
        assert!(of_code(&report, "DXT-V024").is_none());
    }
}
