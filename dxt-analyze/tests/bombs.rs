//! Tests of decompression bombs: small files that unpack to much data. Reading and analyzing any log or trace takes at most 512 MiB, as
//! enforced by the allocator. The analyzer reports the data that it omits.
#![expect(clippy::unwrap_used, reason = "tests end where something fails")]

#[path = "../../trace-format/tests/common/spool.rs"]
mod spool;

use cap::Cap;
use darshan_log::Module;
use darshan_log::packed::compression;
use dxt_analyze::load::{Source, load};
use dxt_analyze::tools::check::{FileState, check_sources};
use dxt_analyze::tools::recover::recover;
use dxt_analyze::topics::checks::view::checks_of;
use dxt_analyze::topics::layers::{Options, view::layers_of};
use dxt_analyze::topics::outliers::args::By;
use dxt_analyze::topics::outliers::view::outliers_of;
use dxt_analyze::topics::summary::view::summary_of;
use dxt_analyze::topics::timeline::view::timeline_of;
use dxt_analyze::topics::{checks, outliers};
use std::alloc::System;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);
/// Lock that serializes the tests: they share the process's allocator.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const BOUND: usize = 512 << 20;

fn bounded<T>(run: impl FnOnce() -> T) -> T {
    within(BOUND, run)
}

fn within<T>(bound: usize, run: impl FnOnce() -> T) -> T {
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + bound).unwrap();
    let result = run();
    ALLOCATOR.set_limit(usize::MAX).unwrap();
    result
}

/// Writes a Darshan log of format 3.41 for a job on `ranks` ranks. Its only module's records are written by `fill`, in one zlib stream.
fn log(path: &Path, ranks: i64, place: usize, version: u32, fill: impl FnOnce(&mut dyn Write)) {
    log_of_size(path, ranks, place, version, 8 << 20, fill);
}

/// Writes a log as [`log`] does, and asserts that the file is smaller than `most` bytes.
fn log_of_size(path: &Path, ranks: i64, place: usize, version: u32, most: usize, fill: impl FnOnce(&mut dyn Write)) {
    let zlib = |fill: &mut dyn FnMut(&mut dyn Write)| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        fill(&mut encoder);
        encoder.finish().unwrap()
    };
    let mut fill = Some(fill);
    let job = zlib(&mut |out| {
        for field in [1000_i64, 1_700_000_000, 0, 1_700_000_060, 0, ranks, 7] {
            out.write_all(&field.to_le_bytes()).unwrap();
        }
        out.write_all(&[0; 1024]).unwrap();
        out.write_all(b"/opt/app\n\0").unwrap();
    });
    let region = zlib(&mut |out| fill.take().unwrap()(out));
    let mut bytes = vec![0; 1328];
    bytes[..4].copy_from_slice(b"3.41");
    bytes[8..16].copy_from_slice(&6_567_223_u64.to_le_bytes());
    let map = 32 + 16 * (place + 1);
    bytes[map..map + 8].copy_from_slice(&((1328 + job.len()) as u64).to_le_bytes());
    bytes[map + 8..map + 16].copy_from_slice(&(region.len() as u64).to_le_bytes());
    bytes[1072 + 4 * place..][..4].copy_from_slice(&version.to_le_bytes());
    bytes.extend(job);
    bytes.extend(region);
    assert!(bytes.len() < most, "{} bytes are no bomb", bytes.len());
    std::fs::write(path, bytes).unwrap();
}

fn put(out: &mut dyn Write, numbers: &[i64]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    out.write_all(&bytes).unwrap();
}

/// Returns a function that writes `count` POSIX records, each for a file of its own.
fn posix(count: i64, rank: impl Fn(i64) -> i64) -> impl FnOnce(&mut dyn Write) {
    move |out| {
        let mut record = vec![3_i64; 2 + 69 + 17];
        record[71..].fill(1.0_f64.to_bits().cast_signed());
        // Counters that name a rank get 0, which exists in every job. Otherwise the records would be rejected as invalid.
        for (name, value) in darshan_log::counters::int_names(Module::Posix).iter().zip(&mut record[2..]) {
            if name.ends_with("_RANK") {
                *value = 0;
            }
        }
        for number in 0..count {
            (record[0], record[1]) = (number + 1, rank(number));
            put(out, &record);
        }
    }
}

/// Returns a function that writes `count` heat maps, each with the maximum number of time bins that the reader accepts.
fn heat(count: i64, rank: impl Fn(i64) -> i64) -> impl FnOnce(&mut dyn Write) {
    move |out| {
        let bins = vec![1_i64; 2 << 16];
        let id = darshan_log::record_id(b"heatmap:POSIX").cast_signed();
        for number in 0..count {
            put(out, &[id, rank(number), 0.001_f64.to_bits().cast_signed(), 1 << 16, 0, 0]);
            put(out, &bins);
        }
    }
}

/// Returns a function that writes one DXT record with `writes` writes, each by a different thread.
fn threads(writes: i64) -> impl FnOnce(&mut dyn Write) {
    move |out| {
        put(out, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, writes, 0]);
        for number in 0..writes {
            put(out, &[0, 1, 0, 1.0_f64.to_bits().cast_signed(), number]);
        }
    }
}

/// Returns a function that writes `count` DXT records, each for a file of its own with one write.
fn files(count: i64) -> impl FnOnce(&mut dyn Write) {
    move |out| {
        for number in 0..count {
            put(out, &[number + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
            put(out, &[0, 1, 0, 1.0_f64.to_bits().cast_signed()]);
        }
    }
}

/// Runs all analyses of a report on a log. Returns the number of problems, and true if the data are complete.
fn analyze(path: &Path) -> (u64, bool) {
    let source = || vec![Source::Path(path.to_owned())];
    let run = load(source(), None).unwrap();
    let summary = summary_of(&run, 10, true);
    outliers_of(&run, &outliers::Options { by: By::Rank, ..outliers::Options::default() }).unwrap();
    let _ = checks_of(&run, &checks::Options::default());
    let _ = layers_of(&run, &Options::default());
    let _ = timeline_of(&run, 100);
    // Records may be omitted for lack of memory only.
    let damaged = summary.missing.problems.iter().find(|problem| problem.what.contains("implausible"));
    assert_eq!(damaged, None, "the log is not as it was meant");
    drop(run);
    let check = check_sources(source());
    assert_eq!(check[0].state == FileState::Complete, summary.missing.complete, "check and report disagree");
    (summary.missing.problem_count, summary.missing.complete)
}

#[test]
fn bombs_of_every_module_are_read_within_the_bound() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.darshan"));
    let same = |_| 0;
    log(&path("files of a rank"), 1, 1, 4, posix(200_000, same));
    log(&path("files of all ranks"), 4, 1, 4, posix(200_000, |_| -1));
    log(&path("files of many ranks"), 200_000, 1, 4, posix(200_000, |number| number));
    log(&path("ranks that come back"), 2, 1, 4, posix(200_000, |number| number % 2));
    log(&path("heat of a rank"), 1, 15, 1, heat(500, same));
    log(&path("heat of many ranks"), 500, 15, 1, heat(500, |number| number));
    log(&path("threads"), 1, 10, 2, threads(2_200_000));
    log(&path("files with a write"), 1, 10, 1, files(1 << 20));
    let mut logs: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    assert_eq!(logs.len(), 8);
    for path in &logs {
        let (problems, complete) = bounded(|| analyze(path));
        // Threads are merged, and nothing is omitted.
        let whole = path.ends_with("threads.darshan");
        assert_eq!((problems == 0, complete), (whole, whole), "{}", path.display());
    }
}

#[test]
fn a_log_of_usual_size_is_complete() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("usual.darshan");
    log(&path, 4096, 1, 4, posix(4096 * 6, |number| number / 6));
    assert_eq!(bounded(|| analyze(&path)), (0, true));
}

#[test]
fn a_compressed_table_is_no_log() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        let bytes = out.finish().unwrap();
        assert_eq!(compression(&bytes), Some("gzip"));
        std::fs::write(&path, bytes).unwrap();
        let error = load(vec![Source::Path(path)], None).unwrap_err();
        format!("{error:#}")
    };
    let table = said("table.csv.gz", b"rank,file\n0,/a\n");
    assert!(!table.contains("Darshan") && table.contains("compressed by gzip"), "{table}");
    // A file whose name ends like a log's is reported as a damaged log.
    let named = said("table.darshan", b"rank,file\n0,/a\n");
    assert!(named.contains("not a Darshan log") && named.contains("compressed by gzip"), "{named}");
    assert!(!named.contains("DXT trace"), "{named}");
    let mut old = b"2.04\0\0\0\0".to_vec();
    old.extend(6_567_223_u64.to_le_bytes());
    for name in ["old.darshan.gz", "old.gz"] {
        let old = said(name, &old);
        assert!(old.contains("Darshan 2.x"), "{old}");
    }
    old[..4].copy_from_slice(b"3.41");
    let packed = said("new.gz", &old);
    assert!(packed.contains("decompress it first"), "{packed}");
}

/// Returns a function that writes records that all differ, as measured ones do: the log exceeds 8 MiB, and reading it may take more memory.
fn measured(count: i64, rank: impl Fn(i64) -> i64) -> impl FnOnce(&mut dyn Write) {
    move |out| {
        let names = darshan_log::counters::int_names(Module::Posix);
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for number in 0..count {
            let mut record = vec![0_i64; 2 + 69 + 17];
            (record[0], record[1]) = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()), rank(number));
            for (name, value) in names.iter().zip(&mut record[2..]) {
                if ["POSIX_OPENS", "POSIX_READS", "POSIX_WRITES"].contains(name) || name.contains("_COUNT") {
                    *value = 1 + (random() % 1000) as i64;
                } else if name.starts_with("POSIX_BYTES") || name.ends_with("_ACCESS") || name.ends_with("_STRIDE") {
                    *value = (random() % 1_000_000) as i64;
                }
            }
            for value in &mut record[71..] {
                *value = (random() as f64 / f64::from(1 << 30)).to_bits().cast_signed();
            }
            put(out, &record);
        }
    }
}

#[test]
fn a_large_log_that_was_measured_is_complete() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.darshan");
    // One rank, and many: small logs are limited to some 25,000 records of a rank and 100,000 in total.
    for (ranks, count) in [(1, 60_000), (500, 120_000)] {
        log_of_size(&path, ranks, 1, 4, usize::MAX, measured(count, |number| number * ranks / count));
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length > 12 << 20, "{length}");
        let run = load(vec![Source::Path(path.clone())], None).unwrap();
        assert_eq!((&run.health.problems, run.files.len() as i64), (&Vec::new(), count), "{ranks}");
    }
}

/// Records of unknown Darshan modules are reported as skipped, and the other modules are still read.
#[test]
fn modules_that_are_not_known_are_passed_over_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (place, version, name) in [(12, 1, "MDHIM"), (40, 1, "module 40")] {
        let path = folder.path().join("other.darshan");
        log(&path, 4, place, version, |out| put(out, &[7; 600]));
        let run = load(vec![Source::Path(path)], None).unwrap();
        let notes: Vec<&str> = run.notes.iter().map(|(note, _)| note.words()).collect();
        assert!(notes.iter().any(|what| what.contains(name) && what.contains("are skipped")), "{notes:?}");
        assert!(run.health.problems.is_empty(), "{:?}", run.health.problems);
    }
}

/// A spill file (segments moved out of memory by the tracer) may be far larger than this machine's memory.
#[test]
fn a_spill_is_never_in_memory_as_a_whole() {
    use trace_format::columns::TickScale;
    use trace_format::segment::{Segment, StreamId};
    use trace_format::spool::block;
    const SEGMENTS: u64 = 2000;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dxt-0-1-1-0.spool");
    std::fs::write(&path, spool::spool(&[])).unwrap();
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let at_random = |number: u64| {
        let (offset, length) = (random().cast_signed() << 9, random() % 1_000_000);
        Segment::new(StreamId(1), offset, length, number * 1000, number * 1000 + random() % 1000)
    };
    let segments: Vec<Segment> = (1..=SEGMENTS).map(at_random).collect();
    let mut packed = vec![0; block::HEADER_BYTES];
    let mut encoder = trace_format::write::Encoder::new().unwrap();
    encoder.block(0, 0, &segments, &TickScale::IDENTITY, &mut packed).unwrap();
    let length = (packed.len() - block::HEADER_BYTES) as u32;
    packed[block::BYTES..][..4].copy_from_slice(&length.to_le_bytes());
    packed[block::MULT..][..8].copy_from_slice(&TickScale::IDENTITY.mult.to_le_bytes());
    packed.resize(packed.len().next_multiple_of(8), 0);
    let blocks = (128 << 20) / packed.len() as u64;
    let mut spill = std::io::BufWriter::new(std::fs::File::create(folder.path().join("dxt-0-1-1.spill")).unwrap());
    for sequence in 0..blocks {
        packed[block::SEQUENCE..][..4].copy_from_slice(&(sequence as u32).to_le_bytes());
        spill.write_all(&packed).unwrap();
    }
    spill.into_inner().unwrap().sync_all().unwrap();
    drop((segments, packed));
    let output = folder.path().join("out.dxt");
    let recovery = within(16 << 20, || recover(&[path], &output, false, false).unwrap());
    assert_eq!((recovery.failed, recovery.spools[0].segments), (Vec::<String>::new(), blocks * SEGMENTS));
    assert!(std::fs::metadata(&output).unwrap().len() > 100 << 20);
    assert_eq!(check_sources(vec![Source::Path(output)])[0].state, FileState::Complete);
}
