//! Comparison of this crate's text output with the output of Darshan's own tools.

use crate::samples::Sample;
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use darshan_log::{Error, Log, Module};

fn dxt_text(sample: &Sample, layout: DxtLayout) -> Vec<u8> {
    let mut log = Log::open(&sample.path).expect("a log");
    let mut out = Vec::new();
    dxt_parser(&mut log, &mut out, layout).expect("writing to memory");
    assert!(log.problems().is_empty(), "{}: {:?}", sample.name(), log.problems());
    out
}

/// Panics at the first line of `ours` (this crate's output for the log `name`) that differs from `golden` (the output of Darshan's tool).
fn same(name: &str, ours: &[u8], golden: &[u8]) {
    if ours == golden {
        return;
    }
    let (mut ours, mut golden) = (ours.split(|&b| b == b'\n'), golden.split(|&b| b == b'\n'));
    for line in 1.. {
        let (ours, golden) = (ours.next(), golden.next());
        let text = |line: Option<&[u8]>| line.map(|line| String::from_utf8_lossy(line).into_owned());
        assert_eq!(text(ours), text(golden), "{name}, line {line}");
    }
}

/// True if Darshan's tool with output layout `layout` cannot read the log `name`, so that the tool's stored output ends in the middle.
fn tool_fails(name: &str, layout: DxtLayout) -> bool {
    match name {
        // Segments of 96 bytes, which no version of the tool reads.
        "synth-extrainfo-b" => true,
        // Module versions that no release reads.
        "gen-threads-rtmain" => layout == DxtLayout::Release3_5,
        _ => false,
    }
}

#[test]
fn dxt_text_is_that_of_darshan_dxt_parser_byte_for_byte() {
    for sample in crate::samples::all() {
        for (layout, kind) in [(DxtLayout::Release3_5, "dxt.txt"), (DxtLayout::Main, "dxt-main.txt")] {
            let Some(golden) = sample.golden(kind) else {
                assert_eq!(sample.name(), "v2.3.1-ppc64", "only this log is refused");
                continue;
            };
            let name = format!("{} {kind}", sample.name());
            let ours = dxt_text(&sample, layout);
            if tool_fails(&sample.name(), layout) {
                let preamble = golden.windows(6).position(|window| window == b"\n# ***").expect("a banner");
                assert!(ours.starts_with(&golden[..preamble]), "{name}: the preamble differs");
            } else {
                same(&name, &ours, &golden);
            }
        }
    }
}

/// Floating-point counters of POSIX version 3 that Darshan's tools lose. The tools leave the first three in the log's byte order and print
/// the others as 0.
const LOST: [&str; 5] = [
    "POSIX_F_META_TIME",
    "POSIX_F_MAX_READ_TIME",
    "POSIX_F_MAX_WRITE_TIME",
    "POSIX_F_VARIANCE_RANK_TIME",
    "POSIX_F_VARIANCE_RANK_BYTES",
];
/// Name of the only log with POSIX records of version 3.
const VERSION_3: &str = "ppc64-3.1.5-bigendian";

fn counter(row: &[u8]) -> &str {
    let name = row.split(|&byte| byte == b'\t').nth(3).unwrap_or_default();
    std::str::from_utf8(name).unwrap_or_default()
}

#[test]
fn rows_are_those_of_darshan_parser() {
    for sample in crate::samples::all() {
        let Some(golden) = sample.golden("parser.txt") else { continue };
        let mut log = Log::open(&sample.path).expect("a log");
        let mut ours = Vec::new();
        darshan_parser(&mut log, &mut ours).expect("writing to memory");
        assert!(log.problems().is_empty(), "{}: {:?}", sample.name(), log.problems());
        let lost: &[&str] = if sample.name() == VERSION_3 { &LOST } else { &[] };
        let row = |row: &&[u8]| {
            let comment = row.is_empty() || row.starts_with(b"#");
            !comment && !lost.contains(&counter(row))
        };
        let mut ours = ours.split(|&b| b == b'\n').filter(row);
        let mut golden = golden.split(|&b| b == b'\n').filter(row);
        for number in 1.. {
            let (ours, golden) = (ours.next(), golden.next());
            let text = |line: Option<&[u8]>| line.map(|line| String::from_utf8_lossy(line).into_owned());
            if ours != golden {
                assert_eq!(text(ours), text(golden), "{}, row {number}", sample.name());
            }
            if ours.is_none() {
                break;
            }
        }
    }
}

#[test]
fn counters_that_darshans_tools_lose_are_read() {
    let samples = crate::samples::own();
    let sample = samples.iter().find(|sample| sample.name() == VERSION_3).expect("in the repository");
    let golden = String::from_utf8(sample.golden("parser.txt").expect("a golden file")).expect("ASCII");
    let printed = |name: &str| {
        let row = golden.lines().find(|row| counter(row.as_bytes()) == name).expect("a row");
        row.split('\t').nth(4).expect("a value").to_owned()
    };
    let mut log = Log::open(&sample.path).expect("a log");
    let record = log.counters(Module::Posix).expect("POSIX").next().expect("a record");
    for name in LOST {
        let value = record.float(Module::Posix, name).expect("a counter");
        let swapped = f64::from_bits(value.to_bits().swap_bytes());
        let shown = if name.contains("VARIANCE") { 0.0 } else { swapped };
        assert_eq!(format!("{shown:.6}"), printed(name), "{name}");
        assert!((0.0..1.0).contains(&value), "{name} of a run of one second is {value}");
    }
}

#[test]
fn logs_of_darshan_2_are_refused() {
    let samples = crate::samples::own();
    let old = samples.iter().find(|sample| sample.name() == "v2.3.1-ppc64").expect("in the repository");
    assert!(matches!(Log::open(&old.path), Err(Error::Darshan2 { compression: "gzip" })));
}
