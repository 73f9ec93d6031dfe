//! Tests that totals over all jobs equal the sums over the rows.

use super::{corpus, put, row, site, testdata, text, through_hdf5};
use serde_json::Value;
use std::collections::BTreeMap;

fn rows(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name} of {row}"))
}

#[test]
fn of_users_and_programs_and_all() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let report = corpus(&[text(folder.path())], 0);
    let names = ["files", "bytes_read", "bytes_written", "io_ns"];
    let sum = |rows: &[&Value]| names.map(|name| rows.iter().map(|row| number(row, name)).sum::<u64>());
    let jobs: Vec<&Value> = rows(&report["jobs"]).iter().collect();
    assert_eq!(names.map(|name| number(&report["whole"], name)), sum(&jobs));
    let user = |row: &Value| row["user_name"].as_str().map_or_else(|| row["uid"].to_string(), str::to_owned);
    let program = |row: &Value| row["program"].as_str().unwrap().to_owned();
    for (table, key) in [("users", &user as &dyn Fn(&Value) -> String), ("programs", &program)] {
        let mut by: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        jobs.iter().for_each(|row| by.entry(key(row)).or_default().push(row));
        assert_eq!(rows(&report[table]).len(), by.len());
        let mut before = u64::MAX;
        for group in rows(&report[table]) {
            let of = &by[group["name"].as_str().unwrap()];
            assert_eq!(names.map(|name| number(group, name)), sum(of), "{group}");
            assert_eq!(number(group, "jobs"), of.len() as u64);
            let ranks_s: f64 =
                of.iter().map(|row| number(row, "ranks") as f64 * number(row, "runtime_ns") as f64 / 1e9).sum();
            let io_s = number(group, "io_ns") as f64 / 1e9;
            assert!((group["io_share"].as_f64().unwrap() - io_s / ranks_s).abs() < 1e-9, "{group}");
            assert!(number(group, "io_ns") <= before);
            before = number(group, "io_ns");
        }
    }
}

#[test]
fn of_interfaces_shares_directions_and_findings() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let report = corpus(&[text(folder.path())], 0);
    let jobs = rows(&report["jobs"]);
    for interface in rows(&report["interfaces"]) {
        let name = interface["interface"].as_str().unwrap();
        let of = |row: &Value, what: &str| -> u64 {
            let forms = if name == "mpiio" { vec!["mpiio_independent", "mpiio_collective"] } else { vec![name] };
            forms.iter().map(|name| number(&row["interfaces"][*name], what)).sum()
        };
        for what in ["calls", "bytes", "time_ns"] {
            assert_eq!(number(interface, what), jobs.iter().map(|row| of(row, what)).sum::<u64>(), "{name} {what}");
        }
        let share = number(interface, "jobs") as f64 / jobs.len() as f64;
        assert!((interface["share_of_jobs"].as_f64().unwrap() - share).abs() < 1e-12);
    }
    let all_calls: u64 = jobs.iter().map(|row| number(row, "operations")).sum();
    let without_both = rows(&report["interfaces"]).iter().filter(|row| row["interface"] != "mpiio");
    assert_eq!(without_both.map(|row| number(row, "calls")).sum::<u64>(), all_calls);
    for (table, count) in
        [("io_shares", "jobs"), ("io_shares", "jobs_by_slowest"), ("directions", "jobs"), ("files_per_job", "jobs")]
    {
        let sum: u64 = rows(&report[table]).iter().map(|row| number(row, count)).sum();
        assert_eq!(sum, jobs.len() as u64, "{table}");
    }
    let files: u64 = rows(&report["file_sizes"]).iter().map(|row| number(row, "files")).sum();
    assert_eq!(files + number(&report, "files_without_data"), number(&report["whole"], "files"));
    let found: u64 = rows(&report["findings"]).iter().map(|row| number(row, "findings")).sum();
    assert_eq!(found, jobs.iter().map(|row| number(row, "findings")).sum::<u64>());
    assert!(rows(&report["findings"]).iter().all(|row| number(row, "jobs") <= number(row, "findings")));
}

#[test]
fn a_library_below_is_used_and_its_bytes_count_once() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.dxt", &through_hdf5("h"));
    let report = corpus(&[text(folder.path())], 0);
    let found = &row(&report, "a.dxt")["interfaces"];
    let of = |name: &str| (found[name]["used"] == true, number(&found[name], "bytes"));
    assert_eq!([of("hdf5"), of("mpiio_collective"), of("posix")], [(true, 800), (true, 0), (false, 0)]);
}

#[test]
fn the_slowest_rank_of_reduced_records_is_darshans() {
    // The job uses one file shared by all ranks; `darshan-parser` prints MPIIO_F_SLOWEST_RANK_TIME 0.050826.
    let report = corpus(&[text(&testdata("darshan/x86_64-3.0.0.darshan"))], 0);
    let row = row(&report, "x86_64-3.0.0.darshan");
    assert_eq!((number(row, "slowest_ns"), number(row, "ranks")), (50_826_311, 4));
    assert_eq!(report["sharing"][2]["files"], 1);
}

#[test]
fn without_findings_all_else_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let (mut with, mut without) =
        (corpus(&[text(folder.path())], 0), corpus(&["--no-findings", text(folder.path())], 0));
    assert_eq!(without["jobs"][0]["findings"], Value::Null);
    for report in [&mut with, &mut without] {
        report["findings"].take();
        for row in report["jobs"].as_array_mut().unwrap() {
            row["findings"].take();
            row["top_findings"].take();
        }
    }
    assert_eq!(with, without);
}
