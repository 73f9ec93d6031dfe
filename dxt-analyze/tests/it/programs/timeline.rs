//! Tests of `timeline` on real programs: bytes equal those logged by the programs.

use crate::harness::{Compiler, Launch, Scratch, library, read_log, skip, workload, workload_with};
use crate::programs::analyze;
use serde_json::Value;
use std::process::Command;

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

/// Returns the data accesses of the trace: number of the phase in which the program makes them, start and end, ns.
fn accesses(scratch: &Scratch) -> Vec<(usize, u64, u64)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let output = command.args(["dump", "--format", "json"]).arg(scratch.traces()).output();
    let lines = String::from_utf8(output.expect("failed to run dxt-analyze").stdout).expect("JSON is UTF-8");
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON object"));
    let is_data = |row: &Value| row["op"] == "read" || row["op"] == "write";
    let of_file = |row: &Value| row["file"].as_str().is_some_and(|name| name.ends_with("matrices"));
    let mut data: Vec<_> = rows.filter(|row| is_data(row) && of_file(row)).collect();
    data.sort_by_key(|row| row["start_ns"].as_u64());
    let is_read: Vec<_> = data.iter().map(|row| row["op"] == "read").collect();
    let first_read = is_read.iter().position(|&read| read).expect("a read");
    let last_write = is_read.iter().rposition(|&read| !read).expect("a write");
    let phase = |at: usize| usize::from(at >= first_read) + usize::from(at > last_write);
    let ns = |row: &Value, key: &str| row[key].as_u64().expect("ns");
    data.iter().enumerate().map(|(at, row)| (phase(at), ns(row, "start_ns"), ns(row, "end_ns"))).collect()
}

/// The program writes, then alternates reads and writes, then reads, without pauses. Phases end where the type of I/O changes. The expected
/// times are those of the trace's segments, and a phase may be in several parts: a busy machine can stop the program anywhere, though
/// rarely for as long as five accesses take, which would be a pause.
#[test]
fn phases_end_where_what_is_done_changes() {
    let scratch = Scratch::new();
    let slow = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let file = scratch.data().join("matrices");
    let launch = Launch::new(&scratch, workload("matrices")).untraced().arg(&file).args(["64", "65536"]);
    let launch = launch.env("LD_PRELOAD", format!("{}:{}", library().display(), slow.display()));
    let launch = launch.env("DELAYS", "op=write,us=20000;op=read,us=20000").env("DELAYS_PATH", &file);
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let found = analyze(&scratch, "timeline", &["--files", "matrices"], 0);
    let phases = found["phases"].as_array().expect("phases").iter().filter(|one| one["kind"] != "metadata");
    let phases: Vec<_> = phases.collect();
    let parts: Vec<&[&Value]> = phases.chunk_by(|one, next| one["kind"] == next["kind"]).collect();
    let kinds: Vec<_> = parts.iter().map(|part| part[0]["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["write", "read and write", "read"], "{found}");
    // Bytes agree within one of a thousand time bins.
    let sum = |part: &[&Value], key: &str| part.iter().map(|one| one[key].as_f64().expect("bytes") / 65_536.0).sum();
    for (key, matrices) in [("bytes_written", [64.0, 64.0, 0.0]), ("bytes_read", [0.0, 64.0, 64.0])] {
        let bytes: Vec<f64> = parts.iter().map(|part| sum(part, key)).collect();
        assert!(bytes.iter().zip(matrices).all(|(found, known)| (found - known).abs() < 0.5), "{key}: {found}");
    }
    // Times agree within two time bins.
    let accesses = accesses(&scratch);
    let ns = |one: &Value, key: &str| one[key].as_u64().expect("ns");
    let bin = ns(&found["span"], "width_ns");
    for (number, part) in parts.iter().enumerate() {
        let of_phase = || accesses.iter().filter(|access| access.0 == number);
        let first = of_phase().map(|access| access.1).min().expect("accesses of each phase");
        let last = of_phase().map(|access| access.2).max().expect("accesses of each phase");
        let (start, end) = (ns(part[0], "start_ns"), ns(part[part.len() - 1], "end_ns"));
        assert!(start.abs_diff(first) <= 2 * bin, "phase {number} starts at {first} ns: {found}");
        assert!(end.abs_diff(last) <= 2 * bin, "phase {number} ends at {last} ns: {found}");
    }
}
