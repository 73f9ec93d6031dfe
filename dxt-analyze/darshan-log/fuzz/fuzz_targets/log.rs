//! Any bytes as the region of any module, uncompressed so that mutations reach the records; and as a whole log.
#![no_main]

use darshan_log::header::{HEADER_BYTES, MAGIC};
use darshan_log::text::{DxtLayout, darshan_parser, dxt_parser};
use darshan_log::Log;
use libfuzzer_sys::fuzz_target;

fn read(bytes: &[u8]) {
    let Ok(mut log) = Log::from_bytes(bytes) else { return };
    for layout in [DxtLayout::Release3_5, DxtLayout::Main] {
        dxt_parser(&mut log, &mut std::io::sink(), layout).expect("a sink takes all");
    }
    darshan_parser(&mut log, &mut std::io::sink()).expect("a sink takes all");
}

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (place, version, bytes) = input;
    read(bytes);
    let place = usize::from(place % 64);
    let mut log = vec![0; HEADER_BYTES];
    log[..4].copy_from_slice(b"3.41");
    log[8..16].copy_from_slice(&MAGIC.to_le_bytes());
    log[16] = 2;
    // Half of it are names, half records.
    let half = bytes.len() / 2;
    for (at, offset, length) in [(32, 0, half), (48 + 16 * place, half, bytes.len() - half)] {
        log[at..at + 8].copy_from_slice(&((HEADER_BYTES + offset) as u64).to_le_bytes());
        log[at + 8..at + 16].copy_from_slice(&(length as u64).to_le_bytes());
    }
    log[1072 + 4 * place..][..4].copy_from_slice(&u32::from(version % 5).to_le_bytes());
    log.extend_from_slice(bytes);
    read(&log);
});
