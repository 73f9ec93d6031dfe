//! Benchmark of the cost of a segment: bytes on disk, and ns to encode and to decode, for segments of real calls.
//!
//! The segments are `pwrite` calls that this program makes on a file in memory, with clock readings before and after each call, as in a
//! tracer; gaps and durations therefore have realistic noise. Prints medians and minima over several repetitions and asserts nothing,
//! because a measurement is not a test. Run by `scripts/bench.sh size`.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use trace_format::columns::TickScale;
use trace_format::frame::FILE_HEADER_BYTES;
use trace_format::meta::{Job, Process};
use trace_format::read::{Decoder, Trace};
use trace_format::write::{self, Encoder, ThreadSegments};
use trace_format::{Segment, StreamId};

/// Number of writes per access pattern, unless `--segments` is given.
const SEGMENTS: usize = 1_000_000;
/// Number of timed repetitions of encoding and decoding, unless `--runs` is given.
const RUNS: usize = 9;
/// File size at which the offsets of the writes wrap around to 0, in bytes.
const FILE_BYTES: u64 = 256 << 20;

/// Access pattern of the benchmark's writes. `place` maps the number of a write and a random number to the file offset.
struct Pattern {
    name: &'static str,
    length: usize,
    place: fn(u64, u64) -> u64,
}

const PATTERNS: [Pattern; 4] = [
    Pattern { name: "regular, 1 byte", length: 1, place: |i, _| i },
    Pattern { name: "regular, 4 KiB", length: 4096, place: |i, _| i * 4096 % FILE_BYTES },
    Pattern { name: "random, 1 byte", length: 1, place: |_, random| random % FILE_BYTES },
    Pattern { name: "random, 4 KiB", length: 4096, place: |_, random| random % (FILE_BYTES / 4096) * 4096 },
];

fn main() -> std::io::Result<()> {
    let mut options = std::env::args().skip(1).filter(|option| option != "--bench");
    let (mut segments, mut runs, mut only) = (SEGMENTS, RUNS, String::new());
    while let Some(option) = options.next() {
        let value = options.next().unwrap_or_default();
        let number = || value.parse().map_err(|_| std::io::Error::other(format!("{option} needs a number")));
        match option.as_str() {
            "--segments" => segments = number()?,
            "--runs" => runs = number()?.max(1),
            "--only" => only = value,
            other => return Err(std::io::Error::other(format!("unknown option {other}"))),
        }
    }
    println!("{segments} segments of real pwrite calls per pattern; ns per segment: median (least) of {runs} runs");
    println!("{:<16} {:>14} {:>16} {:>16}", "pattern", "bytes/segment", "encode ns", "decode ns");
    for pattern in PATTERNS.iter().filter(|pattern| pattern.name.starts_with(&only)) {
        let recorded = record(pattern, segments)?;
        let (bytes, encode, decode) = measure(&recorded, runs);
        println!("{:<16} {bytes:>14.2} {encode:>16} {decode:>16}", pattern.name);
    }
    Ok(())
}

/// Makes `count` writes with the access pattern `pattern` and returns one segment per write, timed as in the tracer.
fn record(pattern: &Pattern, count: usize) -> std::io::Result<Vec<Segment>> {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let path = directory.join(format!("dxt-bench-size.{}", std::process::id()));
    let file = File::create(&path)?;
    std::fs::remove_file(&path)?;
    let data = vec![7_u8; pattern.length];
    let (clock, mut state) = (Instant::now(), 0x9e37_79b9_7f4a_7c15_u64);
    let now = || clock.elapsed().as_nanos() as u64;
    let mut segments = Vec::with_capacity(count);
    for i in 0..count as u64 {
        // xorshift64: G. Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let offset = (pattern.place)(i, state >> 11);
        let start = now();
        let wrote = file.write_at(&data, offset)?;
        let end = now();
        segments.push(Segment::new(StreamId(3), offset as i64, wrote as u64, start, end.max(1)));
    }
    Ok(segments)
}

/// Returns the number of bytes per segment, and the ns per segment for encoding and for decoding.
fn measure(segments: &[Segment], runs: usize) -> (f64, String, String) {
    let failed = "bytes in memory cannot fail";
    let mut encoder = Encoder::new().expect(failed);
    // Ticks are scaled as in a tracer; the factor is slightly below one.
    let scale = TickScale { base: 0, mult: (1 << 52) - 12345 };
    let (mut encode, mut decode, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut trace_bytes = Vec::new();
    for _ in 0..runs {
        let threads = [ThreadSegments { thread: 0, pieces: vec![segments.into()] }];
        let clock = Instant::now();
        let region = encoder.region(0, &mut Process::default(), &threads, &scale).expect(failed);
        encode.push(clock.elapsed().as_nanos() as f64 / segments.len() as f64);
        bytes = region.bytes.len();
        trace_bytes = write::file(&mut encoder, &Job::default(), vec![region]).expect(failed);
    }
    assert!(trace_bytes.len() > FILE_HEADER_BYTES + bytes);
    let trace = Trace::open(trace_bytes.as_slice()).expect(failed);
    let region = trace.region(&trace.regions[0]);
    let mut decoder = Decoder::default();
    for _ in 0..runs {
        let clock = Instant::now();
        for block in &region.blocks {
            black_box(decoder.block(trace.source(), block).expect(failed));
        }
        decode.push(clock.elapsed().as_nanos() as f64 / segments.len() as f64);
    }
    (bytes as f64 / segments.len() as f64, median_and_least(encode), median_and_least(decode))
}

fn median_and_least(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", values[values.len() / 2], values[0])
}
