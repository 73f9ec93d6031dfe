//! Tests of the corpus tables in DuckDB, Dask and Spark: every code block of docs/corpus.md runs unchanged, and missing engines are
//! reported. DuckDB and Dask come from `DXT_TEST_PYTHON` or `target/test-venv` (made by scripts/test.sh); Spark needs pyspark and Java.

use super::{corpus, site, text};
use crate::common::{python, python_with, run, skip_here};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Python script that runs the SQL blocks in DuckDB, and the Python blocks named by `sys.argv[2:]`. It prints the results keyed by the
/// comment in each block's first line; tables of jobs are printed completely.
const SCRIPT: &str = r##"
import json, re, sys
import duckdb

document = open(sys.argv[1]).read()
answers, database = {}, duckdb.connect()
for block in re.findall(r"```sql\n(.*?)```", document, re.S):
    name = block.split("\n")[0].lstrip("- ")
    for statement in filter(str.strip, block.split(";")):
        found = database.execute(statement)
        rows = found.fetchall() if found.description else []
        answers[name] = {"columns": [column[0] for column in found.description or []], "rows": rows}
    if name == "Who does most I/O":
        query = block.split("\n", 1)[1].strip().rstrip(";")
database.execute("SET TimeZone = 'UTC'")
found = database.execute("SELECT * REPLACE (start::VARCHAR AS start) FROM jobs")
names = [column[0] for column in found.description]
answers["jobs"] = [dict(zip(names, row)) for row in found.fetchall()]
answers["by_job"] = database.execute(
    "SELECT job, count(*), sum(bytes_read), sum(bytes_written), sum(read_ns + write_ns + other_ns) FROM job_files GROUP BY job").fetchall()
answers["codes"] = database.execute("SELECT code, count(DISTINCT job), count(*), sum(cost_ns) FROM job_findings GROUP BY code").fetchall()
for block in re.findall(r"```python\n(.*?)```", document, re.S):
    name = block.split("\n")[0].lstrip("# ")
    if name in sys.argv[2:]:
        variables = {"query": query}
        exec(block, variables)
        answer = variables["answer"]
        columns = ["uid", "user_name", "gb", "io_percent", "mpiio_percent"]
        answers[name] = json.loads(answer[columns].to_json(orient="values"))
json.dump(answers, sys.stdout, default=str)
"##;

/// Returns the results of all code blocks in docs/corpus.md, and the report with which they must agree; `None` without DuckDB.
fn answers(folder: &Path) -> Option<(Value, Value)> {
    let interpreter = python(&["duckdb"], "what engines answer")?;
    let mut engines = Vec::new();
    if python(&["dask.dataframe"], "Dask").is_some() {
        engines.push("Dask");
    }
    let java = Command::new("java").arg("-version").output().is_ok_and(|output| output.status.success());
    if java && python_with(&["pyspark", "pandas"]).is_some() {
        engines.push("Spark");
    } else {
        // Spark is too large to be installed for this test.
        skip_here("Spark: there is no Java, or no pyspark");
    }
    site(folder);
    let out = folder.join("corpus");
    let report = corpus(&["-o", text(&out), text(&folder.join("2024")), text(&folder.join("a"))], 0);
    let exported =
        run(&["export", "--to", "parquet", "-o", text(&folder.join("export")), text(&folder.join("2024/small.dxt"))]);
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/corpus.md");
    let output =
        Command::new(interpreter).args(["-c", SCRIPT]).arg(docs).args(&engines).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(engines.iter().all(|engine| answers[engine].is_array()));
    Some((answers, report))
}

fn near(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-6),
        _ => a == b,
    }
}

#[test]
fn every_engine_gives_one_answer_and_tables_are_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let Some((answers, report)) = answers(folder.path()) else { return };
    let rows = |name: &str| answers[name]["rows"].as_array().unwrap_or_else(|| panic!("{name}")).clone();

    // DuckDB's columns are uid, user_name, jobs, gb, io_percent, mpiio_percent; they equal those of the report and of the other engines.
    let who = rows("Who does most I/O");
    assert_eq!(who.len(), report["users"].as_array().unwrap().len());
    for row in &who {
        let uid = row[0].to_string();
        let name = row[1].as_str().unwrap_or(&uid);
        let user = report["users"].as_array().unwrap().iter().find(|user| user["name"] == name).unwrap();
        assert!(near(&json!(user["io_share"].as_f64().unwrap() * 100.0), &row[4]), "{row} {user}");
        assert_eq!(user["jobs"], row[2]);
    }
    for engine in ["Dask", "Spark"].into_iter().filter(|engine| answers[engine].is_array()) {
        let theirs = answers[engine].as_array().unwrap();
        assert_eq!(theirs.len(), who.len());
        for (row, theirs) in who.iter().zip(theirs) {
            let ours = [&row[0], &row[1], &row[3], &row[4], &row[5]];
            assert!(
                ours.iter().zip(theirs.as_array().unwrap()).all(|(a, b)| near(a, b)),
                "{engine}: {ours:?} {theirs}"
            );
        }
    }

    let jobs = answers["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), report["jobs"].as_array().unwrap().len());
    for row in jobs {
        let listed = report["jobs"].as_array().unwrap().iter().find(|listed| listed["job"] == row["job"]).unwrap();
        for (name, value) in row.as_object().unwrap() {
            let (interface, part) = name.rsplit_once('_').unwrap_or_default();
            let sums = &listed["interfaces"];
            let expected = match (name.as_str(), part) {
                ("start", _) => continue, // Checked below: converted to text here.
                ("uses_mpiio", _) => {
                    json!(["mpiio_independent", "mpiio_collective"].iter().any(|one| sums[one]["used"] == true))
                }
                (_, "calls" | "bytes") => sums[interface][part].clone(),
                (_, "ns") if sums[interface].is_object() => sums[interface]["time_ns"].clone(),
                _ if name.starts_with("uses_") => sums[name.trim_start_matches("uses_")]["used"].clone(),
                _ => listed[name].clone(),
            };
            assert!(near(value, &expected), "{name}: {value} {expected}");
        }
        let start = row["start"].as_str().unwrap();
        assert!(listed["start"].as_str().unwrap().starts_with(start.get(..19).unwrap()), "{start} {}", listed["start"]);
        let files = answers["by_job"].as_array().unwrap().iter().find(|files| files[0] == row["job"]).unwrap();
        let expected = ["files", "bytes_read", "bytes_written", "io_ns"].map(|name| &listed[name]);
        assert!(expected.iter().enumerate().all(|(at, value)| near(&files[at + 1], value)), "{files} {expected:?}");
    }
    for code in answers["codes"].as_array().unwrap() {
        let listed = report["findings"].as_array().unwrap().iter().find(|listed| listed["code"] == code[0]).unwrap();
        assert_eq!((&listed["jobs"], &listed["findings"]), (&code[1], &code[2]));
        assert!(near(&json!(code[3].as_f64().unwrap_or(0.0)), &listed["cost_ns"]), "{code} {listed}");
    }

    for recipe in [
        "Adoption of MPI-IO",
        "Share of the runtime in I/O",
        "Reads against writes",
        "Sizes of files",
        "What is found most often",
    ] {
        assert!(!rows(recipe).is_empty(), "{recipe}");
    }
    let own = rows("A file per process");
    assert!(own.iter().any(|row| row[0] == "two" && row[4] == 4), "{own:?}");
    let calls = rows("Calls of exported jobs");
    assert_eq!((calls.len(), &calls[0][0], &calls[0][3]), (1, &json!("job-1"), &json!(12)), "{calls:?}");
}
