//! Tests of `corpus`: one row per job with the numbers that other commands give, totals equal to the sums of the rows, and a line per
//! unreadable file.

mod broken;
mod crashes;
mod engines;
mod incremental;
mod slow_runs;
mod sums;

use crate::common::{Builder, job, op, process, put, run, small, trace};
use dxt_analyze::load::load_paths;
use dxt_analyze::page::page_of;
use serde_json::Value;
use std::path::{Path, PathBuf};
use trace_format::meta::stream_flags;

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs `corpus` and returns its report as JSON; asserts the exit code.
#[track_caller]
fn corpus(args: &[&str], code: i32) -> Value {
    crate::common::json(&[&["corpus", "--format", "json"], args].concat(), code)
}

/// Writes one job of four ranks as two trace files in different directories; returns their paths. Each rank writes a file of its own and a
/// shared file, in which rank 3 takes longest. A further file is opened but not used.
fn in_two_files(folder: &Path) -> [String; 2] {
    let ranks = |from: i32, until: i32| -> Vec<Builder> {
        let one = |rank: i32| {
            let mut one = process(rank, "n");
            one.write(&format!("/scratch/own.{rank}"), 0, 5000, 0, 1_000_000_000);
            let end = 3_000_000_000 + if rank == 3 { 6_000_000_000 } else { 0 };
            one.add("/scratch/all", op::MPIIO_WRITE_ALL, 0, i64::from(rank) * 100_000, 100_000, 2_000_000_000, end);
            one.add("/scratch/seen", op::POSIX_OPEN, 0, -1, 0, 10_000_000_000, 11_000_000_000);
            one
        };
        (from..until).map(one).collect()
    };
    std::fs::create_dir_all(folder.join("a/b")).unwrap();
    [
        put(folder, "a/first.dxt", &trace(&job("two", 4), ranks(0, 2))),
        put(folder, "a/b/second.dxt", &trace(&job("two", 4), ranks(2, 4))),
    ]
}

/// Creates a directory tree of logs and traces sorted by date, as at a site.
fn site(folder: &Path) {
    for (day, name) in
        [("1", "gen-mpi8-rt3.5.0"), ("2", "x86_64-3.0.0"), ("2", "synth-pfl-a"), ("3", "ppc64-3.1.5-bigendian")]
    {
        let day = folder.join("2024/11").join(day);
        std::fs::create_dir_all(&day).unwrap();
        std::fs::copy(testdata(&format!("darshan/{name}.darshan")), day.join(format!("{name}.darshan"))).unwrap();
    }
    let (job, processes) = small();
    put(folder, "2024/small.dxt", &trace(&job, processes));
    put(folder, "2024/11/hdf5.dxt", &through_hdf5("job-2"));
    in_two_files(folder);
}

/// Encodes a trace of a job whose only rank writes through HDF5, which calls MPI-IO, which calls POSIX.
fn through_hdf5(key: &str) -> Vec<u8> {
    let mut one = process(0, "node1");
    let (inside, both) = (stream_flags::IN_HDF5, stream_flags::IN_HDF5 | stream_flags::NESTED);
    one.add("/scratch/0.h5", op::POSIX_WRITE, both, 2048, 4096, 12_000, 15_000);
    one.add("/scratch/0.h5", op::MPIIO_WRITE_ALL, inside, 2048, 4096, 11_000, 16_000);
    one.add("/scratch/0.h5", op::HDF5_WRITE_ALL, 0, -1, 800, 10_000, 20_000);
    trace(&job(key, 1), vec![one])
}

fn row<'a>(report: &'a Value, source: &str) -> &'a Value {
    let rows = report["jobs"].as_array().unwrap();
    rows.iter()
        .find(|row| row["source"].as_str().unwrap().ends_with(source))
        .unwrap_or_else(|| panic!("{source}: {rows:?}"))
}

#[test]
fn a_row_has_the_numbers_of_the_summary_and_the_findings_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let report = corpus(&[text(folder.path())], 0);
    let rows = report["jobs"].as_array().unwrap();
    assert_eq!(rows.len(), 7);
    for row in rows {
        let of_job: Vec<String> = if row["job"] == "two" {
            ["a/first.dxt", "a/b/second.dxt"].map(|name| text(&folder.path().join(name)).to_owned()).to_vec()
        } else {
            vec![row["source"].as_str().unwrap().to_owned()]
        };
        let files: Vec<&str> = of_job.iter().map(String::as_str).collect();
        assert_eq!(row["sources"], files.len());
        let summary = crate::common::json(&[&["summary", "--format", "json"], files.as_slice()].concat(), 0);
        for name in
            ["processes", "files", "bytes_read", "bytes_written", "read_ns", "write_ns", "other_ns", "missing_segments"]
        {
            assert_eq!(row[name], summary[name], "{name} of {}", row["source"]);
        }
        for (name, of_job) in
            [("job", "key"), ("batch", "scheduler"), ("exe", "exe"), ("runtime_ns", "runtime_ns"), ("uid", "uid")]
        {
            assert_eq!(row[name], summary["job"][of_job], "{name} of {}", row["source"]);
        }
        let number = |name: &str| row[name].as_f64().unwrap();
        let share = number("io_ns") / (number("ranks") * number("runtime_ns"));
        assert!((number("io_share") - share).abs() < 1e-9 && number("slowest_share") >= share, "{row}");
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let page = page_of(&load_paths(&paths, None).unwrap(), None, 50).unwrap();
        assert_eq!(row["findings"], page.findings.len());
        let top: Vec<&str> = page.top_codes().iter().map(|code| code.name()).collect();
        assert_eq!(row["top_findings"], Value::from(top));
    }
}

#[test]
fn the_files_of_a_job_are_one_job_and_its_numbers_are_right() {
    let folder = tempfile::tempdir().unwrap();
    in_two_files(folder.path());
    let report = corpus(&[text(folder.path())], 0);
    assert_eq!(report["whole"]["jobs"], 1);
    let row = row(&report, "a/first.dxt");
    let second = 1_000_000_000_u64;
    // Each rank spends 1 s on its own file, 1 s on opens, and 1 s on the shared file, where rank 3 takes 7 s.
    let io = 4 * 3 * second + 6 * second;
    assert_eq!((&row["ranks"], &row["runtime_ns"], &row["io_ns"]), (&4.into(), &(60 * second).into(), &io.into()));
    assert_eq!((&row["slowest_ns"], row["slowest_share"].as_f64()), (&(9 * second).into(), Some(0.15)));
    assert_eq!((&row["files"], &row["operations"], &row["bytes_written"]), (&6.into(), &12.into(), &420_000.into()));
    let used: Vec<(&str, u64, u64)> = row["interfaces"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, sum)| (name.as_str(), sum["bytes"].as_u64().unwrap(), sum["time_ns"].as_u64().unwrap() / second))
        .filter(|(_, bytes, time)| bytes + time > 0)
        .collect();
    assert_eq!(used, [("mpiio_collective", 400_000, 10), ("posix", 20_000, 8)]);
    let files: Vec<(&Value, &Value)> =
        report["sharing"].as_array().unwrap().iter().map(|row| (&row["files"], &row["bytes_written"])).collect();
    assert_eq!(files, [(&4.into(), &20_000.into()), (&0.into(), &0.into()), (&2.into(), &400_000.into())]);
    let sizes: Vec<(&Value, u64)> = report["file_sizes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["size"], row["files"].as_u64().unwrap()))
        .filter(|(_, files)| *files > 0)
        .collect();
    assert_eq!(sizes, [(&"<= 64 KiB".into(), 4), (&"<= 1 MiB".into(), 1)]);
    assert_eq!(report["files_without_data"], 1);
}

#[test]
fn the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let with = |threads: &str| {
        let place = folder.path().join(format!("out.{threads}"));
        let (logs, more) = (folder.path().join("2024"), folder.path().join("a"));
        let report = corpus(&["--threads", threads, "-o", text(&place), text(&logs), text(&more)], 0);
        let tables = ["jobs", "job_files", "job_findings"]
            .map(|name| std::fs::read(place.join(format!("{name}.parquet"))).unwrap());
        (report, tables)
    };
    let one = with("1");
    assert!(["2", "7"].into_iter().all(|threads| with(threads) == one));
}

#[test]
fn jobs_are_sorted_and_cut() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let sources = |args: &[&str]| -> Vec<String> {
        let report = corpus(&[args, &[text(folder.path())]].concat(), 0);
        assert_eq!(report["whole"]["jobs"], 7);
        let rows = report["jobs"].as_array().unwrap().iter();
        rows.map(|row| Path::new(row["source"].as_str().unwrap()).file_stem().unwrap().to_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(sources(&["--sort", "bytes", "-n", "2"]), ["synth-pfl-a", "ppc64-3.1.5-bigendian"]);
    assert_eq!(sources(&["--sort", "ranks", "-n", "1"]), ["gen-mpi8-rt3.5.0"]);
    assert_eq!(sources(&["--sort", "source", "-n", "1"]), ["gen-mpi8-rt3.5.0"]);
    assert_eq!(sources(&["-n", "1"]), ["first"]);
    let users = crate::common::stdout(&["corpus", "--format", "csv", "--table", "users", text(folder.path())], 0);
    assert!(users.starts_with("user,jobs,bytes_read,"), "{users}");
    let table = crate::common::stdout(&["corpus", "-n", "1", text(folder.path())], 0);
    assert!(table.contains("and 6 more") && table.contains("mpiio_collective"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 132), "{table}");
}

#[test]
fn logs_with_one_job_id_and_start_are_jobs_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        let to = folder.path().join(format!("{name}.darshan"));
        std::fs::copy(testdata("darshan/gen-mpi8-rt3.5.0.darshan"), to).unwrap();
    }
    let report = corpus(&["--sort", "source", text(folder.path())], 0);
    let keys: Vec<&str> = report["jobs"].as_array().unwrap().iter().map(|row| row["job"].as_str().unwrap()).collect();
    let first = keys[0];
    assert!(keys == [first, &format!("{first}~2"), &format!("{first}~3")] && !first.contains('~'), "{keys:?}");
    assert_eq!(report["jobs"][0]["batch"], report["jobs"][2]["batch"]);
    assert!(report["remarks"][0].as_str().unwrap().starts_with("2 jobs "), "{}", report["remarks"]);
}

#[test]
fn a_job_without_io_has_a_runtime_and_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let idle = trace(&job("idle", 3), (0..3).map(|rank| process(rank, "n")).collect());
    let path = put(folder.path(), "idle.dxt", &idle);
    let log = folder.path().join("idle.darshan");
    crate::common::stdout(&["export", "--to", "darshan", "-o", text(&log), &path], 0);
    let report = corpus(&[text(folder.path())], 0);
    for source in ["idle.dxt", "idle.darshan"] {
        let row = row(&report, source);
        let found =
            (&row["ranks"], &row["io_share"], &row["files"], row["runtime_ns"].as_u64() >= Some(60_000_000_000));
        assert_eq!(found, (&3.into(), &0.0.into(), &0.into(), true), "{row}");
    }
    assert_eq!((&report["directions"][0]["jobs"], &report["io_shares"][0]["jobs"]), (&2.into(), &2.into()));
    assert_eq!(report["files_per_job"][0]["jobs"], 2);
}
