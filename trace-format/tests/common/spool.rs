//! Spool (recordings of a process) built by hand: a file, a stream, and full chunks of segments. Shared by test programs, including the analyzer's.

use trace_format::meta::{FileDef, StreamDef};
use trace_format::segment::{Segment, StreamId};
use trace_format::spool::{HEADER_BYTES, MAGIC, PART_BYTES, Part, VERSION, chunk, header, journal};

/// Size of the whole spool, in bytes.
const BYTES: usize = 64 << 10;
/// Size of each chunk, in bytes.
const CHUNK: usize = 4096;
/// File offset of the region of chunks, which follows header and journal.
const ARENA: usize = 2 * HEADER_BYTES;

/// Builds a spool of process 1 with chunks of one thread. `chunks` are pairs (sequence number, end times of the segments); each segment
/// begins 5 ticks before its end.
pub(crate) fn spool(chunks: &[(u32, Vec<u64>)]) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    let mut put = |at: usize, some: &[u8]| bytes[at..at + some.len()].copy_from_slice(some);
    put(header::MAGIC, &MAGIC.to_le_bytes());
    put(header::VERSION, &VERSION.to_le_bytes());
    put(header::PID, &1_u32.to_le_bytes());
    let mut records = Vec::new();
    let mut record = |kind: u32, payload: &[u8]| {
        records.extend_from_slice(&journal::record_header(kind, payload));
        records.extend_from_slice(payload);
        records.resize(records.len().next_multiple_of(8), 0);
    };
    record(journal::kind::FILE, &[&journal::file(0, &FileDef::default())[..], b"/scratch/a"].concat());
    record(journal::kind::STREAM, &journal::stream(&StreamDef { id: 1, file: 0, op: 0, flags: 0, errno: 0 }));
    put(HEADER_BYTES, &records);
    let parts = [
        (Part::Journal, [HEADER_BYTES, ARENA - HEADER_BYTES, records.len()]),
        (Part::Arena, [ARENA, BYTES - ARENA, chunks.len() * CHUNK]),
    ];
    for (part, place) in parts {
        for (i, value) in place.into_iter().enumerate() {
            put(header::PARTS + part as usize * PART_BYTES + i * 8, &(value as u64).to_le_bytes());
        }
    }
    for (number, (sequence, ends)) in chunks.iter().enumerate() {
        let at = ARENA + number * CHUNK;
        put(at + chunk::MAGIC, &chunk::MAGIC_VALUE.to_le_bytes());
        put(at + chunk::BYTES, &(CHUNK as u32).to_le_bytes());
        put(at + chunk::STATE, &chunk::FULL.to_le_bytes());
        put(at + chunk::SEQUENCE, &sequence.to_le_bytes());
        for (slot, &end) in ends.iter().enumerate() {
            let segment = [0, Segment::new(StreamId(1), 0, 5, 0, 0).word, end - 5, end].map(u64::to_le_bytes).concat();
            put(at + chunk::HEADER_BYTES + slot * size_of::<Segment>(), &segment);
        }
    }
    bytes
}
