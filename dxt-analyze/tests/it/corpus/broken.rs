//! Tests of `corpus` on damaged input: unreadable files are listed and skipped, and all others are read.

use super::{corpus, run, site, testdata, text};
use serde_json::Value;
use std::os::unix::fs::symlink;

fn left_out(report: &Value) -> Vec<(String, &str)> {
    let rows = report["left_out"].as_array().unwrap().iter();
    let name = |row: &Value| row["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    rows.map(|row| (name(row), row["why"].as_str().unwrap())).collect()
}

#[test]
fn broken_files_are_listed_and_all_else_is_read() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let whole = corpus(&[text(folder.path())], 0);
    let bad = folder.path().join("2024/bad");
    std::fs::create_dir(&bad).unwrap();
    let log = std::fs::read(testdata("darshan/gen-mpi8-rt3.5.0.darshan")).unwrap();
    let small = std::fs::read(folder.path().join("2024/small.dxt")).unwrap();
    std::fs::write(bad.join("cut.darshan"), &log[..100]).unwrap();
    std::fs::write(bad.join("empty.darshan"), b"").unwrap();
    std::fs::write(bad.join("text.dxt"), b"this is no trace, and long enough to have a header: so it says what it is")
        .unwrap();
    std::fs::write(bad.join("header.dxt"), &small[..40]).unwrap();
    symlink(folder.path(), bad.join("loop")).unwrap();
    symlink("nowhere", bad.join("gone.darshan")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(bad.join("pipe.dxt")).status();
    assert!(made.unwrap().success());
    let old = testdata("darshan/v2.3.1-ppc64.darshan.gz");
    let report = corpus(&[text(folder.path()), text(&old)], 3);
    assert_eq!(report["jobs"], whole["jobs"]);
    let found = left_out(&report);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let mut expected = [
        "cut.darshan",
        "empty.darshan",
        "gone.darshan",
        "header.dxt",
        "pipe.dxt",
        "text.dxt",
        "v2.3.1-ppc64.darshan.gz",
    ];
    expected.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert!(found.iter().all(|(_, why)| !why.is_empty() && !why.contains('\n')), "{found:?}");
    let why = |name: &str| found.iter().find(|(file, _)| file == name).unwrap().1;
    assert!(
        why("cut.darshan").contains("offset") && why("v2.3.1-ppc64.darshan.gz").contains("Darshan 2.x"),
        "{found:?}"
    );
    let table = crate::common::stdout(&["corpus", text(folder.path()), text(&old)], 3);
    assert!(table.contains("(7 files)") && table.contains("cut.darshan: "), "{table}");
}

#[test]
fn nothing_to_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let code = |args: &[&str]| run(&[&["corpus"], args].concat()).status.code();
    assert_eq!(code(&[text(folder.path())]), Some(2));
    assert_eq!(code(&[text(&folder.path().join("none"))]), Some(1));
    std::fs::write(folder.path().join("a.dxt"), b"nothing").unwrap();
    assert_eq!(code(&[text(folder.path())]), Some(1));
    assert_eq!(code(&["--force", text(folder.path())]), Some(2));
}

#[test]
fn a_job_of_which_files_are_absent_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let [_, second] = super::in_two_files(folder.path());
    std::fs::remove_file(second).unwrap();
    let report = corpus(&[text(folder.path())], 3);
    assert_eq!((&report["incomplete"], &report["jobs"][0]["complete"]), (&1.into(), &false.into()));
    // The mean is over all ranks of the job, including ranks missing from the trace.
    assert_eq!((&report["jobs"][0]["ranks"], &report["jobs"][0]["processes"]), (&4.into(), &2.into()));
}

#[test]
fn damage_never_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let mut state = 5_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let many = folder.path().join("damaged");
    std::fs::create_dir(&many).unwrap();
    for (name, extension) in [("2024/small.dxt", "dxt"), ("2024/11/1/gen-mpi8-rt3.5.0.darshan", "darshan")] {
        let whole = std::fs::read(folder.path().join(name)).unwrap();
        for round in 0..60 {
            let mut bytes = whole.clone();
            if round % 3 == 0 {
                bytes.truncate(random(whole.len()));
            } else {
                (0..1 + random(4)).for_each(|_| bytes[random(whole.len())] = random(256) as u8);
            }
            std::fs::write(many.join(format!("{round}.{extension}")), bytes).unwrap();
        }
    }
    let out = folder.path().join("out");
    let report = corpus(&["-o", text(&out), text(&many)], 3);
    let read: u64 = report["jobs"].as_array().unwrap().iter().map(|row| row["sources"].as_u64().unwrap()).sum();
    assert_eq!(read + report["left_out"].as_array().unwrap().len() as u64, 120);
}

#[test]
fn tables_that_exist_stay_unless_they_are_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let (logs, out) = (folder.path().join("2024"), folder.path().join("out"));
    let tables = || {
        ["jobs", "job_files", "job_findings"].map(|name| std::fs::read(out.join(format!("{name}.parquet"))).unwrap())
    };
    corpus(&["-o", text(&out), text(&logs)], 0);
    let before = tables();
    let refused = run(&["corpus", "-o", text(&out), text(&logs)]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"), "{refused:?}");
    // Simulates a full disk: no file may exceed 2 KiB.
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "bash", env!("CARGO_BIN_EXE_dxt-analyze")]);
    let output = limited
        .args(["corpus", "--force", "--no-findings", "-o", text(&out), text(&folder.path().join("a"))])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("failed to write"), "{said}");
    assert!(tables() == before);
    let mut left: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["job_files.parquet", "job_findings.parquet", "jobs.parquet"]);
    corpus(&["--force", "-o", text(&out), text(&folder.path().join("a"))], 0);
    assert!(tables() != before);
}
