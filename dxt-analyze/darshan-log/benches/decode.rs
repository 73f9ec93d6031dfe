//! Benchmark: segments decoded from a log per second (`cargo bench -p darshan-log -- LOG [RUNS]`), and the speed of decompression alone,
//! which decoding cannot exceed. Asserts nothing, because a measurement is not a test.

use darshan_log::text::{DxtLayout, dxt_parser};
use darshan_log::{Api, Log};
use std::hint::black_box;
use std::io::{Cursor, Read};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = std::env::args().skip(1).filter(|option| option != "--bench");
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/darshan/synth-pfl-a.darshan");
    let path = options.next().unwrap_or_else(|| own.into());
    let runs: usize = options.next().map_or(Ok(9), |runs| runs.parse())?;
    let bytes = std::fs::read(&path)?;
    let segments = decode(&bytes)?;
    println!("{path}: {} bytes, {segments} segments; medians of {runs} runs", bytes.len());
    let report = |name: &str, time: Duration| {
        let seconds = time.as_secs_f64();
        println!("{name:<22} {:>10.3} ms {:>12.0} segments/s", seconds * 1e3, segments as f64 / seconds);
    };
    report("decompression alone", median(runs, || inflate(&bytes))?);
    report("decoding", median(runs, || decode(&bytes))?);
    report("darshan-dxt-parser text", median(runs, || print(&bytes))?);
    Ok(())
}

fn median<T>(
    runs: usize,
    mut run: impl FnMut() -> Result<T, Box<dyn std::error::Error>>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let begin = Instant::now();
        black_box(run()?);
        times.push(begin.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

fn decode(bytes: &[u8]) -> Result<u64, Box<dyn std::error::Error>> {
    let mut log = Log::from_bytes(bytes)?;
    let mut segments = 0;
    for api in [Api::Posix, Api::MpiIo] {
        let Some(mut dxt) = log.dxt(api) else { continue };
        while dxt.next_record().is_some() {
            while let Some(piece) = dxt.next_piece() {
                segments += black_box(piece.segments).len() as u64;
            }
        }
    }
    Ok(segments)
}

fn print(bytes: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    Ok(dxt_parser(&mut Log::from_bytes(bytes)?, &mut std::io::sink(), DxtLayout::Release3_5)?)
}

/// Decompresses both DXT regions with flate2's own reader; returns the number of bytes, or 0 for logs that are not compressed with zlib.
fn inflate(bytes: &[u8]) -> Result<u64, Box<dyn std::error::Error>> {
    let log = Log::new(Cursor::new(bytes))?;
    let mut total = 0;
    for api in [darshan_log::Module::DxtPosix, darshan_log::Module::DxtMpiIo] {
        let Some(entry) = log.header().module(api) else { continue };
        let mut rest = &bytes[entry.region.offset as usize..entry.region.end() as usize];
        let mut out = vec![0; 64 << 10];
        while !rest.is_empty() {
            let mut stream = flate2::bufread::ZlibDecoder::new(rest);
            while let Ok(count @ 1..) = stream.read(&mut out) {
                total += count as u64;
            }
            let left = stream.into_inner();
            if left.len() == rest.len() {
                break;
            }
            rest = left;
        }
    }
    Ok(total)
}
