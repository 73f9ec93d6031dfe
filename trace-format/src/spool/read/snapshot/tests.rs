use super::super::segments::{self, Gone, Pieces};
use super::*;
use crate::columns::TickScale;
use crate::segment::StreamId;
use crate::spool::block;
use std::collections::BTreeMap;
use std::sync::Mutex;

const ARENA: usize = HEADER_BYTES;
const ROOM: usize = chunk::HEADER_BYTES + 1024;
const JOURNAL: usize = ARENA + 3 * ROOM;
const STAGING: usize = JOURNAL + 64;
const SCRATCH: usize = STAGING + staging::BYTES;
const FOLDED: usize = SCRATCH + scratch::BYTES;
const NEXT_END: u64 = 70;
/// Maximum size of a read, in bytes: ends within a slot of the first chunk, and after the header of the third chunk.
const PIECE: usize = 536;
const CUT_SLOT: usize = ARENA + (PIECE & !31);
/// Upper bound of the number of reads made by one snapshot.
const READINGS: usize = 64;

type Step = Box<dyn Fn(&mut Vec<u8>) + Send>;

/// File modified by a simulated owner process: some steps run before one read, the others before a later read. Reads are split into short pieces.
struct Live(Mutex<LiveState>);

struct LiveState {
    bytes: Vec<u8>,
    steps: std::vec::IntoIter<Step>,
    /// Pairs (read number, number of steps to run before that read).
    plan: [(usize, usize); 2],
    readings: usize,
}

impl Live {
    fn new(bytes: Vec<u8>, steps: Vec<Step>, first: usize, some: usize, second: usize) -> Self {
        let plan = [(first, some), (second, steps.len())];
        Self(Mutex::new(LiveState { bytes, steps: steps.into_iter(), plan, readings: 0 }))
    }
}

impl Source for Live {
    fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.lock().expect("no panic").bytes.len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let LiveState { bytes, steps, plan, readings } = &mut *self.0.lock().expect("no panic");
        let (pieces, mut at) = (if buffer.len() > 4096 { buffer.len() } else { PIECE }, offset);
        for piece in buffer.chunks_mut(pieces) {
            let due = plan.iter().filter(|(reading, _)| reading == readings).map(|(_, steps)| *steps).sum();
            steps.take(due).for_each(|step| step(bytes));
            *readings += 1;
            bytes.read_exact_at(at, piece)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn segment(end: u64) -> Vec<u8> {
    let word = Segment::new(StreamId(1), 0, 5, 0, 0).word;
    [0, word, end - 1, end].iter().flat_map(|field| field.to_le_bytes()).collect()
}

/// Builds a spool with three chunks: a chunk of packed blocks, with free space, between two full chunks of segments.
fn spool() -> Vec<u8> {
    let mut file = vec![0; FOLDED + 8];
    let parts = [(JOURNAL, 64, 8), (ARENA, 3 * ROOM, 3 * ROOM), (SCRATCH, scratch::BYTES, scratch::BYTES)];
    let parts = parts.into_iter().chain([(FOLDED, 8, 8), (STAGING, staging::BYTES, staging::BYTES)]);
    for (number, part) in parts.enumerate() {
        for (i, value) in [part.0, part.1, part.2].into_iter().enumerate() {
            put(&mut file, header::PARTS + number * PART_BYTES + i * 8, value as u32);
        }
    }
    for (number, state, sequence) in [(0, chunk::FULL, 3), (1, chunk::HOLDS_BLOCKS, 0), (2, chunk::FULL, 4)] {
        let at = ARENA + number * ROOM;
        file[at..at + 8].copy_from_slice(&chunk::MAGIC_VALUE.to_le_bytes());
        put(&mut file, at + chunk::BYTES, ROOM as u32);
        put(&mut file, at + chunk::STATE, state);
        put(&mut file, at + chunk::SEQUENCE, sequence);
        for slot in (0..2).filter(|_| state == chunk::FULL) {
            let at = at + chunk::HEADER_BYTES + slot * size_of::<Segment>();
            file[at..at + 32].copy_from_slice(&segment(slot as u64 + 6));
        }
    }
    file
}

fn packed(sequence: u32) -> Vec<u8> {
    let segments = [6, 7].map(|end| Segment::new(StreamId(1), 0, 5, end - 1, end));
    let mut out = vec![0; block::HEADER_BYTES];
    let mut encoder = crate::write::Encoder::new().expect("an encoder");
    encoder.block(0, 0, &segments, &TickScale::IDENTITY, &mut out).expect("a block");
    let length = (out.len() - block::HEADER_BYTES) as u32;
    put(&mut out, block::BYTES, length);
    put(&mut out, block::SEQUENCE, sequence);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn store(at: usize, new: Vec<u8>) -> Step {
    Box::new(move |bytes| bytes[at..at + new.len()].copy_from_slice(&new))
}

fn word(at: usize, value: u32) -> Step {
    store(at, value.to_le_bytes().to_vec())
}

/// Returns the owner's steps that pack chunk number `number` into `block`. If `elsewhere` is true, the block is stored in the chunk of
/// blocks and another thread reuses the packed chunk; otherwise the chunk is packed in place.
fn life(number: usize, block: &[u8], elsewhere: bool) -> Vec<Step> {
    let (at, blocks, block) = (ARENA + number * ROOM, ARENA + ROOM, block.to_vec());
    let (body, length) = (at + chunk::HEADER_BYTES, block.len() as u32);
    let erase = || store(body, vec![0; ROOM - chunk::HEADER_BYTES]);
    let mut steps = vec![word(at + chunk::STATE, chunk::PACKING)];
    if elsewhere {
        steps.push(word(blocks + chunk::PACKED, length));
        steps.push(store(blocks + chunk::HEADER_BYTES, block));
        steps.push(erase());
        // Thread 1 becomes the next owner and records into a new stream.
        steps.push(store(JOURNAL + 8, b"stream".to_vec()));
        steps.push(word(header::PARTS + 16, 16));
        steps.push(word(at + chunk::THREAD, 1));
        steps.push(word(at + chunk::SEQUENCE, 3));
        steps.push(word(at + chunk::STATE, chunk::ACTIVE));
        steps.push(store(body, segment(NEXT_END)));
    } else {
        steps.push(store(STAGING + staging::FIRST, block.clone()));
        steps.push(word(STAGING + staging::LENGTH, length));
        steps.push(erase());
        steps.push(word(at + chunk::STATE, chunk::HOLDS_BLOCKS));
        steps.push(word(at + chunk::PACKED, length));
        steps.push(store(body, block));
        steps.push(word(STAGING + staging::LENGTH, 0));
    }
    steps
}

#[test]
fn whatever_the_owner_does_meanwhile_each_segment_is_there_once_and_under_its_name() {
    for (number, sequence, elsewhere) in [(0, 3, true), (2, 4, true), (0, 3, false), (2, 4, false)] {
        let block = packed(sequence);
        let count = life(number, &block, elsewhere).len();
        let moments = (0..READINGS).flat_map(|first| (first..READINGS).map(move |second| (first, second)));
        for ((first, second), some) in moments.flat_map(|moment| (1..=count).map(move |some| (moment, some))) {
            let about = format!("chunk {number}, elsewhere: {elsewhere}, {some} at {first}, the rest at {second}");
            let live = Live::new(spool(), life(number, &block, elsewhere), first, some, second);
            let snapshot = Snapshot::of(&live).unwrap();
            let threads = Pieces::of_chunks(
                &[&snapshot.arena, &snapshot.sync_points],
                &snapshot.staging,
                BTreeMap::new(),
                Gone::Written,
            );
            let ends = |thread: u32| -> Vec<Vec<u64>> { threads.get(&thread).map(Pieces::ends).unwrap_or_default() };
            assert_eq!(ends(0), [[6, 7], [6, 7]], "{about}");
            let next = ends(1);
            assert!(next.is_empty() || next == [[NEXT_END]], "{about}: {next:?}");
            let sequences = threads.get(&1).map(Pieces::sequences).unwrap_or_default();
            assert!(next.is_empty() || sequences == [3], "{about}: {sequences:?}");
            assert!(next.is_empty() || snapshot.journal.ends_with(b"stream\0\0"), "{about}: without its stream");
            assert!(live.0.into_inner().unwrap().readings < READINGS);
        }
    }
}

#[test]
fn a_slot_that_is_written_while_it_is_copied_is_left_out() {
    for first in 0..READINGS {
        let live = Live::new(spool(), vec![store(CUT_SLOT, segment(9))], first, 1, READINGS);
        let snapshot = Snapshot::of(&live).unwrap();
        let slot = &snapshot.arena.part.bytes[CUT_SLOT - ARENA..][..size_of::<Segment>()];
        assert!(slot[END] == [0; 8] || slot == segment(9), "{first}: {slot:?}");
    }
}

#[test]
fn a_slot_of_which_any_part_changes_while_it_is_copied_is_left_out() {
    let mut left_out = 0;
    for first in 0..READINGS {
        let mut file = spool();
        file[CUT_SLOT..CUT_SLOT + SLOT].copy_from_slice(&segment(9));
        let live = Live::new(file, vec![store(CUT_SLOT, vec![1; 8])], first, 1, READINGS);
        let snapshot = Snapshot::of(&live).unwrap();
        let slot = &snapshot.arena.part.bytes[CUT_SLOT - ARENA..][..SLOT];
        let after = [&[1; 8], &segment(9)[8..]].concat();
        left_out += u32::from(slot[END] == [0; 8]);
        assert!(slot[END] == [0; 8] || slot == segment(9) || slot == after, "{first}: {slot:?}");
    }
    assert!(left_out > 0);
}

#[test]
fn what_is_folded_meanwhile_is_uncertain() {
    let first = SCRATCH + scratch::FIRST;
    let moments = (0..READINGS).flat_map(|first| (first..READINGS).map(move |second| (first, second)));
    let mut uncertain = Vec::new();
    for ((one, other), some) in moments.flat_map(|moment| (1..=4).map(move |some| (moment, some))) {
        let mut file = spool();
        file[first..first + 32].copy_from_slice(&segment(8));
        let folding = |on: u32| word(SCRATCH + scratch::FOLDED, on);
        let steps = vec![folding(1), word(FOLDED, 1), store(first, vec![0; 32]), folding(0)];
        let snapshot = Snapshot::of(&Live::new(file, steps, one, some, other)).unwrap();
        let (waits, counted) =
            (u64_at(&snapshot.scratches.bytes, scratch::FIRST + END.start) != 0, snapshot.folded.bytes[0] == 1);
        let known = snapshot.folded_meanwhile + u64::from(u32_at(&snapshot.scratches.bytes, scratch::FOLDED));
        assert!(waits || counted, "{one}, {other}, {some}: lost");
        assert!(!(waits && counted) || known >= 1, "{one}, {other}, {some}: doubled");
        uncertain.push(known);
    }
    assert!(uncertain.contains(&0) && uncertain.contains(&1));
}

/// File with only a header, which states that long regions are completely in use.
struct Hollow(Vec<u8>);

const CLAIMED: u64 = 2 << 30;

impl Source for Hollow {
    fn size(&self) -> std::io::Result<u64> {
        Ok(PARTS as u64 * CLAIMED)
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        buffer.fill(0);
        let here = self.0.get(offset as usize..).unwrap_or_default();
        let length = here.len().min(buffer.len());
        buffer[..length].copy_from_slice(&here[..length]);
        Ok(())
    }

    fn allocated(&self) -> std::io::Result<u64> {
        Ok(HEADER_BYTES as u64)
    }

    fn stored(&self, offset: u64) -> std::io::Result<Option<Range<u64>>> {
        let header = 0..HEADER_BYTES as u64;
        Ok(header.contains(&offset).then_some(header))
    }
}

/// Checks that reading skips holes of the file, regardless of the lengths that the header states.
#[test]
fn nobody_walks_over_holes() {
    let mut file = vec![0; HEADER_BYTES];
    for part in 1..PARTS {
        let claimed = CLAIMED - HEADER_BYTES as u64;
        for (i, value) in [part as u64 * CLAIMED, claimed, claimed].into_iter().enumerate() {
            let at = header::PARTS + part * PART_BYTES + i * 8;
            file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    let snapshot = Snapshot::of(&Hollow(file)).unwrap();
    let mut threads =
        Pieces::of_chunks(&[&snapshot.arena, &snapshot.sync_points], &snapshot.staging, BTreeMap::new(), Gone::Written);
    assert_eq!(segments::of_scratches(&snapshot.scratches, false, Gone::Written, &mut threads), 0);
    assert!(threads.is_empty());
    // Every loop over a region uses these functions to advance.
    for part in [&snapshot.arena.part, &snapshot.sync_points.part] {
        assert_eq!(part.next(0, chunk::HEADER_BYTES), None);
    }
    for part in [&snapshot.scratches, &snapshot.folded, &snapshot.staging] {
        assert_eq!(part.records(1 << 10).count(), 0);
    }
}
