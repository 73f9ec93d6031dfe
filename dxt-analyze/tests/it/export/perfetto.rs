//! Tests of the export to Chrome trace events: viewers can show all tracks, and the number of events is limited.

use super::{SHARED, export, many, shared};
use crate::common::{job, op, process, put, trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::meta::ThreadDef;
use trace_format::segment::{Segment, StreamId};

/// Content of an exported file: slices of each track (process, thread) as (start, end) in ns in file order, and all events.
struct Opened {
    tracks: BTreeMap<(u64, u64), Vec<(u64, u64)>>,
    names: BTreeMap<(u64, u64), String>,
    slices: Vec<Value>,
    other: Value,
}

/// Reads an exported file as viewers do. Asserts that slices of a track nest or are disjoint, and that every track has a name.
fn open(path: &Path) -> Opened {
    let mut all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let events = all["traceEvents"].take();
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
    let track = |event: &Value| (number(event, "pid"), number(event, "tid"));
    let ns = |value: &Value| (value.as_f64().unwrap() * 1000.0).round() as u64;
    let (mut tracks, mut names, mut slices): (BTreeMap<_, Vec<_>>, BTreeMap<_, _>, Vec<_>) = Default::default();
    for event in events.as_array().unwrap() {
        match event["ph"].as_str().unwrap() {
            "X" => {
                let start = ns(&event["ts"]);
                tracks.entry(track(event)).or_default().push((start, start + ns(&event["dur"])));
                slices.push(event.clone());
            }
            "M" if event["name"] == "thread_name" => {
                names.insert(track(event), event["args"]["name"].as_str().unwrap().to_owned());
            }
            "M" => {}
            other => panic!("{other}"),
        }
    }
    for (track, slices) in &tracks {
        assert!(names.contains_key(track), "{track:?} has no name");
        let mut open: Vec<(u64, u64)> = Vec::new();
        let mut last = 0;
        for &(start, end) in slices {
            assert!(start >= last, "{track:?}: not in order");
            last = start;
            open.retain(|&(_, ends)| ends > start);
            assert!(open.last().is_none_or(|&(_, ends)| end <= ends), "{track:?}: {open:?} and {:?}", (start, end));
            open.push((start, end));
        }
    }
    Opened { tracks, names, slices, other: all["otherData"].take() }
}

#[test]
fn every_call_is_a_slice_and_nested_calls_nest() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a.json");
    assert_eq!(export("perfetto", &place, &[&shared(folder.path(), "a")], 0), "");
    let opened = open(&place);
    assert_eq!((opened.slices.len(), opened.tracks.len()), (SHARED, 6), "a track per rank is enough");
    let names: Vec<&str> = opened.names.values().map(String::as_str).collect();
    assert_eq!(names, ["rank 0", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5"]);
    let first = &opened.slices[0];
    assert_eq!((first["name"].as_str(), first["cat"].as_str()), (Some("MPIIO write collective"), Some("MPIIO")));
    assert_eq!(first["args"], serde_json::json!({ "file": "/lus/shared", "offset": 0, "length": 1 << 20 }));
    let inside = &opened.slices[1];
    assert_eq!(inside["name"], "POSIX write");
    assert_eq!((inside["ts"].as_f64(), inside["dur"].as_f64()), (Some(1.5), Some(999.5)));
    assert_eq!(opened.other["calls_one_by_one"], SHARED);
}

#[test]
fn calls_beside_others_and_further_threads_have_tracks_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    for at in 0..10_u64 {
        one.write("/a", at as i64, 1, at * 100, at * 100 + 250);
    }
    one.add("/a", op::POSIX_OPEN, 0, -1, 0, 5, 6);
    let stream = one.stream("/a", op::POSIX_WRITE, 0);
    let segment = Segment::new(StreamId(stream), 0, 1, 50, 60);
    one.process.threads.push(ThreadDef { index: 1, tid: 2002 });
    one.threads.push((1, vec![segment]));
    let mut child = process(0, "n");
    child.process.info.pid = 7777;
    child.process.threads[0].tid = 7777;
    child.write("/a", 0, 1, 10, 20);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 1), vec![one, child]));
    let place = folder.path().join("a.json");
    export("perfetto", &place, &[&path], 0);
    let opened = open(&place);
    let names: Vec<&str> = opened.names.values().map(String::as_str).collect();
    assert_eq!(names, ["rank 0", "rank 0 (2)", "rank 0 (3)", "rank 0 thread 2002", "rank 0 pid 7777"]);
    assert_eq!(opened.slices.len(), 13);
}

#[test]
fn of_many_calls_the_longest_are_kept_and_the_others_merged() {
    let folder = tempfile::tempdir().unwrap();
    let (ranks, steps) = (6, 20_000_u64);
    let path = put(folder.path(), "many.dxt", &trace(&job("k", ranks as u32), many(ranks, steps)));
    let calls = ranks as u64 * steps * 3 / 2;
    for most in [2, 7, 40, 1000, 20_000] {
        let place = folder.path().join(format!("{most}.json"));
        let said = export("perfetto", &place, &["--most", &most.to_string(), &path], 0);
        assert!(said.contains("of 180,000 calls have slices of their own"), "{said}");
        assert!(said.contains("--time "), "{said}");
        let opened = open(&place);
        assert!(opened.slices.len() as u64 <= most, "{} of {most}", opened.slices.len());
        let number = |key: &str| opened.other[key].as_u64().unwrap();
        assert_eq!(number("calls_one_by_one") + number("calls_merged") + number("calls_left_out"), calls);
        let merged = || opened.slices.iter().filter(|slice| slice["args"]["calls"].is_u64());
        let sum = |key: &str| merged().map(|slice| slice["args"][key].as_u64().unwrap()).sum::<u64>();
        // A call that is alone in its time window looks like a call that was kept individually.
        let alone = opened.slices.len() as u64 - merged().count() as u64;
        assert_eq!(sum("calls") + alone + number("calls_left_out"), calls, "{most}");
        if most >= 1000 {
            assert_eq!(number("calls_left_out"), 0);
            assert_eq!(sum("bytes") + alone * 512, calls * 512);
            // Each rank makes 20 calls of 15 µs, and others of at most 3; every second call has a nested one.
            let long = opened.slices.iter().filter(|slice| slice["args"]["length"].is_u64());
            let long = long.filter(|slice| slice["dur"].as_f64().unwrap() > 14.0).count();
            assert_eq!(long, 120, "{most}");
            assert!(number("calls_one_by_one") >= 120, "{most}");
        }
    }
}

#[test]
fn a_window_shows_its_part_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "many.dxt", &trace(&job("k", 2), many(2, 20_000)));
    let place = folder.path().join("a.json");
    let said = export("perfetto", &place, &["--most", "10000", &path], 0);
    let window = said.split("--time ").nth(1).unwrap().split(' ').next().unwrap();
    export("perfetto", &place, &["--force", "--most", "10000", "--time", window, &path], 0);
    let opened = open(&place);
    assert_eq!(opened.other["calls"], opened.other["calls_one_by_one"]);
    assert!((5000..=10_000).contains(&opened.slices.len()), "{} in {window}", opened.slices.len());
}
