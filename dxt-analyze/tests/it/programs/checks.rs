//! Tests of `checks` and `compare` on programs that print how often they repeat their I/O.

use crate::harness::{Compiler, Launch, Scratch, have, skip, workload_source, workload_with};
use crate::programs::analyze;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the number that the program printed after the word `name`.
fn said(stdout: &str, name: &str) -> u64 {
    let line = stdout.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    line.unwrap_or_else(|| panic!("the program said nothing of {name}: {stdout}"))
}

fn measured(found: &Value, code: &str) -> Option<f64> {
    let rows = found["checks"].as_array().expect("checks");
    rows.iter().find(|row| row["code"] == code).unwrap_or_else(|| panic!("no check {code}"))["measured"]["value"]
        .as_f64()
}

fn has(found: &Value, code: &str) -> bool {
    found["findings"].as_array().expect("findings").iter().any(|finding| finding["code"] == code)
}

#[test]
fn a_script_that_moves_bytes_again() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, "python3").arg(workload_source("traffic.py")).arg(scratch.data()).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    // Files of the Python interpreter itself are excluded.
    let files = format!("{}/*", scratch.data().display());
    let found = analyze(&scratch, "checks", &["--files", &files], 0);
    let expected = |part, all| said(&outcome.stdout, part) as f64 / said(&outcome.stdout, all) as f64;
    for (code, part, all) in
        [("DXT-C024", "read_again", "read"), ("DXT-C026", "read_back", "read"), ("DXT-C027", "overwritten", "written")]
    {
        assert_eq!(measured(&found, code), Some(expected(part, all)), "{code}");
        assert!(has(&found, code), "{code}");
    }
    let log = analyze(&scratch, "checks", &["--files", "log"], 0);
    assert_eq!(measured(&log, "DXT-C034"), Some(said(&outcome.stdout, "log_opens") as f64));
    assert_eq!(measured(&log, "DXT-C032"), Some(1.0));
    assert!(has(&log, "DXT-C032"));
}

#[test]
fn holes_that_mpi_io_reads_unasked() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            skip(&format!("{mpi:?} is not installed"));
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("sieve", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 2).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "checks", &["--files", "sieved"], 0);
        let summary = analyze(&scratch, "summary", &["--files", "sieved"], 0);
        let nested = |op: &str| -> u64 {
            let rows = summary["operations"].as_array().expect("operations").iter();
            let rows = rows.filter(|row| row["layer"] == "POSIX" && row["op"] == op && row["nested"] == true);
            rows.filter_map(|row| row["bytes"].as_u64()).sum()
        };
        // Unasked are bytes read beyond those that both kinds of reads requested. ROMIO reads blocks together with the holes, others read each block.
        let asked = said(&outcome.stdout, "asked_alone") + said(&outcome.stdout, "asked_together");
        let unasked = nested("read").saturating_sub(asked);
        let all = nested("read") + nested("write");
        assert_eq!(measured(&found, "DXT-C028"), Some(unasked as f64 / all as f64), "{mpi:?}");
        if mpi == Compiler::Mpich {
            let holes = said(&outcome.stdout, "with_holes") - said(&outcome.stdout, "asked_alone");
            assert_eq!(unasked, holes);
            assert!(has(&found, "DXT-C028"));
        }
        // One of two types of reads was collective, and all writes were.
        assert_eq!((measured(&found, "DXT-C019"), measured(&found, "DXT-C020")), (Some(0.5), Some(1.0)), "{mpi:?}");
    }
}

#[test]
fn sqlite_that_commits_every_statement_syncs_every_time() {
    if !have("sqlite3") {
        return skip("sqlite3 is not installed");
    }
    let of = |together: bool| {
        let scratch = Scratch::new();
        let mut script = "create table t (x);\n".to_owned();
        script += if together { "begin;\n" } else { "" };
        (0..120).for_each(|i| script += &format!("insert into t values ({i});\n"));
        script += if together { "commit;\n" } else { "" };
        let file = scratch.root().join("script.sql");
        std::fs::write(&file, script).expect("failed to write the script");
        let base = scratch.data().join("base.db");
        let read = format!(".read {}", file.display());
        let outcome = Launch::new(&scratch, "sqlite3").arg(&base).arg(&read).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "checks", &["--files", "base.db*"], 0);
        has(&found, "DXT-C032")
    };
    assert!(of(false), "120 transactions sync 120 times");
    assert!(!of(true), "one transaction does not");
}

/// Runs `dxt-analyze compare`; returns its JSON output.
fn compared(before: &Path, after: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let output = command.args(["compare", "--format", "json", "--files", "*data"]).args([before, after]).output();
    let output = output.expect("failed to run dxt-analyze");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

#[test]
fn two_runs_of_one_script_differ_in_folder_only() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    let scratches = [Scratch::new(), Scratch::new()];
    let traces: Vec<PathBuf> = scratches
        .iter()
        .map(|scratch| {
            let outcome = Launch::new(scratch, "python3").arg(workload_source("traffic.py")).arg(scratch.data()).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            scratch.traces()
        })
        .collect();
    let found = compared(&traces[0], &traces[1]);
    let rows = found["files"]["rows"].as_array().expect("files");
    let data = rows.iter().find(|row| row["unit"].as_str().is_some_and(|name| name.ends_with("/data/data")));
    let data = data.expect("the file is compared");
    assert_eq!(data["matched_by"], "folder");
    assert_eq!(
        (&data["before"]["bytes"], &data["before"]["calls"]),
        (&data["after"]["bytes"], &data["after"]["calls"])
    );
    // Durations may differ between the two runs, operations may not.
    for code in ["DXT-D002", "DXT-D003", "DXT-D004", "DXT-D005", "DXT-D007"] {
        assert!(!has(&found, code), "{code}: {}", found["findings"]);
    }
}

/// Python program in which two processes write alternating blocks of a file, and each reads back its own. With an argument, both write all blocks.
const SHARED: &str = "
import os, sys
all = len(sys.argv) > 2
child = os.fork() == 0
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
own = [i for i in range(16) if all or i % 2 == child]
for i in own:
    os.pwrite(fd, b'x' * (1 << 20), i << 20)
for i in own:
    os.pread(fd, 1 << 20, i << 20)
if not child:
    os.wait()
";

#[test]
fn bytes_of_a_shared_file_are_read_back_if_nobody_else_wrote_them() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    for over in [false, true] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, "python3").arg("-c").arg(SHARED).arg(scratch.data().join("shared"));
        assert_eq!(if over { launch.arg("all") } else { launch }.run().code, 0);
        let found = analyze(&scratch, "checks", &["--files", "shared"], 0);
        assert_eq!(measured(&found, "DXT-C026"), (!over).then_some(1.0), "{over}");
        assert_eq!(has(&found, "DXT-C026"), !over);
    }
}
