//! Tests with truncated and modified logs: reading returns a result or one clear error, and never panics or loops endlessly.

use crate::repack::repacked;
use crate::samples::{self, Sample};
use darshan_log::header::Compression;
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use darshan_log::{Api, Error, Log, Module};
use std::io::Cursor;

/// Maximum size, in bytes, of logs for which a test reads every possible truncation.
const SMALL_BYTES: usize = 30_000;
const MUTATIONS: u64 = 1000;

/// Numbers of segments and problems found in a log.
struct Outcome {
    segments: u64,
    problems: usize,
}

fn read(bytes: &[u8]) -> Result<Outcome, Error> {
    let mut log = Log::new(Cursor::new(bytes))?;
    let mut segments = 0;
    for api in [Api::Posix, Api::MpiIo] {
        let Some(mut dxt) = log.dxt(api) else { continue };
        while dxt.next_record().is_some() {
            while let Some(piece) = dxt.next_piece() {
                segments += piece.segments.len() as u64;
            }
        }
    }
    for place in 0..64 {
        let Some(module) = Module::at(place) else { break };
        log.counters(module).into_iter().flatten().for_each(drop);
    }
    log.lustre().into_iter().flatten().for_each(drop);
    log.heatmaps().into_iter().flatten().for_each(drop);
    for problem in log.problems() {
        assert!(!problem.error.to_string().is_empty());
        assert!(problem.offset <= bytes.len() as u64 || matches!(problem.error, Error::Truncated { .. }));
    }
    Ok(Outcome { segments, problems: log.problems().len() })
}

fn print(bytes: &[u8]) {
    let Ok(mut log) = Log::new(Cursor::new(bytes)) else { return };
    for layout in [DxtLayout::Release3_5, DxtLayout::Main] {
        dxt_parser(&mut log, &mut std::io::sink(), layout).expect("a sink takes all");
    }
    darshan_parser(&mut log, &mut std::io::sink()).expect("a sink takes all");
}

fn small() -> impl Iterator<Item = (Sample, Vec<u8>)> {
    let with_bytes = |sample: Sample| {
        let bytes = sample.bytes();
        (sample, bytes)
    };
    samples::all().into_iter().map(with_bytes).filter(|(_, bytes)| bytes.len() <= SMALL_BYTES)
}

#[test]
fn every_truncation_gives_what_precedes_it() {
    for (sample, bytes) in small() {
        let Ok(whole) = read(&bytes) else { continue };
        let mut before = 0;
        for length in 0..bytes.len() {
            match read(&bytes[..length]) {
                Ok(outcome) => {
                    assert!(outcome.problems > 0, "{} cut at {length} has no problem", sample.name());
                    assert!(outcome.segments >= before, "{} cut at {length} has less than shorter ones", sample.name());
                    before = outcome.segments;
                }
                Err(Error::Truncated { .. } | Error::NotALog { .. }) => assert!(length < 1328, "{}", sample.name()),
                Err(error) => panic!("{} cut at {length}: {error}", sample.name()),
            }
            if length % 97 == 0 {
                print(&bytes[..length]);
            }
        }
        assert!(before <= whole.segments, "{}", sample.name());
    }
}

/// Marsaglia's xorshift random number generator, which yields equal numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_thousand_changes_of_each_log_are_no_panic() {
    for (_, bytes) in small() {
        for seed in 1..=MUTATIONS {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut changed = bytes.clone();
            for _ in 0..=random.below(4) {
                // Half of the changes are in the header, which has no checksum.
                let within = if random.below(2) == 0 { 1328.min(bytes.len()) } else { bytes.len() } as u64;
                let at = random.below(within) as usize;
                changed[at] = random.below(256) as u8;
            }
            if read(&changed).is_ok() && seed % 5 == 0 {
                print(&changed);
            }
        }
    }
}

/// Reads `mutations` modified copies of a log, which must neither panic nor loop endlessly.
pub(crate) fn change(log: &[u8], mutations: u64) {
    for seed in 1..=mutations {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut changed = log.to_vec();
        for _ in 0..=random.below(8) {
            let at = random.below(log.len() as u64) as usize;
            changed[at] = [0, 0xff, 0x7f, 0x80, random.below(256) as u8][random.below(5) as usize];
        }
        if read(&changed).is_ok() && seed % 5 == 0 {
            print(&changed);
        }
    }
}

#[test]
fn changes_within_unpacked_records_are_no_panic() {
    let mut logs = 0;
    for (sample, bytes) in small() {
        let Some(plain) = repacked(&bytes, Compression::None) else { continue };
        let (whole, packed) = (read(&plain).expect("a log"), read(&bytes).expect("a log"));
        assert_eq!((whole.segments, whole.problems), (packed.segments, 0), "{}", sample.name());
        logs += 1;
        change(&plain, MUTATIONS);
    }
    assert!(logs >= 6, "{logs}");
}

#[test]
fn damage_costs_only_what_is_behind_it_in_its_region() {
    let samples = samples::own();
    let sample = samples.iter().find(|sample| sample.name() == "gen-mpi8-rt3.5.0").expect("in the repository");
    let mut bytes = sample.bytes();
    let whole = read(&bytes).expect("a log");
    let region = Log::new(Cursor::new(&bytes)).expect("a log").header().module(Module::DxtPosix).expect("DXT").region;
    let middle = (region.offset + region.length / 2) as usize;
    bytes[middle..middle + 64].fill(0xff);
    let damaged = read(&bytes).expect("a log");
    assert_eq!(damaged.problems, 1);
    assert!(damaged.segments < whole.segments && damaged.segments > whole.segments / 2, "{}", damaged.segments);
}
