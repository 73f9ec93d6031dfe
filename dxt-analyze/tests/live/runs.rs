//! Which of several runs was slow, since when, and in what: one question to what `--to parquet` has gathered.

use super::{Running, agent};
use crate::common::python;
use crate::harness::{Compiler, Launch, Scratch, library, skip, workload_with};
use std::path::Path;
use std::process::Command;

/// The block of SQL of docs/live.md, as it stands there; prints its rows.
const SCRIPT: &str = r#"
import json, re, sys
import duckdb
[block] = re.findall(r"```sql\n(.*?)```", open(sys.argv[1]).read(), re.S)
json.dump(duckdb.sql(block).fetchall(), sys.stdout, default=str)
"#;

#[cfg(feature = "parquet")]
#[test]
fn one_question_names_the_slow_run_its_moment_and_its_reads_or_writes() {
    let Some(python) = python(&["duckdb"], "DuckDB") else { return };
    let mpi = Compiler::Mpich;
    if !mpi.available() {
        return skip("MPICH is not installed");
    }
    let scratch = Scratch::new();
    let shim = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let program = workload_with("runs", mpi, &["-O1"]);
    let preload = format!("{} {}", library().display(), shim.display());
    let agent = Running::new(agent(&scratch, &["--to", "parquet:calls"]));
    let file = scratch.data().join("file");
    for run in 1..=5 {
        // Storage is slow in the second run, from the last writes on.
        let slow = if run == 2 { "op=write,us=40000,from=400;op=read,us=40000,from=400" } else { "op=sync,us=0" };
        let launch = Launch::new(&scratch, &program).arg(&file).ranks(mpi, 2).env("DXT_JOB_ID", format!("run-{run}"));
        let launch = launch.untraced().env("LD_PRELOAD", &preload).env("DELAYS", slow).env("DELAYS_PATH", &file);
        assert_eq!(launch.run().code, 0);
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent.0), rustix::process::Signal::INT).unwrap();
    agent.end();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/live.md");
    let output = Command::new(python).args(["-c", SCRIPT]).arg(docs).current_dir(scratch.data()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Vec<serde_json::Value>> = serde_json::from_slice(&output.stdout).unwrap();
    let named: Vec<(&str, &str)> =
        rows.iter().map(|row| (row[0].as_str().unwrap(), row[1].as_str().unwrap())).collect();
    // On a busy machine others may stand behind it.
    assert_eq!(named[0].0, "run-2", "{rows:?}");
    assert!(named.contains(&("run-2", "read")), "{rows:?}");
    let mean_ms = |row: &[serde_json::Value]| row[4].as_f64().unwrap();
    assert!(mean_ms(&rows[0]) >= 40.0, "{rows:?}");
}
