//! Tests with logs of modified builds of Darshan: longer records with official versions, zero bytes before regions, unknown layouts.

use crate::damage;
use crate::repack::{Header, pack, unpack};
use crate::samples::{self, skip_here};
use darshan_log::counters::{SIZE_NAMES, int_names};
use darshan_log::header::{Compression, Region};
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use darshan_log::{CounterRecord, Endian, Error, Log, Module};
use std::io::Cursor;
use std::path::Path;

/// Appends `extra` to the head of each record, which must have the official size; returns `None` for a module with unknown records.
fn longer(module: Module, version: u32, endian: Endian, bytes: &[u8], extra: &[u8]) -> Option<Vec<u8>> {
    let number = |bytes: &[u8], at: usize| {
        let field = bytes[at..at + 8].try_into().expect("8 bytes");
        if endian == Endian::Big { u64::from_be_bytes(field) } else { u64::from_le_bytes(field) }
    };
    let sizes: &[usize] = match module {
        Module::Posix => &[680, 648, 664, 704],
        Module::MpiIo => &[544, 544, 560],
        Module::Stdio => &[240, 248],
        Module::H5F => &[40, 56, 80],
        Module::H5D => &[904, 912],
        Module::PnetcdfFile => &[48, 64, 152],
        Module::PnetcdfVar => &[1120],
        Module::BgQ => &[120, 112],
        Module::Dfs => &[584],
        Module::Daos => &[696],
        Module::Lustre => &[56, 32],
        Module::DxtPosix | Module::DxtMpiIo => &[104; 3],
        Module::Heatmap => &[48],
        _ => return None,
    };
    let head = sizes[version as usize - 1];
    let segment = match (module, version) {
        (Module::DxtPosix, 2) | (Module::DxtMpiIo, 3) => 40,
        _ => 32,
    };
    let (mut out, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let body = match (module, version) {
            (Module::Lustre, 1) => 8 * number(rest, 48),
            (Module::Lustre, _) => 72 * number(rest, 16) + 8 * number(rest, 24),
            (Module::DxtPosix | Module::DxtMpiIo, _) => segment * (number(rest, 88) + number(rest, 96)),
            (Module::Heatmap, _) => 16 * number(rest, 24),
            _ => 0,
        };
        let (record, behind) = rest.split_at(head + body as usize);
        out.extend_from_slice(&record[..head]);
        out.extend_from_slice(extra);
        out.extend_from_slice(&record[head..]);
        rest = behind;
    }
    Some(out)
}

/// Returns a copy of `log` with `extra` in every record and `padding` zero bytes before every region; `None` if `log` is not a log.
pub(crate) fn modified(log: &[u8], extra: &[u8], padding: usize) -> Option<Vec<u8>> {
    let mut header = Header::of(log)?;
    let opened = Log::new(Cursor::new(log)).ok()?;
    let info = opened.header().clone();
    let padded = |bytes: &[u8]| [vec![0; padding], pack(bytes, Compression::Zlib)].concat();
    let mut body = padded(&unpack(log, info.job)?);
    header.bytes[16] = 0;
    let places = (0..header.places()).map(|place| header.map_at(place));
    for at in std::iter::once(header.names_at()).chain(places).collect::<Vec<_>>() {
        let region = header.region(at);
        if region.length == 0 {
            continue;
        }
        let mut bytes = unpack(log, region)?;
        let entry = info.modules.iter().find(|entry| at != header.names_at() && entry.region == region);
        if let Some(module) = entry.and_then(|entry| entry.module) {
            let version = entry.map_or(1, |entry| entry.version);
            bytes = longer(module, version, info.endian, &bytes, extra).unwrap_or(bytes);
        }
        let bytes = padded(&bytes);
        header.set_u64(at, (header.bytes.len() + body.len()) as u64);
        header.set_u64(at + 8, bytes.len() as u64);
        body.extend_from_slice(&bytes);
    }
    header.bytes.extend_from_slice(&body);
    Some(header.bytes)
}

/// Returns the output lines of both Darshan tools, without lines that state lengths of regions.
fn rows(log: &[u8]) -> Vec<String> {
    let mut log = Log::from_bytes(log).expect("a log");
    let mut text = Vec::new();
    dxt_parser(&mut log, &mut text, DxtLayout::Main).expect("writing to memory");
    darshan_parser(&mut log, &mut text).expect("writing to memory");
    assert!(log.problems().is_empty(), "{:?}", log.problems());
    let text = String::from_utf8_lossy(&text);
    text.lines().filter(|line| !line.contains("compress")).map(str::to_owned).collect()
}

#[test]
fn longer_records_read_as_the_official_ones() {
    let mut logs = 0;
    for sample in samples::all() {
        let bytes = sample.bytes();
        // Unofficial segments of 96 bytes are tested in `variants.rs`.
        if Header::of(&bytes).is_none_or(|header| header.bytes[16] != 0)
            || bytes.len() > 1 << 20
            || sample.name().contains("extrainfo")
        {
            continue;
        }
        let official = rows(&bytes);
        for (extra, fill, padding) in [(8, 0, 0), (16, 0, 8192), (24, 0x3f, 0), (40, 0, 1), (16, 0xff, 0), (0, 0, 4096)]
        {
            let log = modified(&bytes, &vec![fill; extra], padding).expect("a log");
            assert!(rows(&log) == official, "{} with {extra} bytes more of {fill:#x}", sample.name());
            let mut log = Log::from_bytes(log).expect("a log");
            let found = log.unofficial();
            assert_eq!(found.is_empty(), extra == 0, "{}", sample.name());
            for (module, fit) in found {
                let fit = fit.unwrap_or_else(|| panic!("{} {module} is unknown", sample.name()));
                assert_eq!((fit.extra, fit.counts_segments), (extra, false), "{} {module}", sample.name());
            }
            assert_eq!(log.info().padding.len() > 1, padding > 0);
            logs += 1;
        }
    }
    assert!(logs >= 5 * 6, "{logs}");
}

#[test]
fn official_logs_have_nothing_unofficial() {
    for sample in samples::all() {
        let Ok(mut log) = Log::from_bytes(sample.bytes()) else { continue };
        assert_eq!(log.unofficial(), [], "{}", sample.name());
        assert!(log.info().padding.is_empty() && log.problems().is_empty());
    }
}

#[test]
fn an_unknown_layout_is_said_and_nothing_is_read_of_it() {
    let sample =
        samples::own().into_iter().find(|sample| sample.name() == "gen-mpi8-rt3.5.0").expect("in the repository");
    let bytes = sample.bytes();
    let whole = Log::from_bytes(&bytes).expect("a log").counters(Module::Posix).expect("POSIX").count();
    assert!(whole > 2);
    // Numbers of extra bytes that cannot be detected: not a multiple of 8, or above the maximum.
    for extra in [4, 2000] {
        let log = modified(&bytes, &vec![0; extra], 0).expect("a log");
        let mut log = Log::from_bytes(log).expect("a log");
        assert!(log.unofficial().contains(&(Module::Posix, None)), "{extra} {whole} {:?}", log.unofficial());
        assert!(log.counters(Module::Posix).is_none() && log.counters(Module::Posix).is_none());
        let reported = log.problems().iter().filter(|problem| {
            matches!(problem.error, Error::UnknownLayout { module: Module::Posix, .. })
                && problem.error.to_string().starts_with("unknown record layout")
        });
        assert_eq!(reported.count(), 1);
    }
}

#[test]
fn changes_of_longer_records_are_no_panic() {
    for sample in samples::own().into_iter().filter(|sample| !sample.name().contains("extrainfo")) {
        let Some(log) = modified(&sample.bytes(), &[0; 16], 100) else { continue };
        if let Some(plain) = crate::repack::repacked(&log, Compression::None) {
            damage::change(&plain, 200);
        }
        damage::change(&log, 200);
    }
}

/// Bounds of the access-size bins, in bytes: (from, to).
const BINS: [(u64, u64); 10] = [
    (0, 100),
    (100, 1 << 10),
    (1 << 10, 10 << 10),
    (10 << 10, 100 << 10),
    (100 << 10, 1 << 20),
    (1 << 20, 4 << 20),
    (4 << 20, 10 << 20),
    (10 << 20, 100 << 20),
    (100 << 20, 1 << 30),
    (1 << 30, 1 << 40),
];

/// Asserts that a record's byte counters agree with its access-size histogram, and its times with the run time.
fn plausible(module: Module, record: &CounterRecord, run_s: f64, ranks: i64) {
    let prefix = if module == Module::MpiIo { "MPIIO" } else { "POSIX" };
    let agg = if module == Module::MpiIo { "_AGG" } else { "" };
    for (what, done) in [("READ", "READ"), ("WRITE", "WRITTEN")] {
        let int = |name: &str| record.int(module, &format!("{prefix}_{name}")).expect(name);
        let bytes = int(&format!("BYTES_{done}"));
        let (mut low, mut high) = (0, 0);
        for (size, (from, to)) in SIZE_NAMES.iter().zip(BINS) {
            let count = u64::try_from(int(&format!("SIZE_{what}{agg}_{size}"))).expect("a count");
            (low, high) = (low + count * from, high + count * to);
        }
        assert!((low..=high).contains(&(bytes as u64)), "{bytes} of {low} to {high}");
        let time = record.float(module, &format!("{prefix}_F_{what}_TIME")).expect("a time");
        assert!((0.0..=run_s * ranks as f64 * 1.01).contains(&time), "{time} s of a run of {run_s} s on {ranks}");
    }
    assert!(record.rank >= -1 && record.rank < ranks && int_names(module).len() == record.ints.len());
}

#[test]
fn logs_of_others_read_with_names_and_plausible_counters() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/labels/modified-darshan");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return skip_here("logs of modified builds: ../shared/labels is not there");
    };
    let mut logs = 0;
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut log = Log::open(&path).expect("a log");
        let info = log.info();
        assert!(info.job.nprocs >= 1 && info.job.run_time > 0.0 && !info.job.exe.as_bytes().is_empty(), "{name}");
        assert!(log.unofficial().iter().all(|(_, fit)| fit.is_some_and(|fit| fit.extra == 16)), "{name}");
        let names = |ids: &[u64]| ids.iter().filter(|id| info.names.get(**id).is_some()).count();
        for module in [Module::Posix, Module::MpiIo] {
            let records: Vec<CounterRecord> = log.counters(module).into_iter().flatten().collect();
            records.iter().for_each(|record| plausible(module, record, info.job.run_time, info.job.nprocs));
            let ids: Vec<u64> = records.iter().map(|record| record.id).collect();
            // Darshan limits the number of names: some records in the logs of mdtest and mdworkbench have no name.
            assert!(
                names(&ids) * 10 >= ids.len() * if name.starts_with("md") { 7 } else { 10 },
                "{name}: {} of {}",
                names(&ids),
                ids.len()
            );
        }
        if let Some(mut dxt) = log.dxt(darshan_log::Api::Posix) {
            while let Some(record) = dxt.next_record() {
                assert!((0..info.job.nprocs).contains(&record.rank), "{name}");
                while let Some(piece) = dxt.next_piece() {
                    let run = info.job.run_time + 1.0;
                    let sound = piece.segments.iter().all(|one| one.length >= 0 && one.start >= 0.0 && one.end <= run);
                    assert!(sound, "{name}: {:?}", piece.segments);
                }
            }
        }
        assert!(log.problems().is_empty(), "{name}: {:?}", log.problems());
        logs += 1;
    }
    assert_eq!(logs, 32);
}

#[test]
fn a_region_of_zeros_is_damage() {
    let sample =
        samples::own().into_iter().find(|sample| sample.name() == "gen-mpi8-rt3.5.0").expect("in the repository");
    let mut bytes = sample.bytes();
    let Region { offset, length } =
        Log::from_bytes(&bytes).expect("a log").header().module(Module::Posix).expect("POSIX").region;
    bytes[offset as usize..(offset + length) as usize].fill(0);
    let mut log = Log::from_bytes(&bytes).expect("a log");
    assert!(log.info().padding.is_empty());
    assert_eq!(log.counters(Module::Posix).into_iter().flatten().count(), 0);
    assert!(!log.problems().is_empty());
}
