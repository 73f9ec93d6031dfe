//! Tests with logs that no tool happened to write: other compressions, partial modules in either byte order, future modules.

use crate::repack::{Header, repacked};
use crate::samples::{self, Sample};
use darshan_log::dxt::SegmentKind;
use darshan_log::header::Compression;
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use darshan_log::{Api, Error, Log, Module, SkipReason};
use std::io::Cursor;

fn sample(name: &str) -> Sample {
    samples::own().into_iter().find(|sample| sample.name() == name).expect("in the repository")
}

/// Returns the output lines of both Darshan tools, without lines about compression and lengths of regions.
fn rows(log: &[u8]) -> Vec<String> {
    let mut log = Log::from_bytes(log).expect("a log");
    let mut text = Vec::new();
    dxt_parser(&mut log, &mut text, DxtLayout::Main).expect("writing to memory");
    darshan_parser(&mut log, &mut text).expect("writing to memory");
    assert!(log.problems().is_empty(), "{:?}", log.problems());
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .filter(|line| !line.contains("(compressed)") && !line.contains("compression method"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn compression_makes_no_difference() {
    let mut logs = 0;
    for sample in samples::own() {
        let bytes = sample.bytes();
        for compression in [Compression::Zlib, Compression::Bzip2, Compression::None] {
            let Some(other) = repacked(&bytes, compression) else { continue };
            assert!(rows(&other) == rows(&bytes), "{} {compression:?}", sample.name());
            logs += 1;
        }
    }
    assert_eq!(logs, 18, "three of each but the one that is refused");
}

#[test]
fn partial_modules_are_reported_in_either_byte_order() {
    // The module index of DXT_POSIX is 8 in the older log and 10 in the newer log.
    for (name, place) in [("ppc64-3.1.5-bigendian", 8), ("gen-mpi8-rt3.5.0", 10)] {
        let mut bytes = sample(name).bytes();
        let mut header = Header::of(&bytes).expect("a log");
        header.set_partial(place);
        bytes[..header.bytes.len()].copy_from_slice(&header.bytes);
        let mut log = Log::from_bytes(&bytes).expect("a log");
        let partial: Vec<_> = log.partial().map(|entry| entry.module).collect();
        assert_eq!(partial, [Some(Module::DxtPosix)], "{name}");
        let mut text = Vec::new();
        dxt_parser(&mut log, &mut text, DxtLayout::Main).expect("writing to memory");
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.matches("The DXT_POSIX module contains incomplete data!").count(), 1, "{name}");
        assert_eq!(text.matches("incomplete").count(), 1, "{name}");
    }
}

#[test]
fn modules_of_the_future_are_named_and_cost_nothing_else() {
    let mut bytes = sample("gen-mpi8-rt3.5.0").bytes();
    let before = rows(&bytes);
    let mut header = Header::of(&bytes).expect("a log");
    // MPI-IO gets a newer version, and the heat maps become an unknown module.
    header.set_u32(header.version_at(2), 9);
    let heatmap = header.region(header.map_at(15));
    for (place, region) in [(15, darshan_log::header::Region::default()), (40, heatmap)] {
        header.set_u64(header.map_at(place), region.offset);
        header.set_u64(header.map_at(place) + 8, region.length);
    }
    bytes[..header.bytes.len()].copy_from_slice(&header.bytes);
    let mut log = Log::from_bytes(&bytes).expect("a log");
    let skipped: Vec<_> = log.skipped().iter().map(|skipped| (skipped.place, skipped.module, skipped.reason)).collect();
    assert_eq!(skipped, [(2, Some(Module::MpiIo), SkipReason::Version), (40, None, SkipReason::Unknown)]);
    assert!(log.counters(Module::MpiIo).is_none() && log.counters(Module::MpiIo).is_none() && log.heatmaps().is_none());
    let [problem] = log.problems() else { panic!("{:?}", log.problems()) };
    let reported = matches!(problem.error, Error::ModuleVersion { module: Module::MpiIo, found: 9, supported: 3 });
    assert!(reported, "{}", problem.error);
    let posix = log.counters(Module::Posix).expect("POSIX").count();
    assert_eq!(posix * 86, before.iter().filter(|row| row.starts_with("POSIX\t")).count());
}

#[test]
fn segments_of_96_bytes_are_found_out_also_in_a_damaged_log() {
    let sample = sample("synth-extrainfo-b");
    let bytes = repacked(&sample.bytes(), Compression::None).expect("zlib");
    let region = Log::new(Cursor::new(&bytes)).expect("a log").header().module(Module::DxtPosix).expect("DXT").region;
    for cut in [100, 3_000] {
        let short = &bytes[..(region.end() - cut) as usize];
        let mut log = Log::new(Cursor::new(short)).expect("a log");
        let mut dxt = log.dxt(Api::Posix).expect("segments");
        assert_eq!(dxt.kind(), SegmentKind::ThreadText, "{cut} bytes are missing");
        while dxt.next_record().is_some() {
            while let Some(piece) = dxt.next_piece() {
                assert!(piece.segments.iter().all(|segment| segment.thread.is_some()));
            }
        }
    }
}
