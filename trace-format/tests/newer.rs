//! Tests of forward compatibility: additions of a newer writer (`FORMAT.md`, "How the format changes") do not prevent reading the rest.

mod common;
#[path = "common/sample.rs"]
mod sample;

use common::{file, read, regions};
use sample::{job, ranks};
use trace_format::frame::{FRAME_HEADER_BYTES, FileHeader, FrameHeader, codec, crc, kind};
use trace_format::meta::Job;
use trace_format::op::{Layer, OpClass, OpMode};
use trace_format::write::Encoder;

/// Builds a frame with an uncompressed payload.
fn stored(kind: u8, region: u32, raw: &[u8]) -> Vec<u8> {
    let (length, payload_crc) = (raw.len() as u32, crc(raw));
    let header = FrameHeader { kind, codec: codec::STORED, region, stored: length, raw: length, payload_crc };
    [&header.encode(), raw].concat()
}

fn section(tag: u16, bytes: &[u8]) -> Vec<u8> {
    [&tag.to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

#[test]
fn a_newer_minor_version_is_read() {
    let mut bytes = file(&job(), &mut ranks());
    let before = read(&bytes).unwrap();
    let header = FileHeader::decode(&bytes).unwrap();
    bytes[..64].copy_from_slice(&FileHeader { minor: 7, ..header }.encode());
    assert_eq!(read(&bytes).unwrap(), before);
}

#[test]
fn unknown_frames_are_passed_over_with_and_without_an_index() {
    let (mut all, mut encoder) = (ranks(), Encoder::new().unwrap());
    let mut encoded = regions(&mut encoder, &mut all);
    for region in &mut encoded {
        let process_frame = FrameHeader::decode(&region.bytes, 0).unwrap().frame_bytes() as usize;
        let unknown = stored(99, 12345, b"what a later version may say");
        let (first, rest) = region.bytes.split_at(process_frame);
        region.bytes = [&unknown, first, &unknown, rest, &unknown].concat();
        region.entry.length = region.bytes.len() as u64;
    }
    let bytes = trace_format::write::file(&mut encoder, &job(), encoded).unwrap();
    for bytes in [&bytes[..], &bytes[..bytes.len() - 1]] {
        let seen = read(bytes).unwrap();
        assert_eq!(seen.regions.len(), 2);
        for (region, rank) in seen.regions.iter().zip(&all) {
            assert_eq!((region.process.as_ref(), region.lost), (Some(&rank.process), Some(0)));
        }
    }
}

#[test]
fn unknown_sections_and_bytes_after_known_values_are_ignored() {
    let (mut all, mut encoder) = (ranks(), Encoder::new().unwrap());
    let mut encoded = regions(&mut encoder, &mut all);
    for (number, (region, rank)) in encoded.iter_mut().zip(&all).enumerate() {
        let process_frame = FrameHeader::decode(&region.bytes, 0).unwrap().frame_bytes() as usize;
        let block = [section(999, b"?"), rank.process.encode(), section(65535, &[0; 1000])].concat();
        region.bytes = [&stored(kind::PROCESS, number as u32, &block), &region.bytes[process_frame..]].concat();
        region.entry.length = region.bytes.len() as u64;
    }
    let bytes = trace_format::write::file(&mut encoder, &job(), encoded).unwrap();
    let seen = read(&bytes).unwrap();
    assert_eq!(seen.problems, 0);
    assert!(seen.regions.iter().zip(&all).all(|(region, rank)| region.process.as_ref() == Some(&rank.process)));

    let threads_and_more = section(2, &[1, 5, 6, 77, 78]);
    let process = trace_format::meta::Process::decode(&threads_and_more, 0).unwrap();
    assert_eq!((process.threads[0].index, process.threads[0].tid), (5, 6));
}

#[test]
fn profiles_and_reductions_come_back_as_they_were() {
    use trace_format::meta::{Process, ProfileDef, Reduction, SpreadDef};
    use trace_format::profile::{Access, Last, Profile};
    use trace_format::spread::{RankShare, Spread};
    let (mut profile, mut last) = (Profile::default(), Last::default());
    for i in 0..100_i64 {
        let access = Access {
            writes: i % 3 > 0,
            offset: i * i * 7 - 1,
            length: i as u64 % 5,
            start: i as u64 * 10,
            end: i as u64 * 11,
            memory_unaligned: (i > 50).then_some(i % 2 == 0),
        };
        profile.fold(&mut last, access, 4096);
    }
    let mut spread = Spread::of(RankShare { rank: 7, time_ns: 1000, bytes: 3 });
    spread.merge(&Spread::of(RankShare { rank: 8, time_ns: 1 << 40, bytes: u64::MAX }));
    let process = Process {
        profiles: vec![ProfileDef { file: 3, layer: Layer::Stdio, profile }],
        reduction: Reduction { ranks: 9, nodes: 2, spreads: vec![SpreadDef { file: 1, layer: Layer::Mpiio, spread }] },
        ..Process::default()
    };
    assert_eq!(Process::decode(&process.encode(), 0).unwrap(), process);
    // A longer list of common values from a newer writer is read to its end.
    let one = [section(8, &[1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17]), Vec::new()].concat();
    let values: Vec<u8> = (0..17).flat_map(|value| [value * 2, 20 - value, 0]).chain([0]).collect();
    let mut bytes = [&one[6..], &values].concat();
    bytes = section(8, &bytes);
    let read = Process::decode(&bytes, 0).unwrap();
    assert_eq!((read.profiles[0].profile.accesses, read.profiles[0].profile.sizes.sorted().1), (5, 16));
}

#[test]
fn an_operation_of_an_unknown_layer_keeps_its_name() {
    // Operation table with one operation: code 300, layer 9, class 77, mode 300, name "warp".
    let ops = section(2, &[1, 251, 44, 1, 9, 77, 251, 44, 1, 4, b'w', b'a', b'r', b'p']);
    let job = Job::decode(&ops, 0).unwrap();
    let op = &job.ops[0];
    assert_eq!((op.code, op.name.as_str()), (300, "warp"));
    assert_eq!((op.layer, op.class, op.mode), (Layer::Other, OpClass::Other, OpMode::Other));
}

#[test]
fn an_unknown_codec_costs_that_frame_only() {
    let (mut all, mut encoder) = (ranks(), Encoder::new().unwrap());
    let mut encoded = regions(&mut encoder, &mut all);
    let at = FrameHeader::decode(&encoded[0].bytes, 0).unwrap().frame_bytes() as usize;
    let header = FrameHeader::decode(&encoded[0].bytes[at..], 0).unwrap();
    encoded[0].bytes[at..at + FRAME_HEADER_BYTES].copy_from_slice(&FrameHeader { codec: 9, ..header }.encode());
    let seen = read(&trace_format::write::file(&mut encoder, &job(), encoded).unwrap()).unwrap();
    assert_eq!((seen.regions[0].lost, seen.regions[1].lost), (Some(202), Some(0)));
    assert_eq!(seen.problems, 1);
}
