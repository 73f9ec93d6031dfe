//! Tests of the exports to CSV and to JSON lines.

use super::{LAYOUT, MIB, SHARED, export, shared};
use crate::common::{hdf5, put, stdout};
use serde_json::{Value, json};

#[test]
fn a_row_says_everything_of_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = shared(folder.path(), "job-7");
    let layout = put(folder.path(), "layout", LAYOUT);
    let text = stdout(&["export", "--to", "json", "-o", "-", "--layout", &layout, &path], 0);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), SHARED);
    let start = 1_700_000_000_000_000_000_i64;
    let expected = json!({
        "job": "job-7", "rank": 0, "node": "node0", "pid": 1000, "thread": 1000, "file": "/lus/shared",
        "data_set": null, "layer": "POSIX", "op": "write", "mode": "plain", "kind": "write", "nested": true,
        "in_hdf5": false, "failed": false, "errno": 0, "offset": 6 * MIB, "length": MIB, "start_ns": 10_001_500,
        "end_ns": 11_001_000, "start_unix_ns": start + 10_001_500, "end_unix_ns": start + 11_001_000, "stripe": 6,
        "osts": [12], "site": null, "place": null,
    });
    assert_eq!(rows[3], expected);
    // The outer call reaches storage through the nested one.
    assert_eq!((&rows[4]["layer"], &rows[4]["mode"]), (&json!("MPIIO"), &json!("collective")));
    assert_eq!((&rows[4]["stripe"], &rows[4]["osts"]), (&Value::Null, &json!([])));
    let failed = &rows[120];
    assert_eq!((&failed["failed"], &failed["errno"], &failed["offset"]), (&json!(true), &json!(28), &Value::Null));
    assert_eq!(rows[2]["osts"], json!([]), "no layout is known for logs");

    let csv = folder.path().join("a.csv");
    export("csv", &csv, &["--layout", &layout, &path], 0);
    let mut reader = csv::Reader::from_path(&csv).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let keys: Vec<&str> = text[1..].split(',').filter_map(|part| part.split('"').nth(1)).take(25).collect();
    assert_eq!(names, keys, "both have the same columns in the same order");
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), rows.len());
    for (record, row) in records.iter().zip(&rows) {
        for (name, field) in names.iter().zip(record) {
            let same = match &row[name] {
                Value::Null => field.is_empty(),
                Value::String(text) => field == text,
                Value::Array(list) => {
                    let words: Vec<String> = list.iter().map(Value::to_string).collect();
                    field == words.join(" ")
                }
                other => *field == *other.to_string(),
            };
            assert!(same, "{name}: {field} and {}", row[name]);
        }
    }
}

#[test]
fn what_is_looked_at_is_what_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let path = shared(folder.path(), "a");
    let count = |args: &[&str]| {
        let mut all = vec!["export", "--to", "csv", "-o", "-", &path];
        all.extend_from_slice(args);
        stdout(&all, 0).lines().count() - 1
    };
    assert_eq!(count(&["--ranks", "2,4:"]), SHARED / 2);
    assert_eq!(count(&["--files", "log.*"]), 6 * 40);
    assert_eq!(count(&["--layer", "mpiio"]), 6 * 40);
    assert_eq!(count(&["--time", "0.8:"]), 6);
}

#[test]
fn data_sets_have_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hdf5.dxt", &hdf5());
    let text = stdout(&["export", "--to", "json", "-o", "-", &path], 0);
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let with = |data_set: Value| rows.iter().filter(|row| row["data_set"] == data_set).count();
    assert_eq!((with(json!("/grid/t")), with(Value::Null)), (4, 8));
    assert_eq!(rows.iter().filter(|row| row["in_hdf5"] == true).count(), 6);
}
