//! Tests of damaged and truncated traces: readable parts are analyzed, problems are reported, and no command panics.

use crate::common::{job, json, process, put, run, small, stdout, trace};
use dxt_analyze::load::{Source, load};
use dxt_analyze::tools::check::{FileState, check_sources};
use dxt_analyze::tools::dump::DumpFormat;
use dxt_analyze::tools::dump::dump_run;
use dxt_analyze::topics::checks::view::checks_of;
use dxt_analyze::topics::compare::view::compare_of;
use dxt_analyze::topics::counters::view::counters_of;
use dxt_analyze::topics::layers::{Options, view::layers_of};
use dxt_analyze::topics::outliers::view::outliers_of;
use dxt_analyze::topics::stripes::view::stripes_of;
use dxt_analyze::topics::summary::view::summary_of;
use dxt_analyze::topics::{checks, outliers, stripes};

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
/// Runs every command on a file with content `bytes`; any exit code is accepted, but no panic.
fn everything(bytes: &[u8]) {
    let source = || vec![Source::Memory("t.dxt".into(), bytes.to_vec())];
    let checks = check_sources(source());
    assert_eq!(checks.len(), 1);
    let Ok(run) = load(source(), None) else { return };
    let summary = summary_of(&run, 10, true);
    let in_dump = dump_run(&run, DumpFormat::Csv, false, &[], &mut Vec::new()).unwrap();
    assert_eq!(in_dump.segments, summary.missing.lost_segments - run.health.lost_segments);
    outliers_of(&run, &outliers::Options::default()).unwrap();
    stripes_of(&run, &stripes::Options::default()).unwrap();
    assert_eq!(
        layers_of(&run, &Options::default()).unwrap().result.missing.lost_segments,
        summary.missing.lost_segments
    );
    assert_eq!(counters_of(&run, 10).missing.lost_segments, summary.missing.lost_segments);
    assert_eq!(checks_of(&run, &checks::Options::default()).result.checks.len(), 39);
    let same = compare_of(&run, &run, 5).result.findings;
    assert!(same.iter().all(|finding| finding.code.name().starts_with("DXT-T")), "{same:?}");
}

fn small_bytes() -> Vec<u8> {
    let (job, processes) = small();
    trace(&job, processes.into_iter().take(2).collect())
}

#[test]
fn every_flipped_byte_gives_a_result_or_an_error() {
    let whole = small_bytes();
    for at in 0..whole.len() {
        let mut bad = whole.clone();
        bad[at] ^= 1 << (at % 8);
        everything(&bad);
        bad[at] = !whole[at];
        let checks = check_sources(vec![Source::Memory("t.dxt".into(), bad)]);
        assert_ne!(checks[0].state, FileState::Complete, "byte {at} is wrong and check does not see it");
    }
}

#[test]
fn every_cut_gives_a_result_or_an_error() {
    let whole = small_bytes();
    for length in 0..whole.len() {
        everything(&whole[..length]);
        let checks = check_sources(vec![Source::Memory("t.dxt".into(), whole[..length].to_vec())]);
        assert_ne!(checks[0].state, FileState::Complete, "cut at {length}");
        assert_ne!(checks[0].state, FileState::Damaged, "cut at {length}: {:?}", checks[0].problems);
    }
}

#[test]
fn a_lost_block_costs_its_segments_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    for i in 0..100_000_u64 {
        one.write("/a", (i * 4096) as i64, 4096, i * 1000 + 1, i * 1000 + 500 + i % 7);
    }
    let mut bytes = trace(&job("k", 0), vec![one]);
    // The last block's payload ends before index and trailer.
    let at = bytes.len() - 64 - 32 - 10;
    bytes[at] ^= 0x40;
    let path = put(folder.path(), "a.dxt", &bytes);
    let found = json(&["summary", "--format", "json", &path], 3);
    let (read, lost) = (found["segments"].as_u64().unwrap(), found["lost_segments"].as_u64().unwrap());
    assert_eq!(read + lost, 100_000);
    assert!(lost > 0 && lost <= 65_536, "{lost}");
    assert_eq!(found["bytes_written"], read * 4096);
    assert_eq!(found["findings"][0]["code"], "DXT-T001");
    let dumped = stdout(&["dump", "--format", "csv", &path], 3).lines().count() as u64;
    assert_eq!(dumped, read + 1);
    let check = run(&["check", &path]);
    let text = String::from_utf8(check.stdout).unwrap();
    assert_eq!(check.status.code(), Some(3));
    assert!(text.contains("damaged") && text.contains("at byte"), "{text}");
}
