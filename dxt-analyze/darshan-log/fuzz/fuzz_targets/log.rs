//! Fuzz target: any bytes as a whole log and as the region of any module. The region is either uncompressed, so that mutations reach the
//! records, or repeated and compressed, so that few bytes become many. The allocator enforces a memory limit, whatever the bytes state or
//! decompress to.
#![no_main]

use cap::Cap;
use darshan_log::Log;
use darshan_log::header::{HEADER_BYTES, MAGIC};
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use libfuzzer_sys::fuzz_target;
use std::alloc::System;
use std::io::Write;

/// Allocator with a memory limit in bytes that suffices for names and layouts, which are held in memory, and for buffers.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 320 << 20);

/// Size to which the input is repeated before compression, in bytes: thousands of times the length of a decompression bomb, but readable
/// within a second.
const REPEATED_BYTES: usize = 1 << 20;

fn read(bytes: &[u8]) {
    let Ok(mut log) = Log::from_bytes(bytes) else { return };
    for layout in [DxtLayout::Release3_5, DxtLayout::Main] {
        dxt_parser(&mut log, &mut std::io::sink(), layout).expect("a sink takes all");
    }
    darshan_parser(&mut log, &mut std::io::sink()).expect("a sink takes all");
}

/// Returns (compression type, bytes): one zlib stream (0) or bzip2 stream (1), or the bytes unchanged (2), as chosen by `how`. Most values
/// of `how` leave the bytes unchanged, because compression takes time.
fn packed(how: u8, bytes: &[u8]) -> (u8, Vec<u8>) {
    let repeated = || bytes.iter().copied().cycle().take(REPEATED_BYTES).collect::<Vec<u8>>();
    match how % 32 {
        30 if !bytes.is_empty() => {
            let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(&repeated()).expect("writing to memory");
            (0, out.finish().expect("writing to memory"))
        }
        31 if !bytes.is_empty() => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(&repeated()).expect("writing to memory");
            (1, out.finish().expect("writing to memory"))
        }
        _ => (2, bytes.to_vec()),
    }
}

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (place, version, bytes) = input;
    read(bytes);
    let place = usize::from(place % 64);
    // The first half of the bytes is used as names, the second half as records.
    let (names, records) = bytes.split_at(bytes.len() / 2);
    let how = version / 8;
    let (compression, names) = packed(how, names);
    let (_, records) = packed(how, records);
    let mut log = vec![0; HEADER_BYTES];
    log[..4].copy_from_slice(b"3.41");
    log[8..16].copy_from_slice(&MAGIC.to_le_bytes());
    log[16] = compression;
    for (at, offset, length) in [(32, 0, names.len()), (48 + 16 * place, names.len(), records.len())] {
        log[at..at + 8].copy_from_slice(&((HEADER_BYTES + offset) as u64).to_le_bytes());
        log[at + 8..at + 16].copy_from_slice(&(length as u64).to_le_bytes());
    }
    log[1072 + 4 * place..][..4].copy_from_slice(&u32::from(version % 8).to_le_bytes());
    log.extend(names);
    log.extend(records);
    read(&log);
});
