//! Tests of the iterator over a trace's segments in batches. Batches are equal for any number of threads and made only on demand; reading
//! ends when the consumer stops. python/tests compares row contents with Parquet.

#![cfg(feature = "parquet")]

use dxt_analyze::frames::stream::{Damage, Next, Segments};
use dxt_analyze::frames::{Opened, Table};
use dxt_analyze::session::Inputs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn trace(folder: &Path, ranks: u32, segments: u32) -> PathBuf {
    let path = folder.join("t.dxt");
    let (ranks, segments) = (ranks.to_string(), segments.to_string());
    let words = ["dxt-synth", "ior-strided", "-n", &ranks, "--segments", &segments, "-o"];
    dxt_synth::run(words.iter().map(Into::into).chain([path.clone().into_os_string()])).unwrap();
    path
}

fn inputs(trace: &Path, ranks: Option<&str>) -> Inputs {
    Inputs {
        traces: vec![trace.to_owned()],
        job: None,
        ranks: ranks.map(str::to_owned),
        files: Vec::new(),
        layer: Vec::new(),
        time: None,
        thresholds: None,
    }
}

/// Returns the number of rows (one per call) in each batch.
fn rows(mut segments: Segments) -> Vec<usize> {
    let mut out = Vec::new();
    loop {
        match segments.next_within(Duration::from_secs(1)).unwrap() {
            Next::Batch(batch) => out.push(batch.num_rows()),
            Next::NotYet => {}
            Next::End => return out,
        }
    }
}

#[test]
fn blocks_are_put_together_and_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let job = Opened::new(&inputs(&trace(folder.path(), 200, 1000), None), None, &[]).unwrap();
    let all = rows(job.segments(None, Damage::Fails).unwrap());
    assert_eq!(all.iter().sum::<usize>() as u64, segments(&job));
    // Each process has at least one block, but there are far fewer batches than blocks.
    assert!(all.len() < 10 && all.iter().all(|&rows| rows > 0 && rows <= 1 << 16), "{all:?}");
    let part = job.part(&inputs(Path::new(""), Some("3:4"))).unwrap();
    let columns = ["rank".to_owned()];
    let some = rows(part.segments(Some(&columns), Damage::Fails).unwrap());
    assert_eq!(some.iter().sum::<usize>() as u64, segments(&part));
    assert_eq!(part.table(Table::Ranks).unwrap().num_rows(), 2);
    assert_eq!(job.table(Table::Ranks).unwrap().num_rows(), 200);
    let none = job.part(&inputs(Path::new(""), Some("1000"))).unwrap();
    assert!(rows(none.segments(None, Damage::Fails).unwrap()).is_empty());
}

fn segments(job: &Opened) -> u64 {
    let summary: serde_json::Value = serde_json::from_str(&job.summary(1, false).unwrap()).unwrap();
    summary["segments"].as_u64().unwrap()
}

/// Returns true if a background thread of this process is reading segments.
fn is_reading() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.into_iter().any(|name| name.trim() == "dxt-segments")
}

#[test]
fn a_stream_that_is_dropped_ends_its_thread() {
    let folder = tempfile::tempdir().unwrap();
    let job = Opened::new(&inputs(&trace(folder.path(), 8, 400_000), None), None, &[]).unwrap();
    let mut stream = job.segments(None, Damage::Fails).unwrap();
    assert!(!matches!(stream.next_within(Duration::from_secs(100)).unwrap(), Next::End));
    assert!(is_reading(), "all was read ahead");
    drop(stream);
    let began = Instant::now();
    while is_reading() {
        assert!(began.elapsed() < Duration::from_secs(100), "it reads on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
