//! Tests of the Parquet data set with DuckDB and pyarrow, running every recipe of docs/interop.md unchanged. Skipped without a Python that
//! has both: `DXT_TEST_PYTHON`, or `target/test-venv`, which scripts/test.sh makes.

use super::{LAYOUT, SHARED, export, shared};
use crate::common::{put, python};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Python script that runs all SQL blocks of a document in DuckDB, and reads the tables with pyarrow. It prints the results keyed by the
/// comment in each block's first line.
const SCRIPT: &str = r#"
import json, re, sys
import duckdb
import pyarrow.dataset

answers = {}
database = duckdb.connect()
for block in re.findall(r"```sql\n(.*?)```", open(sys.argv[1]).read(), re.S):
    name = block.split("\n")[0].lstrip("- ")
    for statement in filter(str.strip, block.split(";")):
        found = database.execute(statement)
        rows = found.fetchall() if found.description else []
        answers[name] = {"columns": [column[0] for column in found.description or []], "rows": rows}
table = pyarrow.dataset.dataset("export/segments", partitioning="hive").to_table()
answers["pyarrow"] = {"rows": table.num_rows, "columns": table.column_names, "jobs": sorted(set(table["job"].to_pylist()))}
json.dump(answers, sys.stdout, default=str)
"#;

#[test]
fn duckdb_and_pyarrow_read_it_and_every_recipe_answers() {
    let Some(python) = python(&["duckdb", "pyarrow"], "DuckDB and pyarrow") else { return };
    let folder = tempfile::tempdir().unwrap();
    let layout = put(folder.path(), "layout", LAYOUT);
    let place = folder.path().join("export");
    for key in ["a", "7 =b"] {
        export("parquet", &place, &["--layout", &layout, &shared(folder.path(), key)], 0);
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/interop.md");
    let output = Command::new(python).args(["-c", SCRIPT]).arg(docs).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answers["pyarrow"]["rows"], &answers["pyarrow"]["jobs"]), (&json!(2 * SHARED), &json!(["7 =b", "a"])));

    let rows = |recipe: &str| -> Vec<Value> {
        let rows = answers[recipe]["rows"].as_array();
        rows.unwrap_or_else(|| panic!("{recipe} is none of {:?}", answers.as_object().unwrap().keys())).clone()
    };
    // The slow rank 2 alternates between OST 10 and 12.
    let slow = rows("The slowest storage targets");
    let mut first: Vec<(&str, i64)> =
        slow.iter().take(4).map(|row| (row[0].as_str().unwrap(), row[1].as_i64().unwrap())).collect();
    first.sort_unstable();
    assert_eq!(first, [("7 =b", 10), ("7 =b", 12), ("a", 10), ("a", 12)], "{slow:?}");
    let shares = rows("Each file's share of the time");
    assert_eq!((&shares[0][1], shares[0][2].as_f64().unwrap() > 99.0), (&json!("/lus/shared"), true), "{shares:?}");
    let waits = rows("Ranks that wait in collective calls");
    assert!(waits.len() == 10 && waits.iter().all(|row| row[2] == json!(40) && row[3] == json!(0.04)), "{waits:?}");
    let small = rows("Small writes");
    assert_eq!((small.len(), &small[0][2], &small[0][3]), (10, &json!(40), &json!(100.0)), "{small:?}");
    let jobs = rows("Jobs compared");
    assert_eq!((jobs.len(), &jobs[0][1], jobs[0][2].as_f64()), (2, &json!(6), jobs[1][2].as_f64()), "{jobs:?}");
    let findings = rows("Findings that come back");
    assert!(!findings.is_empty() && findings.iter().all(|row| row[1] == json!(2)), "{findings:?}");
    let seconds = rows("Bandwidth over time");
    assert_eq!(seconds.len(), 2, "{seconds:?}");
}
