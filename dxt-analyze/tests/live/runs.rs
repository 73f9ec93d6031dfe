//! Which of several runs was slow, since when, and in what: `corpus` says it of their traces, one question of what `--to parquet` has gathered.

#[cfg(feature = "parquet")]
use super::{Running, agent};
#[cfg(feature = "parquet")]
use crate::common::python;
use crate::harness::{Compiler, Launch, Scratch, library, skip, workload_with};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The block of SQL of docs/live.md, as it stands there; prints its rows.
const SCRIPT: &str = r#"
import json, re, sys
import duckdb
[block] = re.findall(r"```sql\n(.*?)```", open(sys.argv[1]).read(), re.S)
json.dump(duckdb.sql(block).fetchall(), sys.stdout, default=str)
"#;

/// Writes of each rank of the second run before its storage becomes slow; the program writes four times in each of ten phases.
const FAST_WRITES: usize = 28;

/// Five runs of a program, of which the second one has slow storage from its last writes on; `None` without MPICH.
fn five_runs(scratch: &Scratch) -> Option<()> {
    let mpi = Compiler::Mpich;
    if !mpi.available() {
        skip("MPICH is not installed");
        return None;
    }
    let shim = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let program = workload_with("runs", mpi, &["-O1"]);
    let preload = format!("{} {}", library().display(), shim.display());
    let file = scratch.data().join("file");
    for run in 1..=5 {
        let slow = format!("op=write,us=40000,after={FAST_WRITES};op=read,us=40000");
        let slow = if run == 2 { &slow } else { "op=sync,us=0" };
        let launch = Launch::new(scratch, &program).arg(&file).ranks(mpi, 2).env("DXT_JOB_ID", format!("run-{run}"));
        let launch = launch.untraced().env("LD_PRELOAD", &preload).env("DELAYS", slow).env("DELAYS_PATH", &file);
        assert_eq!(launch.run().code, 0);
    }
    Some(())
}

#[test]
fn the_traces_name_the_slow_run_its_moment_and_that_writes_were_slow_already() {
    let scratch = Scratch::new();
    if five_runs(&scratch).is_none() {
        return;
    }
    let traces = scratch.traces();
    let report = crate::common::json(&["corpus", "--format", "json", traces.to_str().unwrap()], 0);
    // On a busy machine others may stand behind it.
    let slow = &report["slow_runs"][0];
    assert_eq!(
        (&slow["job"], &slow["others"], &slow["until_ns"]),
        (&"run-2".into(), &4.into(), &Value::Null),
        "{slow}"
    );
    assert_eq!(report["whole"]["jobs"], 5);
    let calls: Vec<(&str, f64)> = slow["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["does"].as_str().unwrap(), one["slower"].as_f64().unwrap()))
        .collect();
    let [("write", writes), ("read", reads)] = calls.as_slice() else { panic!("{slow}") };
    assert!(*writes > 2.0 && *reads > 2.0, "{slow}");
    // Calls are held against those of other runs in parts, here of two or three calls of each rank, and the run's time is told in 64 parts.
    let jobs = report["jobs"].as_array().unwrap();
    let part = jobs.iter().find(|job| job["job"] == "run-2").unwrap()["runtime_ns"].as_u64().unwrap() / 64;
    let trace = slow["source"].as_str().unwrap();
    let first = begin_of_write(trace, FAST_WRITES - 3, u64::min).saturating_sub(part);
    let last = begin_of_write(trace, FAST_WRITES + 4, u64::max) + part;
    let from_ns = slow["from_ns"].as_u64().unwrap();
    assert!((first..=last).contains(&from_ns), "{first} {last} {slow}");
}

/// When the ranks of a trace begin their n-th write to the file, the earlier or the later one, ns since the job's start.
fn begin_of_write(trace: &str, n: usize, either: fn(u64, u64) -> u64) -> u64 {
    let output = crate::common::stdout(&["dump", "--format", "json", "--layer", "posix", "--files", "file", trace], 0);
    let of_rank = |rank: i64| {
        let rows = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut writes: Vec<u64> = rows
            .filter(|row| row["op"] == "write" && row["rank"] == rank)
            .map(|row| row["start_ns"].as_u64().unwrap())
            .collect();
        writes.sort_unstable();
        writes[n]
    };
    either(of_rank(0), of_rank(1))
}

#[cfg(feature = "parquet")]
#[test]
fn one_question_names_the_slow_run_its_moment_and_its_reads_or_writes() {
    let Some(python) = python(&["duckdb"], "DuckDB") else { return };
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "parquet:calls"]));
    if five_runs(&scratch).is_none() {
        return;
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent.0), rustix::process::Signal::INT).unwrap();
    agent.end();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/live.md");
    let output = Command::new(python).args(["-c", SCRIPT]).arg(docs).current_dir(scratch.data()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Vec<Value>> = serde_json::from_slice(&output.stdout).unwrap();
    let named: Vec<(&str, &str)> =
        rows.iter().map(|row| (row[0].as_str().unwrap(), row[1].as_str().unwrap())).collect();
    // On a busy machine others may stand behind it.
    assert_eq!(named[0].0, "run-2", "{rows:?}");
    assert!(named.contains(&("run-2", "read")), "{rows:?}");
    let mean_ms = |row: &[Value]| row[4].as_f64().unwrap();
    assert!(mean_ms(&rows[0]) >= 40.0, "{rows:?}");
}
