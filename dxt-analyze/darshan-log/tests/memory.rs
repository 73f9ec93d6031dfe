//! Tests that memory does not grow with a log, whatever the log contains or states: the allocator enforces a fixed limit.

use cap::Cap;
use darshan_log::text::{DxtLayout, dxt_parser};
use darshan_log::write::{DxtVersion, Error, Writer};
use darshan_log::{Api, DxtRecord, Job, Log, Module, Mount, Segment, record_id};
use std::alloc::System;
use std::io::{Cursor, Write};
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);
/// Lock that serializes the tests, which share the allocator.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Memory limit in bytes: twice the total size of a reader's or writer's buffers.
const BOUND: usize = 2 << 20;

/// Memory limit in bytes for reading bzip2 logs, because bzip2 needs tables and a block of 900,000 bytes.
const BZIP2_BOUND: usize = 8 << 20;

/// Calls `run` with a limit of [`BOUND`] bytes above the memory allocated now. An allocation above the limit ends the process and reports its size.
fn bounded<T>(run: impl FnOnce() -> T) -> T {
    bounded_by(BOUND, run)
}

fn bounded_by<T>(most: usize, run: impl FnOnce() -> T) -> T {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + most).expect("more than is held");
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).expect("more than is held");
    result
}

const NAME: &[u8] = b"/data/x";

fn segments(count: u64) -> impl Iterator<Item = Segment> {
    (0..count).map(|number| Segment {
        offset: (number * 4096).cast_signed(),
        length: 4096,
        start: number as f64 / 64.0,
        end: number as f64 / 64.0 + 0.01,
        thread: None,
    })
}

#[test]
fn a_log_of_a_million_segments_is_written_and_read_in_small_buffers() {
    const SEGMENTS: u64 = 1_000_000;
    let _alone = ONE_AT_A_TIME.lock();
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut job = Job::default();
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let result = bounded(|| {
        let mut writer = Writer::new(file.reopen()?, &job, &mounts, [NAME])?;
        writer.dxt(Api::Posix, DxtVersion::Plain, |dxt| {
            let head = DxtRecord {
                id: record_id(NAME),
                rank: 0,
                hostname: "node1".into(),
                write_count: SEGMENTS,
                read_count: 0,
            };
            dxt.record(&head)?;
            segments(SEGMENTS).try_for_each(|segment| dxt.segments(&[segment]))
        })?;
        writer.finish()?;
        Ok::<(), Error>(())
    });
    result.expect("a log");
    let count = bounded(|| {
        let mut log = Log::open(file.path()).expect("a log");
        let mut dxt = log.dxt(Api::Posix).expect("segments");
        let (mut wanted, mut count) = (segments(SEGMENTS), 0);
        assert!(dxt.next_record().is_some());
        while let Some(piece) = dxt.next_piece() {
            assert!(piece.segments.iter().copied().eq(wanted.by_ref().take(piece.segments.len())));
            count += piece.segments.len() as u64;
        }
        assert!(log.problems().is_empty());
        count
    });
    assert_eq!(count, SEGMENTS);
}

/// Builds a log with one region, uncompressed or as one zlib stream; `place` is the region's index.
fn log(place: usize, version: u32, region: &[u8], zlib: bool) -> Vec<u8> {
    if zlib {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(region).expect("writing to memory");
        packed_log(place, version, 0, &encoder.finish().expect("writing to memory"))
    } else {
        packed_log(place, version, 2, region)
    }
}

/// Builds a log with one region whose bytes are already compressed.
fn packed_log(place: usize, version: u32, compression: u8, region: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 1328];
    bytes[..4].copy_from_slice(b"3.41");
    bytes[8..16].copy_from_slice(&6_567_223u64.to_le_bytes());
    bytes[16] = compression;
    let map = 32 + 16 * place;
    bytes[map..map + 8].copy_from_slice(&1328u64.to_le_bytes());
    bytes[map + 8..map + 16].copy_from_slice(&(region.len() as u64).to_le_bytes());
    if let Some(module) = place.checked_sub(1) {
        bytes[1072 + 4 * module..][..4].copy_from_slice(&version.to_le_bytes());
    }
    bytes.extend_from_slice(region);
    bytes
}

/// Output that only counts the bytes written to it; the count is a measure of work.
struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn work_is_in_proportion_to_the_length_of_a_log_whatever_it_unpacks_to() {
    let _alone = ONE_AT_A_TIME.lock();
    // bzip2 compresses 45 MB of zeros to 60 bytes, so that concatenated streams in a file of megabytes decompress to terabytes.
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    (0..45).for_each(|_| encoder.write_all(&vec![0; 1 << 20]).expect("writing to memory"));
    let stream = encoder.finish().expect("writing to memory");
    let region = stream.repeat(5_000 / stream.len());
    let most = darshan_log::limits::unpacked(region.len() as u64);
    assert!((region.len() / stream.len()) as u64 * (45 << 20) > most * 10, "{} bytes are no bomb", region.len());
    // (Region index, version, lower bound of a record's size in bytes) of names, POSIX, MPI-IO, Lustre, STDIO, DXT and heat maps.
    for (place, version, least) in
        [(0, 0, 9), (2, 4, 600), (3, 3, 500), (9, 2, 32), (10, 2, 100), (11, 1, 104), (16, 1, 48)]
    {
        let bytes = packed_log(place, version, 1, &region);
        let (records, problems) = bounded_by(BZIP2_BOUND, || count(&bytes));
        // One decompression step may exceed the limit on decompressed bytes.
        assert!(records * least <= most + (128 << 10), "place {place}: {records} records");
        assert!(problems.iter().all(|problem| problem.contains("unpacked length")), "place {place}: {problems:?}");
        assert!(!problems.is_empty(), "place {place}");
    }
}

/// Returns the number of records in all modules, and the messages of all problems.
fn count(bytes: &[u8]) -> (u64, Vec<String>) {
    let mut log = Log::new(Cursor::new(bytes)).expect("a log");
    let mut records = 0;
    for api in [Api::Posix, Api::MpiIo] {
        let Some(mut dxt) = log.dxt(api) else { continue };
        while dxt.next_record().is_some() {
            records += 1;
        }
    }
    for module in [Module::Posix, Module::MpiIo, Module::Stdio] {
        records += log.counters(module).into_iter().flatten().count() as u64;
    }
    records += log.lustre().into_iter().flatten().count() as u64;
    records += log.heatmaps().into_iter().flatten().count() as u64;
    (records, log.problems().iter().map(|problem| problem.error.to_string()).collect())
}

#[test]
fn names_and_layouts_that_are_kept_are_counted_with_what_they_cost() {
    let _alone = ONE_AT_A_TIME.lock();
    // In memory, a name of one byte takes a hundred bytes.
    let names: Vec<u8> = (1..1_500_000_u64).flat_map(|id| [id.to_le_bytes().as_slice(), b"x\0"].concat()).collect();
    let bytes = log(0, 0, &names, true);
    drop(names);
    let kept = bounded_by(160 << 20, || Log::new(Cursor::new(&bytes)).expect("a log").names().len());
    assert!((900_000..1_100_000).contains(&kept), "{kept}");
    // Stripe layouts without components. The log also has segments, so that the layouts are held in memory.
    let layouts: Vec<u8> = (1..1_500_000_u64).flat_map(|id| [id, 0, 0, 0]).flat_map(u64::to_le_bytes).collect();
    let mut bytes = log(9, 2, &layouts, true);
    let end = bytes.len() as u64;
    let map = 32 + 16 * 11;
    bytes[map..map + 8].copy_from_slice(&(end - 1).to_le_bytes());
    bytes[map + 8..map + 16].copy_from_slice(&1u64.to_le_bytes());
    bytes[1072 + 4 * 10..][..4].copy_from_slice(&1u32.to_le_bytes());
    drop(layouts);
    bounded_by(160 << 20, || {
        let mut log = Log::new(Cursor::new(&bytes)).expect("a log");
        let mut out = Counting(0);
        dxt_parser(&mut log, &mut out, DxtLayout::Main).expect("it takes all");
        assert!(out.0 < 1 << 16, "{}", out.0);
    });
}

/// Reads and prints the whole log; returns the number of problems found.
fn read(bytes: &[u8]) -> usize {
    let mut log = Log::new(Cursor::new(bytes)).expect("a log");
    for api in [Api::Posix, Api::MpiIo] {
        let Some(mut dxt) = log.dxt(api) else { continue };
        while dxt.next_record().is_some() {
            while dxt.next_piece().is_some() {}
        }
    }
    for module in [Module::Posix, Module::MpiIo, Module::Stdio] {
        log.counters(module).into_iter().flatten().for_each(drop);
    }
    log.lustre().into_iter().flatten().for_each(drop);
    log.heatmaps().into_iter().flatten().for_each(drop);
    let problems = log.problems().len();
    dxt_parser(&mut log, &mut std::io::sink(), DxtLayout::Release3_5).expect("a sink takes all");
    problems
}

#[test]
fn lengths_that_are_only_claimed_cost_nothing() {
    let _alone = ONE_AT_A_TIME.lock();
    let numbers = |numbers: &[i64]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_le_bytes()).collect() };
    let dxt = |writes: i64, reads: i64| numbers(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, writes, reads]);
    // Region 0 contains the names; other regions have the module's index in the header plus one.
    let claims = [
        ("DXT segments within the limit", 11, dxt(1 << 40, 1 << 40)),
        ("DXT segments beyond it", 11, dxt(i64::MAX, i64::MAX)),
        ("fewer than no DXT segments", 12, dxt(-1, 4)),
        ("Lustre stripes within the limit", 9, numbers(&[1, 0, 0, 1 << 20])),
        ("Lustre stripes beyond it", 9, numbers(&[1, 0, 0, i64::MAX])),
        ("Lustre components", 9, numbers(&[1, 0, 1 << 12, 0])),
        ("Lustre components beyond the limit", 9, numbers(&[1, 0, i64::MAX, 0])),
        ("bins of a heat map", 16, numbers(&[1, 0, 0, 1 << 16, 0, 0])),
        ("bins of a heat map beyond the limit", 16, numbers(&[1, 0, 0, i64::MIN, 0, 0])),
        ("a name without an end", 0, numbers(&[1, -1, -1])),
    ];
    for (what, place, region) in claims {
        let bytes = log(place, 2, &region, false);
        let bytes = if place == 16 { log(place, 1, &region, false) } else { bytes };
        assert_eq!(bounded(|| read(&bytes)), 1, "{what}");
    }
}

#[test]
fn what_unpacks_to_much_is_not_held() {
    const UNPACKED_BYTES: usize = 64 << 20;
    let _alone = ONE_AT_A_TIME.lock();
    // Empty names; a name without an end; DXT records without segments; counters without a file; empty layouts; empty heat maps.
    for (place, byte, version) in [(0, 0, 0), (0, b'x', 0), (11, 0, 1), (2, 0, 4), (9, 0, 2), (16, 0, 1)] {
        let bytes = log(place, version, &vec![byte; UNPACKED_BYTES], true);
        bounded(|| read(&bytes));
    }
}
