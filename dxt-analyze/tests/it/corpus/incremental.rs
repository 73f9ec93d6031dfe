//! Tests of `corpus --incremental`: after nightly runs with additions, changes, removals and interruptions, the corpus equals that of a
//! single full run.

use super::{corpus, in_two_files, site, testdata, text, through_hdf5};
use crate::common::{Builder, job, process, put, python, run, skip_here, trace};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Python script that prints, per table, the rows in which two corpora differ (one of them partitioned by day), and the number of rows.
const SAME: &str = r#"
import duckdb, json, sys
whole, days = sys.argv[1:]
answer, database = {}, duckdb.connect()
number = lambda statement: database.execute(statement).fetchall()[0][0]
for table in "jobs", "job_files", "job_findings":
    one = f"SELECT * FROM '{whole}/{table}.parquet'"
    other = f"SELECT * EXCLUDE (day) FROM read_parquet('{days}/*/{table}.parquet', hive_partitioning = true)"
    differ = [number(f"SELECT count(*) FROM (({a}) EXCEPT ALL ({b}))") for a, b in ((one, other), (other, one))]
    answer[table] = differ + [number(f"SELECT count(*) FROM ({other})")]
database.execute("SET TimeZone = 'UTC'")
answer["elsewhere"] = number(
    f"SELECT count(*) FROM read_parquet('{days}/*/jobs.parquet', hive_partitioning = true) WHERE strftime(start, '%Y-%m-%d') <> day::VARCHAR")
json.dump(answer, sys.stdout)
"#;

/// Runs one nightly collection; returns its report as JSON.
#[track_caller]
fn night(folder: &Path, days: &Path, code: i32) -> Value {
    corpus(&["--incremental", "-o", text(days), text(folder)], code)
}

/// Returns the numbers of new, changed and unchanged input files, as stated in a report's remarks.
fn read(report: &Value) -> [u64; 3] {
    let remarks = report["remarks"].as_array().unwrap();
    let line = remarks.iter().filter_map(Value::as_str).find(|line| line.starts_with("jobs: ")).unwrap();
    let numbers: Vec<u64> = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[1], numbers[2]]
}

/// Asserts that the incremental corpus `days` has the same rows as a full run over `folder`.
#[track_caller]
fn is_whole(folder: &Path, days: &Path, scratch: &Path) {
    let Some(interpreter) = python(&["duckdb"], "whether days are the whole") else { return };
    let whole = scratch.join("whole");
    corpus(&["--force", "-o", text(&whole), text(folder)], 0);
    let output = Command::new(interpreter).args(["-c", SAME, text(&whole), text(days)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    for table in ["jobs", "job_files", "job_findings"] {
        assert_eq!((&answer[table][0], &answer[table][1]), (&0.into(), &0.into()), "{table}: {answer}");
        assert_ne!(answer[table][2], 0, "{answer}");
    }
    assert_eq!(answer["elsewhere"], 0);
}

/// Returns a trace of a one-rank job that started `days` days after the other jobs.
fn later(key: &str, days: i64, bytes: u64) -> Vec<u8> {
    let mut about = job(key, 1);
    about.info.start_unix_ns += days * 86_400_000_000_000;
    let mut one: Builder = process(0, "n");
    one.process.info.epoch_unix_ns = about.info.start_unix_ns;
    one.write("/scratch/later", 0, bytes, 0, 1_000_000_000);
    trace(&about, vec![one])
}

#[test]
fn nights_together_are_the_whole() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    site(folder);
    assert_eq!(read(&night(folder, &days, 0)), [7, 0, 0]);
    is_whole(folder, &days, scratch.path());
    // Nothing has changed.
    let again = night(folder, &days, 0);
    assert_eq!((read(&again), &again["whole"]["jobs"]), ([0, 0, 7], &0.into()));
    // The next night finds a job of a new day, one of a known day, a changed job, and the missing part of an incomplete job.
    put(folder, "2024/new.dxt", &later("new", 3, 10));
    put(folder, "2024/same.dxt", &later("same", 0, 10));
    put(folder, "2024/11/hdf5.dxt", &[through_hdf5("job-2"), Vec::new()].concat());
    put(folder, "a/b/third.dxt", &later("two", 0, 77));
    std::fs::copy(folder.join("2024/11/2/x86_64-3.0.0.darshan"), folder.join("2024/copy.darshan")).unwrap();
    // A rewritten file counts as changed, even with equal contents.
    assert_eq!(read(&night(folder, &days, 0)), [3, 2, 5]);
    let found = corpus(&["-o", text(&scratch.path().join("other")), text(folder)], 0);
    assert_eq!(found["whole"]["jobs"], 10);
    // Both copies of the log have the same key; the second one gets the suffix ~2.
    std::fs::remove_file(folder.join("2024/copy.darshan")).unwrap();
    let before = std::fs::read_dir(&days).unwrap().count();
    assert_eq!(read(&night(folder, &days, 0)), [0, 0, 10], "what is gone stays in the corpus");
    assert_eq!(std::fs::read_dir(&days).unwrap().count(), before);
}

#[test]
fn what_cannot_be_read_is_tried_again() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    in_two_files(folder);
    put(folder, "half.dxt", b"no trace yet");
    let first = night(folder, &days, 3);
    assert_eq!((read(&first), first["left_out"].as_array().unwrap().len()), ([1, 0, 0], 1));
    assert_eq!(read(&night(folder, &days, 3)), [0, 0, 1]);
    put(folder, "half.dxt", &later("half", 1, 10));
    assert_eq!(read(&night(folder, &days, 0)), [1, 0, 1]);
    is_whole(folder, &days, scratch.path());
    // A corpus in one folder is not mixed with one partitioned by day.
    assert_eq!(
        run(&["corpus", "--force", "-o", text(&scratch.path().join("one")), text(folder)]).status.code(),
        Some(0)
    );
    let mixed = run(&["corpus", "--incremental", "-o", text(&scratch.path().join("one")), text(folder)]);
    assert_eq!(mixed.status.code(), Some(1), "{mixed:?}");
}

#[test]
fn one_run_at_a_time() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    in_two_files(folder);
    night(folder, &days, 0);
    let program = env!("CARGO_BIN_EXE_dxt-analyze");
    let inner = [program, "corpus", "--incremental", "-o", text(&days), text(folder)];
    let output = Command::new("flock").arg(days.join(".lock")).args(inner).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("another run"), "{output:?}");
}

#[test]
fn a_run_that_is_killed_at_any_moment_repeats_nothing_and_loses_nothing() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    site(folder);
    let args = ["corpus", "--incremental", "-o", text(&days), text(folder)];
    for turn in 0..40 {
        put(folder, &format!("{turn}.dxt"), &later(&format!("night-{turn}"), turn % 5, 100));
        let mut child = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20 + (turn as u64 * 37) % 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let report = night(folder, &days, 0);
    let [new, changed, kept] = read(&report);
    assert_eq!((new + kept, changed), (47, 0));
    is_whole(folder, &days, scratch.path());
    let names = std::fs::read_dir(&days).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| name.starts_with("day=") || name == ".lock"));
}

#[test]
fn a_path_that_is_no_text_is_collected_like_any_other() {
    use std::os::unix::ffi::OsStrExt;
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    let odd = folder.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("a.dxt"), later("odd", 0, 10)).unwrap();
    let other = folder.join(std::ffi::OsStr::from_bytes(b"caf\xe8"));
    std::fs::create_dir(&other).unwrap();
    for place in [&odd, &other] {
        std::fs::copy(testdata("darshan/gen-mpi8-rt3.5.0.darshan"), place.join("b.darshan")).unwrap();
    }
    put(folder, "plain.dxt", &later("plain", 0, 10));
    assert_eq!(read(&night(folder, &days, 0)), [4, 0, 0]);
    assert_eq!(read(&night(folder, &days, 0)), [0, 0, 4]);
}

#[test]
fn a_key_that_is_used_again_takes_no_row_away() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    put(folder, "first.dxt", &later("test", 0, 10));
    assert_eq!(read(&night(folder, &days, 0)), [1, 0, 0]);
    // A moved file is the same job.
    std::fs::rename(folder.join("first.dxt"), folder.join("moved.dxt")).unwrap();
    assert_eq!(read(&night(folder, &days, 0)), [0, 1, 0]);
    // The job's trace is deleted, and another run has its key.
    std::fs::remove_file(folder.join("moved.dxt")).unwrap();
    put(folder, "second.dxt", &later("test", 2, 20));
    let report = night(folder, &days, 0);
    assert_eq!((read(&report), &report["jobs"][0]["job"]), ([1, 0, 1], &"test~2".into()));
    assert_eq!(read(&night(folder, &days, 0)), [0, 0, 2]);
    // Another part of the second run is not a third run.
    put(folder, "part.dxt", &later("test", 2, 30));
    let report = night(folder, &days, 0);
    assert_eq!((read(&report), &report["jobs"][0]["job"]), ([0, 1, 1], &"test~2".into()));
}

#[test]
fn users_that_chose_one_key_have_a_job_each() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    put(folder, "a.dxt", &later("test", 0, 10));
    put(folder, "b.dxt", &later("test", 0, 20));
    if std::os::unix::fs::chown(folder.join("b.dxt"), Some(12_345), None).is_err() {
        skip_here("traces of two users: not root");
        return;
    }
    let whole = corpus(&[text(folder)], 0);
    let jobs = |report: &Value| -> Vec<(String, u64)> {
        let jobs = report["jobs"].as_array().unwrap().iter();
        let mut jobs: Vec<_> =
            jobs.map(|job| (job["job"].as_str().unwrap().to_owned(), job["bytes_written"].as_u64().unwrap())).collect();
        jobs.sort();
        jobs
    };
    let both = vec![("test".to_owned(), 10), ("test~2".to_owned(), 20)];
    assert_eq!(jobs(&whole), both);
    let first = night(folder, &days, 0);
    assert_eq!((read(&first), jobs(&first)), ([2, 0, 0], both));
    assert_eq!(read(&night(folder, &days, 0)), [0, 0, 2]);
    // A change of one user's job leaves the other user's row unchanged.
    put(folder, "a.dxt", &later("test", 0, 1000));
    let changed = night(folder, &days, 0);
    assert_eq!((read(&changed), jobs(&changed)), ([0, 1, 1], vec![("test".to_owned(), 1000)]));
}

#[test]
fn an_archive_may_have_more_days_than_files_can_be_open() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (days, folder) = (scratch.path().join("days"), logs.path());
    for day in 0..240_i64 {
        put(folder, &format!("{day}.dxt"), &later(&format!("job-{day}"), day, 10));
    }
    let program = env!("CARGO_BIN_EXE_dxt-analyze");
    let output = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 200; exec \"$@\"",
            "sh",
            program,
            "--threads",
            "2",
            "corpus",
            "--incremental",
            "--no-findings",
        ])
        .args(["--format", "json", "-o", text(&days), text(folder)])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(&serde_json::from_slice(&output.stdout).unwrap()), [240, 0, 0]);
    assert_eq!(read(&night(folder, &days, 0)), [0, 0, 240]);
}

/// A corpus written in another format version is left unchanged, and the error message states what to do.
#[test]
fn a_corpus_of_another_version_is_refused_with_what_to_do() {
    let (scratch, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let days = scratch.path().join("days");
    put(logs.path(), "a.dxt", &later("a", 0, 100));
    night(logs.path(), &days, 0);
    let day = std::fs::read_dir(&days).unwrap().flatten().find(|entry| entry.path().is_dir()).unwrap().path();
    let (sources, rows) = (day.join(".sources.jsonl"), day.join(".rows.jsonl.zst"));
    let was = std::fs::read_to_string(&sources).unwrap();
    let older = was.replace("\"owner\"", "\"other\"");
    put(logs.path(), "b.dxt", &later("b", 0, 100));
    for (file, content) in [(&sources, older.into_bytes()), (&rows, zstd::encode_all(&b"{}\n"[..], 1).unwrap())] {
        let before = std::fs::read(file).unwrap();
        std::fs::write(file, &content).unwrap();
        let output = run(&["corpus", "--incremental", "-o", text(&days), text(logs.path())]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("collect into a new directory"), "{said}");
        assert!(std::fs::read(file).unwrap() == content && day.join("jobs.parquet").exists());
        std::fs::write(file, before).unwrap();
    }
    // A new corpus can be made in another directory from the traces that still exist.
    assert_eq!(read(&night(logs.path(), &scratch.path().join("new"), 0)), [2, 0, 0]);
    assert_eq!(read(&night(logs.path(), &days, 0)), [1, 0, 1]);
}
