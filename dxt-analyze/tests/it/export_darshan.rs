//! Tests of `export --to darshan`: the project's own reader finds the trace's contents in the log, and Darshan's Python tools accept it.

use crate::common::{Builder, job, json, op, process, put, python, run, stdout, trace};
use dxt_synth::lustre::attribute as lustre;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource, stream_flags};

/// Returns four ranks on two nodes that write a shared file through MPI-IO, read it back through POSIX, and write a log file each.
fn ranks() -> Vec<Builder> {
    let one = |rank: i32| {
        let mut process = process(rank, if rank < 2 { "node1" } else { "node2" });
        process.add("/scratch/shared", op::POSIX_OPEN, 0, -1, 0, 1_000, 51_000);
        for call in 0..50_u64 {
            let (offset, start) = (((call * 4 + rank as u64) * 65_536) as i64, 1_000_000 + call * 1_000_000);
            process.add(
                "/scratch/shared",
                op::POSIX_WRITE,
                stream_flags::NESTED,
                offset,
                65_536,
                start + 1000,
                start + 90_000,
            );
            process.add("/scratch/shared", op::MPIIO_WRITE_ALL, 0, offset, 65_536, start, start + 100_000);
        }
        for call in 0..20_u64 {
            let start = 200_000_000 + call * 50_000;
            process.add("/scratch/shared", op::POSIX_READ, 0, (call * 1000) as i64, 1000, start, start + 7_000);
        }
        for call in 0..10_u64 {
            let start = 300_000_000 + call * 10_000;
            process.add(
                &format!("/home/me/log.{rank}"),
                op::STDIO_WRITE,
                0,
                (call * 80) as i64,
                80,
                start,
                start + 900,
            );
        }
        let file = process.file("/scratch/shared");
        let (moment, source) = (LayoutMoment::Open, LayoutSource::Lustre);
        process.process.layouts.push(LayoutDef { file, moment, source, bytes: lustre(1 << 20, &[7, 8, 9, 11]) });
        process
    };
    (0..4).map(one).collect()
}

fn exported(folder: &Path) -> (String, String) {
    let path = put(folder, "a.dxt", &trace(&job("k", 4), ranks()));
    let log = folder.join("a.darshan").display().to_string();
    stdout(&["export", "--to", "darshan", "-o", &log, &path], 0);
    (path, log)
}

/// Returns calls, bytes and time of reads and writes, by layer, operation name, and whether nested in MPI-IO.
fn data(path: &str) -> Vec<(String, String, bool, u64, u64, u64)> {
    let found = json(&["summary", "--format", "json", path], 0);
    let rows = found["operations"].as_array().expect("rows").iter();
    let rows = rows.filter(|row| ["read", "write"].contains(&row["op"].as_str().expect("a name")));
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
    let mut out: Vec<_> = rows
        .map(|row| {
            let nested = row["nested"] == true;
            let sums = (number(row, "count"), number(row, "bytes"), number(row, "time_ns"));
            (text(row, "layer"), text(row, "op"), nested, sums.0, sums.1, sums.2)
        })
        .collect();
    out.sort();
    out
}

#[test]
fn there_and_back_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log) = exported(folder.path());
    assert_eq!(data(&path), data(&log));
    // Layouts, shared stripes and the findings on stripes are equal.
    let stripes = |path: &str| json(&["stripes", "--format", "json", path], 0);
    let (of_trace, of_log) = (stripes(&path), stripes(&log));
    for key in ["reads", "writes", "bytes", "unaligned", "crossing", "targets"] {
        assert_eq!(of_trace["files"][0][key], of_log["files"][0][key], "{key}");
    }
    assert_eq!(of_trace["files"][0]["layout"]["components"][0]["osts"], serde_json::json!([7, 8, 9, 11]));
    // C streams have no segments in the log, so findings on their files are missing.
    let codes = |found: &Value| {
        let rows = found["findings"].as_array().expect("findings").iter();
        let of_shared = rows.filter(|row| row["title"].to_string().contains("/scratch/shared"));
        of_shared.map(|row| row["code"].to_string()).collect::<Vec<String>>()
    };
    assert_eq!(codes(&of_trace), codes(&of_log));
    // Single calls agree at the precision of seconds in floating point.
    let calls = |path: &str| json(&["outliers", "--metric", "duration", "--format", "json", path], 0);
    let groups = |found: &Value| {
        let rows = found["operations"].as_array().expect("groups").clone();
        rows.iter().map(|row| (row["layer"].clone(), row["sample"].clone())).collect::<Vec<_>>()
    };
    let data_only =
        |rows: Vec<(Value, Value)>| rows.into_iter().filter(|(layer, _)| layer != "STDIO").collect::<Vec<_>>();
    assert_eq!(data_only(groups(&calls(&path))), data_only(groups(&calls(&log))));
}

#[test]
fn an_existing_file_is_kept_and_what_no_log_can_hold_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log) = exported(folder.path());
    let before = std::fs::read(&log).expect("the log");
    let again = run(&["export", "--to", "darshan", "-o", &log, &path]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert!(std::fs::read(&log).expect("the log") == before);
    stdout(&["export", "--to", "darshan", "--force", "-o", &log, &path], 0);
    assert!(std::fs::read(&log).expect("the log") == before, "the same bytes again");
    assert_eq!(run(&["export", "--to", "darshan", "-o", "-", &path]).status.code(), Some(1));
}

#[test]
fn the_text_of_the_parser() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, log) = exported(folder.path());
    let text = |args: &[&str]| stdout(&[&["export", "--to", "dxt-parser", "-o", "-"], args, &[&path]].concat(), 0);
    let plain = text(&[]);
    assert!(plain == stdout(&["dump", "--format", "dxt-parser", &log], 0), "the same as of the log");
    assert!(plain == text(&["--layout", "3.5"]));
    // Rank 1 first writes 64 KiB at offset 64 KiB from 1.001 to 1.09 ms, to stripe 0 on OST 7.
    let row = " X_POSIX       1  write        0           65536           65536      0.0010      0.0011    [7]";
    assert!(plain.lines().any(|line| line == row), "{row}");
    let rows = |text: &str, api: &str| text.lines().filter(|line| line.starts_with(api)).count();
    assert_eq!((rows(&plain, " X_POSIX"), rows(&plain, " X_MPIIO")), (4 * 70, 4 * 50));
    let with_threads = text(&["--layout", "3.6"]);
    assert_eq!(rows(&with_threads, " X_POSIX"), 4 * 70);
    let of_thread =
        |tid: u32| with_threads.lines().filter(|row| row.starts_with(" X_") && row.ends_with(&tid.to_string())).count();
    assert_eq!([1000, 1001, 1002, 1003].map(of_thread), [120; 4], "a thread for each rank");
    assert_eq!(with_threads.lines().filter(|line| *line == "# DXT, number of threads: 1").count(), 8);
    // The option works together with a file of stripe layouts.
    let layouts = put(folder.path(), "layouts", b"/scratch/* size=64K count=2 osts=20,21\n");
    let moved = text(&["--layout", "3.5", "--layout", &layouts]);
    assert!(moved.contains("[21]") && !plain.contains("[21]"));
    let twice = run(&["export", "--to", "dxt-parser", "--layout", "3.5", "--layout", "3.6", "-o", "-", &path]);
    assert_eq!(twice.status.code(), Some(2));
}

const SCRIPT: &str = r#"
import json, sys, darshan
report = darshan.DarshanReport(sys.argv[1], read_all=True)
posix = report.records["POSIX"].to_df()["counters"]
mpiio = report.records["MPI-IO"].to_df()["counters"]
stdio = report.records["STDIO"].to_df()["counters"]
report.mod_read_all_dxt_records("DXT_POSIX", dtype="dict")
report.mod_read_all_dxt_records("DXT_MPIIO", dtype="dict")
dxt = report.records["DXT_POSIX"]
print(json.dumps({
    "ranks": report.metadata["job"]["nprocs"],
    "posix": [int(posix[name].sum()) for name in ("POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN", "POSIX_OPENS")],
    "mpiio": [int(mpiio[name].sum()) for name in ("MPIIO_COLL_WRITES", "MPIIO_INDEP_WRITES", "MPIIO_BYTES_WRITTEN")],
    "stdio": [int(stdio[name].sum()) for name in ("STDIO_WRITES", "STDIO_BYTES_WRITTEN")],
    "common": int(posix["POSIX_ACCESS1_ACCESS"].iloc[0]),
    "dxt": [len(dxt), sum(r["write_count"] for r in dxt), sum(r["read_count"] for r in dxt)],
    "mpi_segments": sum(r["write_count"] for r in report.records["DXT_MPIIO"]),
    "hosts": sorted({r["hostname"] for r in dxt}),
    "heat": int(report.heatmaps["POSIX"].to_df(ops=["write"]).to_numpy().sum()),
}))
"#;

const EXPLORED: &str = r#"
import glob, json, pandas
tables = [pandas.read_feather(name) for name in glob.glob("*.darshan.*.dxt")]
rows = pandas.concat(table for table in tables if len(table))
sums = rows.groupby(["api", "operation"])["size"].agg(["count", "sum"])
print(json.dumps({f"{api} {operation}": [int(row["count"]), int(row["sum"])] for (api, operation), row in sums.iterrows()}))
"#;

/// DXT Explorer reads the exported log and draws all segments. (It then calls Drishti with options that no release has and reports the
/// failure, as for Darshan's own logs.)
#[test]
fn dxt_explorer_takes_it() {
    let Some(python) = python(&["darshan", "explorer", "pandas"], "DXT Explorer") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, log) = exported(folder.path());
    let bin = Path::new(&python).parent().expect("a directory");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let explorer =
        Command::new(bin.join("dxt-explorer")).arg(&log).env("PATH", path).current_dir(folder.path()).output();
    let output = explorer.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let page = folder.path().join(format!("{}-operation.html", darshan_log::record_id(b"/scratch/shared")));
    assert!(std::fs::metadata(&page).is_ok_and(|page| page.len() > 100_000), "{output:?}");
    let output = Command::new(&python).args(["-c", EXPLORED]).current_dir(folder.path()).output().expect("it runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let expected = serde_json::json!({
        "POSIX write": [200, 200 * 65_536], "POSIX read": [80, 80_000], "MPIIO write": [200, 200 * 65_536],
    });
    assert_eq!(found, expected, "{output:?}");
}

#[test]
fn darshans_own_tools_take_it() {
    let Some(python) = python(&["darshan", "drishti"], "PyDarshan and Drishti") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, log) = exported(folder.path());
    let output = Command::new(&python).args(["-c", SCRIPT, &log]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.to_lowercase().contains("warn"), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let expected = serde_json::json!({
        "ranks": 4, "posix": [80, 200, 80_000, 200 * 65_536, 4], "mpiio": [200, 0, 200 * 65_536], "stdio": [40, 3200],
        "common": 65_536, "dxt": [4, 200, 80], "mpi_segments": 200, "hosts": ["node1", "node2"], "heat": 200 * 65_536,
    });
    assert_eq!(found, expected);
    // PyDarshan makes its summary page, and Drishti its findings.
    let page = folder.path().join("page.html");
    let args = ["-m", "darshan", "summary", &log, "--output", page.to_str().expect("a path")];
    let output = Command::new(&python).args(args).current_dir(folder.path()).output().expect("it runs");
    assert!(output.status.success() && std::fs::metadata(&page).is_ok_and(|page| page.len() > 100_000), "{output:?}");
    let html = std::fs::read_to_string(&page).expect("a page");
    let shown = |row: &str| {
        let head = format!("<th>{row}</th>");
        let cells = html.split(&head).skip(1).filter_map(|rest| rest.split_once("<td>")?.1.split_once("</td>"));
        let mut found: Vec<String> = cells.map(|(value, _)| value.to_owned()).collect();
        found.sort();
        found
    };
    // MPI-IO and POSIX: 200 writes of 64 KiB each. C streams: each of four ranks makes 20 reads of 1,000 bytes and 10 writes of 80.
    assert_eq!(shown("bytes read"), ["0 Bytes", "0 Bytes", "78.12 KiB"]);
    assert_eq!(shown("bytes written"), ["12.50 MiB", "12.50 MiB", "3.12 KiB"]);
    let drishti = Path::new(&python).with_file_name("drishti");
    let output = Command::new(drishti).arg(&log).current_dir(folder.path()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("collective"), "{text} {output:?}");
}
