//! Tests of `outliers`: ranks, nodes, OSTs and files are compared with their peers; too small samples give no result; results do not depend
//! on the number of threads.

use crate::common::facts::assert_found;
use crate::common::{Builder, job, json, op, process, put, stdout, trace};
use serde_json::json;
use trace_format::meta::stream_flags;

const MIB: u64 = 1 << 20;

/// Returns 16 ranks on 8 nodes. Each writes 8 whole stripes of a shared file and one of its own file, at 1 ms per stripe times
/// `factor(rank, stripe)`.
fn ranks(factor: impl Fn(i32, u64) -> u64) -> Vec<Builder> {
    (0..16)
        .map(|rank| {
            let mut process = process(rank, &format!("node{}", rank / 2));
            for step in 0..8_u64 {
                let stripe = step * 16 + rank as u64;
                // Durations are spread, with the same values for every rank's writes but in another order.
                let duration = (1_000_000 + (stripe * 7 + rank as u64) % 13 * 1000) * factor(rank, stripe);
                let start = 1000 + step * 50_000_000;
                process.write("/lus/shared", (stripe * MIB) as i64, MIB, start, start + duration);
            }
            process.write(
                &format!("/lus/own.{rank:02}"),
                0,
                MIB,
                900_000_000,
                900_000_000 + 1_000_000 * factor(rank, 0),
            );
            process
        })
        .collect()
}

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn units(args: &[&str], file: &str) -> (Vec<String>, serde_json::Value) {
    let mut all = vec!["outliers", "--format", "json"];
    all.extend_from_slice(args);
    all.push(file);
    let found = json(&all, 0);
    let rows = found["units"][0]["rows"].as_array().cloned().unwrap_or_default();
    let names = rows.iter().filter(|row| row["outlier"] == true).map(|row| row["unit"].as_str().unwrap().to_owned());
    (names.collect(), found)
}

#[test]
fn a_slow_rank_is_found_with_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), ranks(|rank, _| if rank == 5 { 3 } else { 1 })));
    for metric in ["bandwidth", "duration"] {
        let (outliers, found) = units(&["--by", "rank", "--metric", metric], &path);
        assert_eq!(outliers, ["5"], "{metric}");
        let row = &found["units"][0]["rows"][0];
        assert!((2.9..3.1).contains(&row["slower"].as_f64().unwrap()));
        // Nine operations of 1 ms took 3 ms each.
        let extra = row["extra_ns"].as_i64().unwrap();
        assert!((17_500_000..18_500_000).contains(&extra), "{extra}");
        // Nobody waits for these 18 ms of a run of 903 ms.
        assert!(found["findings"].as_array().is_some_and(Vec::is_empty), "{found}");
    }
    let in_a_row = (0..16).map(|rank| {
        let (mut process, each) = (process(rank, "n"), if rank == 5 { 3_000_000 } else { 1_000_000 });
        for call in 0..40 {
            let offset = (call * 16 + rank as u64) * MIB;
            process.write("/lus/shared", offset as i64, MIB, call * each + 10, (call + 1) * each + call % 7 * 1000);
        }
        process
    });
    let path = put(folder.path(), "b.dxt", &trace(&job("k", 16), in_a_row.collect()));
    let (outliers, found) = units(&["--by", "rank"], &path);
    assert_eq!(outliers, ["5"]);
    assert_found(&found, "DXT-O002", &json!({ "rank": 5, "calls": 40 }));
    assert_found(&json(&["report", "--format", "json", &path], 0), "DXT-O002", &json!({ "rank": 5, "calls": 40 }));
}

#[test]
fn a_slow_node_a_slow_target_and_a_slow_file_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let layout = put(folder.path(), "layout", b"/lus/* size=1M count=16 start=100\n");
    let path = put(folder.path(), "n.dxt", &trace(&job("k", 16), ranks(|rank, _| if rank / 2 == 3 { 2 } else { 1 })));
    assert_eq!(units(&["--by", "node"], &path).0, ["node3"]);
    let slow_target = ranks(|_, stripe| if stripe % 16 == 9 { 4 } else { 1 });
    let path = put(folder.path(), "t.dxt", &trace(&job("k", 16), slow_target));
    assert_eq!(units(&["--by", "ost", "--layout", &layout], &path).0, ["109"]);
    let without = json(&["outliers", "--by", "ost", "--format", "json", &path], 0);
    assert!(without["nothing"].as_str().unwrap().contains("--layout"));
    let (files, found) = units(&["--by", "file"], &path);
    // One of the file's 16 stripes is on the slow target: the target is to blame, not the file.
    assert_eq!((files, &found["units"][0]["sample"]), (Vec::new(), &17.into()));
    let path = put(folder.path(), "f.dxt", &trace(&job("k", 16), ranks(|rank, _| if rank == 2 { 9 } else { 1 })));
    assert_eq!(units(&["--by", "file"], &path).0[0], "/lus/own.02");
}

/// Returns 16 ranks, each with 40 writes, one per ms. A write has `size(rank)` bytes and takes `time(rank, call)` ns.
fn writers(size: impl Fn(i32) -> u64, time: impl Fn(i32, u64) -> u64) -> Vec<Builder> {
    (0..16)
        .map(|rank| {
            let mut process = process(rank, &format!("node{}", rank / 4));
            for call in 0..40_u64 {
                let (start, spread) = (call * 1_000_000 + 10, (call * 7 + rank as u64 * 3) % 11 * 500);
                let offset = (call * 16 + rank as u64) * MIB;
                process.write("/lus/shared", offset as i64, size(rank), start, start + time(rank, call) + spread);
            }
            process
        })
        .collect()
}

#[test]
fn like_is_compared_with_like() {
    let folder = tempfile::tempdir().expect("a folder");
    let layout = put(folder.path(), "layout", b"/lus/* size=1M count=16\n");
    // Half of the ranks write 4 KiB at 5 % of the others' bandwidth, which is normal for 4 KiB. Rank 3 is slow among these.
    let size = |rank: i32| if rank < 8 { 4096 } else { MIB };
    let time = |rank: i32, _| {
        if rank == 3 {
            90_000
        } else if rank < 8 {
            30_000
        } else {
            400_000
        }
    };
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), writers(size, time)));
    let (outliers, found) = units(&["--by", "rank"], &path);
    assert_eq!(outliers, ["3"]);
    let slower = found["units"][0]["rows"][0]["slower"].as_f64().expect("a ratio");
    assert!((2.5..3.2).contains(&slower), "{slower}");
    // Each OST serves one rank here: those of ranks with small requests are as fast as they can be.
    assert_eq!(units(&["--by", "ost", "--layout", &layout], &path).0, ["3"]);
}

#[test]
fn a_stall_or_two_make_no_slow_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let stalled = |rank: i32, call: u64| if rank == 6 && call % 20 == 7 { 9_000_000 } else { 400_000 };
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), writers(|_| MIB, stalled)));
    let (outliers, found) = units(&["--by", "rank"], &path);
    assert!(outliers.is_empty());
    assert_eq!(found["units"][0]["rows"][0]["unit"], "6", "it is listed first all the same");
    let calls = json(&["outliers", "--by", "op", "--metric", "duration", "--format", "json", &path], 0);
    assert_eq!(calls["operations"][0]["outliers"], 2);
}

#[test]
fn windows_tell_when_a_rank_was_slow() {
    let folder = tempfile::tempdir().expect("a folder");
    // Rank 9 is slow in the third quarter of the run only.
    let time = |rank: i32, call: u64| if rank == 9 && (20..30).contains(&call) { 800_000 } else { 200_000 };
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), writers(|_| MIB, time)));
    let found = json(&["outliers", "--by", "rank", "--windows", "4", "--format", "json", &path], 0);
    let stragglers = found["stragglers"].as_array().expect("stragglers");
    let verdicts: Vec<bool> = stragglers.iter().map(|row| row["outlier"] == true).collect();
    assert_eq!(verdicts, [false, false, true, false]);
    assert_eq!(stragglers[2]["unit"], "9");
    let spread = stragglers[2]["imbalance"].as_f64().expect("a share");
    assert!((0.7..0.78).contains(&spread), "800 of 200 us: {spread}");
    let spans: Vec<u64> = stragglers.iter().map(|row| row["from_ns"].as_u64().expect("a time")).collect();
    assert!(spans.is_sorted() && spans[2] / 100_000 == 196, "{spans:?}");
    let text = stdout(&["outliers", "--by", "rank", "--windows", "4", &path], 0);
    assert!(text.contains("Slowest in each time window"), "{text}");
}

#[test]
fn phases_are_compared_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    // Each rank makes three bursts of ten writes of 2 ms, 1 s apart; rank 9 takes twice as long in the second burst.
    let processes = (0..16).map(|rank| {
        let mut process = process(rank, if rank < 8 { "n0" } else { "n1" });
        for call in 0..30_u64 {
            let start = call / 10 * 1_000_000_000 + call % 10 * 5_000_000 + rank as u64 * 100 + 1;
            let time = if rank == 9 && call / 10 == 1 { 4_000_000 } else { 2_000_000 + call % 7 * 1000 };
            let offset = (call * 16 + rank as u64) as i64 * MIB as i64;
            process.write("/lus/a", offset, MIB, start, start + time);
        }
        process
    });
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), processes.collect()));
    let found = json(&["outliers", "--by", "rank", "--windows", "phases", "--format", "json", &path], 0);
    let stragglers = found["stragglers"].as_array().expect("stragglers");
    let verdicts: Vec<bool> = stragglers.iter().map(|row| row["outlier"] == true).collect();
    assert_eq!((verdicts, &stragglers[1]["unit"]), (vec![false, true, false], &json!("9")));
    let starts: Vec<u64> =
        stragglers.iter().map(|row| row["from_ns"].as_u64().expect("a time") / 900_000_000).collect();
    assert_eq!(starts, [0, 1, 2]);
    stdout(&["outliers", "--windows", "phases", &path], 2);
    stdout(&["outliers", "--by", "rank", "--windows", "0", &path], 2);
}

#[test]
fn small_samples_get_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let few: Vec<Builder> = ranks(|rank, _| if rank == 1 { 2 } else { 1 }).into_iter().take(4).collect();
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 4), few));
    let (outliers, found) = units(&["--by", "rank"], &path);
    assert!(outliers.is_empty());
    assert_eq!(found["units"][0]["verdict"], "too_few");
    assert!(stdout(&["outliers", "--by", "rank", &path], 0).contains("too few"));
    let mut one = process(0, "n");
    (0..5).for_each(|i| {
        one.write("/a", i * 10, 10, i as u64 * 100 + 1, i as u64 * 100 + 5);
    });
    let path = put(folder.path(), "b.dxt", &trace(&job("k", 0), vec![one]));
    assert!(stdout(&["outliers", &path], 0).contains("too few"));
}

#[test]
fn layers_are_never_mixed_and_failed_calls_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    for i in 0..100_u64 {
        let (start, offset) = (i * 10_000 + 1, (i * 100) as i64);
        one.add("/a", op::POSIX_WRITE, stream_flags::NESTED, offset, 100, start + 100, start + 200 + i % 5);
        one.add("/a", op::MPIIO_WRITE_ALL, 0, offset, 100, start, start + 5000 + i % 5);
        one.add("/a", op::POSIX_WRITE, stream_flags::FAILED, offset, 0, start + 6000, start + 9000);
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let found = json(&["outliers", "--format", "json", &path], 0);
    let groups = found["operations"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    assert!(groups.iter().all(|group| group["outliers"] == 0 && group["sample"] == 100));
    let posix = json(&["outliers", "--layer", "posix", "--format", "json", &path], 0);
    assert_eq!(posix["operations"].as_array().unwrap().len(), 1);
    assert_eq!(posix["operations"][0]["nested"], true);
    let summary = json(&["summary", "--format", "json", &path], 0);
    assert!(summary["operations"].as_array().unwrap().iter().any(|row| row["failed"] == true && row["count"] == 100));
}

#[test]
fn every_output_is_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut processes = ranks(|rank, stripe| if rank == 5 || stripe % 16 == 9 { 3 } else { 1 });
    for (rank, process) in processes.iter_mut().enumerate() {
        for i in 0..40_000_u64 {
            let (offset, start) = (i * 16_000 + rank as u64 * 1000, 1_000_000_000 + i * 5000 + rank as u64);
            process.write("/lus/interleaved", offset as i64, 1000, start, start + 3000 + (i * 31 + rank as u64) % 997);
        }
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 16), processes));
    let layout = put(folder.path(), "layout", b"* size=64K count=4\n");
    for subcommand in [
        vec!["summary"],
        vec!["outliers"],
        vec!["outliers", "--metric", "duration", "--top", "7"],
        vec!["outliers", "--by", "rank"],
        vec!["outliers", "--by", "node", "--windows", "7"],
        vec!["outliers", "--by", "ost", "--layout", &layout],
        vec!["stripes", "--layout", &layout],
    ] {
        let with = |threads: &str| {
            let mut args = subcommand.clone();
            args.extend(["--format", "json", "--threads", threads, path.as_str()]);
            stdout(&args, 0)
        };
        assert_eq!(with("1"), with("4"), "{subcommand:?}");
    }
    let csv = |threads: &str| stdout(&["dump", "--format", "csv", "--threads", threads, &path], 0);
    assert!(csv("1") == csv("3"));
}

#[test]
fn hundreds_of_files_are_one_job() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..300 {
        let mut one = process(rank, &format!("n{}", rank % 7));
        one.write("/shared", i64::from(rank) * 10, 10, 5, 15);
        put(folder.path(), &format!("job.{rank}.dxt"), &trace(&job("k", 300), vec![one]));
    }
    let found = json(&["summary", "--format", "json", folder.path().to_str().unwrap()], 0);
    for (key, expected) in [("ranks", 300), ("nodes", 7), ("files", 1), ("segments", 300), ("bytes_written", 3000)] {
        assert_eq!(found[key], expected, "{key}");
    }
}

/// No statistic fails if most ranks spend no time in an operation (cheap calls in counters), so that the median is 0. Covers numbers of
/// ranks around the minimum sample size, with different numbers of ranks that spend time.
#[test]
fn units_without_time_end_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (count, with_time) in [(7, 1), (8, 0), (8, 1), (8, 3), (8, 4), (9, 4), (9, 8), (40, 1)] {
        let some = |rank: i32| {
            let mut process = process(rank, &format!("node{rank}"));
            let duration = if rank < with_time { 1_000_000_000 } else { 0 };
            for file in 0..9 {
                process.write(&format!("/d/{file}"), i64::from(rank) * 10, 10, 5_000, 5_000 + duration);
            }
            process
        };
        let key = format!("{count}-{with_time}");
        let all = (0..count).map(some).collect();
        files.push(put(folder.path(), &format!("{key}.dxt"), &trace(&job(&key, count as u32), all)));
    }
    for file in &files {
        for by in ["rank", "node", "file"] {
            for metric in ["bandwidth", "duration"] {
                let found = json(&["outliers", "--format", "json", "--by", by, "--metric", metric, file], 0);
                assert!(found["units"].is_array(), "{file} {by}");
            }
        }
        stdout(&["report", "-o", &folder.path().join("page.html").display().to_string(), file], 0);
    }
    // One of 40 ranks takes 1 s for calls that cost the others nothing, which is no finding.
    let (outliers, _) = units(&["--by", "rank", "--metric", "duration"], &files[7]);
    assert_eq!(outliers, ["0"]);
    let corpus = json(&["corpus", "--format", "json", &folder.path().display().to_string()], 0);
    assert_eq!(corpus["jobs"].as_array().map(Vec::len), Some(files.len()));
}
