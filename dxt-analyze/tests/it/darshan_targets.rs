//! Tests of slow storage targets in logs without DXT: counters identify them if files lie on one target each, and a rank that used a slow
//! target is not blamed. The tests write the logs; a real log is tested if the folder named by `DXT_DARSHAN_LOGS` has it.

use crate::common::{job as trace_job, json, process, put, run, skip_here, trace};
use darshan_log::counters::{float_names, int_names};
use darshan_log::lustre::Component;
use darshan_log::write::{LustreVersion, Writer};
use darshan_log::{CounterRecord, Job, LustreRecord, Module, Mount, record_id};
use serde_json::Value;
use std::path::Path;

const MIB: i64 = 1 << 20;

/// File that one rank writes in 16 calls.
struct Written {
    rank: i64,
    osts: Vec<i64>,
    seconds: f64,
    /// Size of a call, bytes.
    call: i64,
}

fn of(rank: i64, ost: i64, seconds: f64) -> Written {
    // Times of all files differ.
    Written { rank, osts: vec![ost], seconds: seconds * (1.0 + 0.01 * (rank % 7) as f64), call: MIB }
}

fn log(path: &Path, ranks: i64, files: &[Written]) {
    let mut job = Job::default();
    (job.nprocs, job.exe, job.start_sec, job.end_sec) = (ranks, "./app".into(), 1_600_000_000, 1_600_001_000);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [Mount { point: "/".into(), fs_type: "lustre".into() }];
    let name = |number: usize| format!("/lus/out.{number:04}");
    let names: Vec<String> = (0..files.len()).map(name).collect();
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, &names).expect("a writer");
    let mut records: Vec<CounterRecord> = Vec::new();
    let mut layouts = Vec::new();
    for (file, name) in files.iter().zip(&names) {
        let id = record_id(name.as_bytes());
        let mut record = CounterRecord::zero(Module::Posix, id, file.rank).expect("a record");
        for (name, value) in [
            ("POSIX_OPENS", 1.0),
            ("POSIX_WRITES", 16.0),
            ("POSIX_BYTES_WRITTEN", (16 * file.call) as f64),
            ("POSIX_MAX_BYTE_WRITTEN", (16 * file.call - 1) as f64),
            ("POSIX_F_WRITE_START_TIMESTAMP", 1.0),
            ("POSIX_F_WRITE_END_TIMESTAMP", 900.0),
            ("POSIX_F_WRITE_TIME", file.seconds),
        ] {
            let place = |names: &[&str]| names.iter().position(|known| *known == name);
            match place(int_names(Module::Posix)) {
                Some(at) => record.ints[at] = value as i64,
                None => record.floats[place(float_names(Module::Posix)).expect("known")] = value,
            }
        }
        records.push(record);
        let component = Component {
            stripe_size: MIB,
            stripe_count: file.osts.len() as i64,
            extent_end: -1,
            osts: file.osts.clone(),
            ..Component::default()
        };
        let stripes = file.osts.len() as u64;
        layouts.push(LustreRecord { id, rank: -1, components: vec![component], stripes });
    }
    records.sort_by_key(|record| record.rank);
    writer.counters(Module::Posix, &records).expect("written");
    writer.lustre(LustreVersion::V2, &layouts).expect("written");
    std::fs::write(path, writer.finish().expect("a log").into_inner()).expect("written");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Runs `outliers` grouped by `by` (rank, node, OST, ...). Returns the outliers, the number of ranks or nodes that are slow only because of
/// slow targets, and the JSON output.
fn units(path: &Path, by: &str) -> (Vec<String>, u64, Value) {
    let found = json(&["outliers", "--format", "json", "--by", by, "--top", "10000", text(path)], 0);
    let rows = found["units"][0]["rows"].as_array().cloned().unwrap_or_default();
    let outliers = rows.iter().filter(|row| row["outlier"] == true);
    let outliers = outliers.map(|row| row["unit"].as_str().expect("a name").to_owned()).collect();
    let spared = rows.iter().filter(|row| row["slow_targets"] == true).count() as u64;
    assert_eq!(found["units"][0]["on_slow_targets"].as_u64().unwrap_or(0), spared);
    (outliers, spared, found)
}

/// Each of 64 ranks writes a file, on 16 targets in total; files on OST 9 take 60 times as long. Only OST 9 is named.
#[test]
fn counters_of_files_on_one_target_name_it_and_nobody_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let files = |seconds: fn(i64, i64) -> f64| -> Vec<Written> {
        (0..64).map(|rank| of(rank, rank % 16, seconds(rank, rank % 16))).collect()
    };
    log(&path, 64, &files(|_, ost| if ost == 9 { 60.0 } else { 1.0 }));
    let (targets, _, found) = units(&path, "ost");
    assert_eq!(targets, ["9"]);
    let rows = found["units"][0]["rows"].as_array().expect("rows");
    let bytes = rows.iter().map(|row| row["bytes"].as_i64().expect("bytes")).sum::<i64>();
    assert_eq!((rows.len(), bytes), (16, 64 * 16 * MIB));
    assert_eq!(rows[0]["operations"], 64);
    assert_eq!(found["findings"][0]["code"], "DXT-O004");
    for by in ["rank", "file"] {
        let (outliers, spared, found) = units(&path, by);
        assert_eq!((outliers, spared), (vec![], 4), "{by}");
        assert!(found["findings"].as_array().expect("findings").is_empty(), "{by}");
    }
    let table = String::from_utf8(run(&["outliers", "--by", "rank", text(&path)]).stdout).expect("text");
    // Captions are wrapped.
    let words = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("4 slow only on slow OSTs") && table.contains("slow OST\n"), "{table}");

    // A rank that is slow on all targets is slow itself, and no target is.
    let mut two: Vec<Written> = files(|rank, _| if rank == 20 { 60.0 } else { 1.0 });
    two.extend((0..64).map(|rank| of(rank, (rank + 5) % 16, if rank == 20 { 60.0 } else { 1.0 })));
    log(&path, 64, &two);
    assert_eq!(units(&path, "rank").0, ["20"]);

    // A rank that is slow on all targets is named even if it also used a slow target.
    let mut two: Vec<Written> = files(|rank, ost| if ost == 9 || rank == 25 { 60.0 } else { 1.0 });
    two.extend(
        (0..64).map(|rank| of(rank, (rank + 5) % 16, if rank == 25 || (rank + 5) % 16 == 9 { 60.0 } else { 1.0 })),
    );
    log(&path, 64, &two);
    assert_eq!(units(&path, "ost").0[0], "9");
    let (ranks, spared, _) = units(&path, "rank");
    assert_eq!((ranks, spared), (vec!["25".to_owned()], 7));

    // With one target per rank, a slow rank cannot be distinguished from a slow target: no target is named, and no rank excused.
    let alone: Vec<Written> = (0..32).map(|rank| of(rank, rank, if rank == 3 { 60.0 } else { 1.0 })).collect();
    log(&path, 32, &alone);
    assert_eq!((units(&path, "ost").0, units(&path, "rank").0), (vec![], vec!["3".to_owned()]));
}

#[test]
fn of_files_on_several_targets_only_what_is_certain_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let wide = |rank: i64, call: i64| Written { osts: vec![rank % 8, 40, 41, 42], call, ..of(rank, 0, 1.0) };
    // Sixteen calls of 64 KiB stay within the first stripe; calls of 1 MiB do not.
    for (call, sample) in [(MIB / 16, 8), (MIB, 0)] {
        let files: Vec<Written> = (0..32).map(|rank| wide(rank, call)).collect();
        log(&path, 32, &files);
        let found = json(&["outliers", "--format", "json", "--by", "ost", text(&path)], 0);
        assert_eq!(found["units"][0]["sample"].as_u64().unwrap_or(0), sample, "{call}");
        let left_out = found["missing"]["remarks"].to_string().contains("512 operations");
        assert_eq!(left_out, sample == 0, "{found}");
        assert_eq!(found["nothing"].is_null(), sample > 0);
    }
}

/// DXT segments in a trace give the results that counters give.
#[test]
fn a_rank_of_a_trace_that_meets_a_slow_target_is_not_blamed() {
    let folder = tempfile::tempdir().expect("a folder");
    let layout = put(folder.path(), "layout", b"/lus/* size=1M count=16 start=0\n");
    let slow = |rank: i32, ost: u64| ost == 9 || rank == 30;
    let ranks = (0..32_i32).map(|rank| {
        let mut process = process(rank, &format!("node{rank}"));
        for step in 0..8_u64 {
            let ost = u64::from(rank as u32) % 16;
            // Rank 30 uses all targets, every other rank only its own.
            let stripe = step * 16 + if rank == 30 { step } else { ost };
            let took = (1_000_000 + (step * 7 + rank as u64) % 13 * 1000) * if slow(rank, stripe % 16) { 5 } else { 1 };
            let start = 1000 + step * 50_000_000;
            process.write("/lus/shared", (stripe << 20) as i64, 1 << 20, start, start + took);
        }
        process
    });
    let path = put(folder.path(), "a.dxt", &trace(&trace_job("k", 32), ranks.collect()));
    let outliers = |by: &str| {
        let found = json(&["outliers", "--format", "json", "--by", by, "--layout", &layout, &path], 0);
        let rows = found["units"][0]["rows"].as_array().expect("rows").clone();
        let outliers = rows.iter().filter(|row| row["outlier"] == true);
        outliers.map(|row| row["unit"].as_str().expect("a name").to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(outliers("ost"), ["9"]);
    assert_eq!(outliers("rank"), ["30"]);
    assert_eq!(outliers("node"), ["node30"]);
    // Without a layout, targets are unknown.
    let found = json(&["outliers", "--format", "json", "--by", "rank", &path], 0);
    assert_eq!(found["units"][0]["outliers"], 3);
}

#[test]
fn the_slow_target_of_a_real_log_is_named() {
    let log = std::env::var_os("DXT_DARSHAN_LOGS").map(|folder| Path::new(&folder).join("badost-2048p.darshan"));
    let Some(path) = log.filter(|path| path.exists()) else {
        return skip_here("a real slow target: badost-2048p.darshan is not in DXT_DARSHAN_LOGS");
    };
    let (targets, _, found) = units(&path, "ost");
    assert_eq!(targets, ["14"]);
    let (row, group) = (&found["units"][0]["rows"][0], &found["units"][0]);
    let seconds = row["time_ns"].as_f64().expect("a time") / 1e9;
    assert!(group["sample"] == 24 && (40_000.0..50_000.0).contains(&seconds), "{row}");
    let (ranks, spared, _) = units(&path, "rank");
    assert_eq!((ranks, spared), (vec![], 85));
}
