//! Tests of files that are opened again for each item, by one process or by a program that is started for each.

use super::{MS, STAT, report, report_of, saves_ms};
use crate::common::facts::{assert_found, assert_saves_ms, assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use serde_json::{Value, json};

/// Opens a file in 1 ms, queries it and reads blocks of 4 KiB in 2 ms each at `offsets`. Returns the end.
fn use_once(one: &mut Builder, file: &str, offsets: &[u64], mut at: u64) -> u64 {
    let mut call = |op, offset, length, takes| {
        one.add(file, op, 0, offset, length, at, at + takes);
        at += takes;
    };
    call(op::POSIX_OPEN, -1, 0, MS);
    call(STAT, -1, 0, MS);
    offsets.iter().for_each(|offset| call(op::POSIX_READ, *offset as i64, 4096, 2 * MS));
    at + 10_000
}

fn opened_again(times: u64, offsets: impl Fn(u64) -> Vec<u64>) -> Value {
    let (mut one, mut at) = (process(-1, "n"), 0);
    for open in 0..times {
        at = use_once(&mut one, "/data/records", &offsets(open), at);
    }
    report(vec![one], at / MS + 10)
}

#[test]
fn calls_that_each_open_repeats_are_part_of_its_cost() {
    // A header and an index before each of 100 records.
    let record = |open: u64| (1 << 20) + open * 4096;
    let found = opened_again(100, |open| vec![0, 4096, record(open)]);
    let opens = assert_stated(&found, "DXT-C034", &json!({"file": "/data/records", "calls": 100}));
    assert_says(opens, &["1.00 ms", "4.95 ms"]);
    // One open, one query and the header once: 99 x (1 + 1 + 4) ms.
    assert_saves_ms(opens, 590.0..=596.0);
    // Every second time another part comes first: the last but one open counts as well.
    let found =
        opened_again(100, |open| if open % 2 == 0 { vec![0, 4096, record(open)] } else { vec![8192, record(open)] });
    assert_saves_ms(assert_stated(&found, "DXT-C034", &json!({})), 485.0..=495.0);
    // Records only, each once.
    assert_eq!(saves_ms(&opened_again(100, |open| vec![record(open)]), "DXT-C034"), Some(198));
}

#[test]
fn a_file_that_is_read_as_a_whole_after_each_open_should_stay_in_memory() {
    let found = opened_again(100, |_| (0..16).map(|block| block * 4096).collect());
    assert_saves_ms(assert_stated(&found, "DXT-C024", &json!({})), 3100.0..=3200.0);
    assert_eq!(saves_ms(&found, "DXT-C034"), Some(198), "{}", brief(&found));
}

#[test]
fn a_program_that_is_started_for_each_item_is_named() {
    // Each process looks at an index, and reads a record of its own of one file; or it only reads a file of its own.
    let run_of = |started: u64, apart_ms: u64, same: bool, parent_ms: Option<u64>| {
        let one = |number: u64| {
            let mut one = process(-1, "n");
            (one.process.info.pid, one.process.info.ppid) = (100 + number as u32, 99);
            one.process.info.exe = "/usr/bin/lookup".into();
            one.process.info.epoch_unix_ns += (number * apart_ms * MS) as i64;
            if same {
                let at = use_once(&mut one, "/data/index", &[0, 4096], MS);
                use_once(&mut one, "/data/records", &[number * 4096], at);
            } else {
                use_once(&mut one, &format!("/data/{number}"), &[0], MS);
            }
            (one, 19)
        };
        let parent = parent_ms.map(|ms| (process(-1, "n"), ms));
        report_of((0..started).map(one).chain(parent).collect(), 0)
    };
    let run = |started: u64, apart_ms: u64, same: bool| run_of(started, apart_ms, same, None);
    let found = run(60, 20, true);
    let started = assert_stated(&found, "DXT-V039", &json!({"processes": 60}));
    assert_says(started, &["lookup", "60 times", "the same 2 files"]);
    // Two opens, two queries and the index: 59 x 8 ms. That they read the same bytes is no finding beside it.
    assert_eq!(saves_ms(&found, "DXT-C025"), None, "{}", brief(&found));
    // 59 x 10 ms to start, of which 472 ms are in opens and other calls.
    assert_saves_ms(started, 585.0..=595.0);
    assert_eq!(saves_ms(&run(60, 20, false), "DXT-V039"), None);
    assert_eq!(saves_ms(&run(20, 20, true), "DXT-V039"), None, "few");
    for parent_ms in [None, Some(2000)] {
        let workers = run_of(60, 0, true, parent_ms);
        assert_eq!(saves_ms(&workers, "DXT-V039"), None, "workers at the same time");
        assert_found(&workers, "DXT-C025", &json!({"file": "/data/index"}));
    }
}
