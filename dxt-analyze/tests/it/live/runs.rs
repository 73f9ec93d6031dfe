//! Tests that `corpus`, and a query on `live --to parquet` output, name the slow one of several runs, its slow calls, and the time since
//! when these are slow.

#[cfg(feature = "parquet")]
use super::{Running, agent};
#[cfg(feature = "parquet")]
use crate::common::python;
use crate::five_runs::{SLOW, begin_of_slow_writes, five_runs};
#[cfg(feature = "parquet")]
use crate::five_runs::{SLOWER_MS, question, second_of_slow};
use crate::harness::Scratch;
use serde_json::Value;
use std::path::Path;
#[cfg(feature = "parquet")]
use std::process::Command;

/// Checks `corpus` and the query on the same five runs, since these take a while.
#[test]
fn the_slow_run_its_moment_and_its_writes_and_reads_are_named() {
    let scratch = Scratch::new();
    #[cfg(feature = "parquet")]
    let agent = Running::new(agent(&scratch, &["--to", "parquet:calls"]));
    if five_runs(&scratch).is_none() {
        return;
    }
    the_traces_name_them(&scratch.traces());
    #[cfg(feature = "parquet")]
    one_question_names_them(&scratch, agent);
}

/// Asserts that the report of `corpus` on the traces names the slow run, and that its writes became slow before its reads.
fn the_traces_name_them(traces: &Path) {
    let report = crate::common::json(&["corpus", "--format", "json", traces.to_str().unwrap()], 0);
    // On a busy machine, other runs may follow in the list.
    let slow = &report["slow_runs"][0];
    assert_eq!((&slow["job"], &slow["others"], &slow["until_ns"]), (&SLOW.into(), &4.into(), &Value::Null), "{slow}");
    assert_eq!(report["whole"]["jobs"], 5);
    let calls: Vec<(&str, f64)> = slow["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["does"].as_str().unwrap(), one["slower"].as_f64().unwrap()))
        .collect();
    let [("write", writes), ("read", reads)] = calls.as_slice() else { panic!("{slow}") };
    assert!(*writes > 2.0 && *reads > 2.0, "{slow}");
    // The times have a resolution of 1/64 of the run time.
    let jobs = report["jobs"].as_array().unwrap();
    let part = jobs.iter().find(|job| job["job"] == SLOW).unwrap()["runtime_ns"].as_u64().unwrap() / 64;
    let slow_writes = begin_of_slow_writes(jobs);
    let (first, last) = (slow_writes.start().saturating_sub(part), slow_writes.end() + part);
    let from_ns = slow["from_ns"].as_u64().unwrap();
    assert!((first..=last).contains(&from_ns), "{first} {last} {slow}");
}

#[cfg(feature = "parquet")]
fn one_question_names_them(scratch: &Scratch, agent: Running) {
    let Some(python) = python(&["duckdb"], "DuckDB") else { return };
    std::thread::sleep(std::time::Duration::from_millis(300));
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent.0), rustix::process::Signal::INT).unwrap();
    agent.end();
    let rows = ask(&python, &scratch.data(), "");
    // Reads are slower than writes, whose first half was normal; other runs may follow in the result on a busy machine.
    for (row, op) in rows.iter().zip(["read", "write"]) {
        assert_eq!((&row[0], &row[1]), (&SLOW.into(), &op.into()), "{rows:?}");
        assert_eq!(row[2], second_of_slow(&scratch.traces(), op), "{rows:?}");
    }
    let mean_ms = |row: usize| rows[row][4].as_f64().unwrap();
    assert!(mean_ms(0) >= f64::from(SLOWER_MS) && mean_ms(1) > 3.0 * rows[1][5].as_f64().unwrap(), "{rows:?}");
}

/// Runs the query of docs/live.md in DuckDB, after the SQL statement `before`. Returns job, operation, slow since (s since 1970-01-01 UTC),
/// calls, mean and usual duration.
#[cfg(feature = "parquet")]
fn ask(python: &Path, folder: &Path, before: &str) -> Vec<Vec<Value>> {
    const SCRIPT: &str = "import duckdb, json, sys; con = duckdb.connect(); con.execute(sys.argv[1] or 'SELECT 1');
rows = con.execute('SELECT * REPLACE (epoch(since)::BIGINT AS since) FROM (' + sys.argv[2].strip().rstrip(';') + ')').fetchall()
json.dump(rows, sys.stdout, default=float)";
    let output = Command::new(python).args(["-c", SCRIPT, before, &question(0)]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// In a healthy run, one call takes 100 times as long as usual (a brief stall of the machine). A run with many slow calls is listed before that run.
#[cfg(feature = "parquet")]
#[test]
fn one_call_that_was_slow_stands_behind_a_run_that_was() {
    let Some(python) = python(&["duckdb"], "DuckDB") else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("calls")).unwrap();
    // Each run makes ten reads per second for ten seconds, of 1 ms each; in the last seven seconds of the second run, they take 20 ms.
    let calls = "COPY (
        WITH calls AS (SELECT unnest(range(500)) AS n),
        begun AS (SELECT 1 + n // 100 AS run, 1700000000 + 100 * (n // 100) + n % 100 // 10 AS second, n FROM calls),
        taken AS (SELECT *, CASE WHEN run = 2 AND n % 100 >= 30 THEN 20 ELSE 1 END AS ms FROM begun UNION ALL SELECT 4, 1700000350, 0, 100)
        SELECT 'run-' || run AS job, 'read' AS op, 4096 AS length, 0 AS nested, second * 1000000000 AS start_unix_ns,
            second * 1000000000 + ms * 1000000 AS end_unix_ns FROM taken
    ) TO 'calls/a.parquet'";
    let rows = ask(&python, folder.path(), calls);
    let named: Vec<(&str, i64)> = rows.iter().map(|row| (row[0].as_str().unwrap(), row[2].as_i64().unwrap())).collect();
    assert_eq!(named, [("run-2", 1_700_000_103), ("run-4", 1_700_000_350)], "{rows:?}");
}
