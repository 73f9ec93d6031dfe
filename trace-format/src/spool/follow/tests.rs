//! Property tests of the follower. A simulated process records, packs and folds segments in steps, some of which run before each read.

use super::*;
use crate::spool::{self, HEADER_BYTES, MAGIC, PART_BYTES, VERSION, block, chunk, folded, header};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;

const CHUNK: usize = chunk::HEADER_BYTES + SLOTS * 32;
const SLOTS: usize = 24;
const CHUNKS: usize = 5;
const ARENA: usize = HEADER_BYTES;
const SCRATCH: usize = ARENA + CHUNKS * CHUNK;
const FOLDED: usize = SCRATCH + scratch::BYTES;
const STAGING: usize = FOLDED + folded::BYTES;
const SIZE: usize = STAGING + staging::BYTES;

/// Memory write: offset in the spool, and the bytes written at once.
type Store = (usize, Vec<u8>);

/// Simulated process: its next steps, and the segments recorded so far.
struct Owner {
    bytes: Vec<u8>,
    steps: VecDeque<Store>,
    /// End times of the segments recorded by the steps executed so far. The follower of a killed process must deliver exactly these segments.
    done: Vec<u64>,
    random: u64,
}

struct Live(Mutex<Owner>);

impl Source for Live {
    fn size(&self) -> std::io::Result<u64> {
        Ok(SIZE as u64)
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let mut owner = self.0.lock().expect("no panic");
        // Steps may run in the middle of any read.
        let cut = if buffer.len() > 64 { owner.next() as usize % buffer.len() / 8 * 8 } else { buffer.len() };
        let (one, other) = buffer.split_at_mut(cut);
        owner.run();
        owner.bytes.read_exact_at(offset, one)?;
        owner.run();
        owner.bytes.read_exact_at(offset + cut as u64, other)
    }
}

impl Owner {
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    fn run(&mut self) {
        // Mostly few steps, sometimes all steps of a chunk's lifetime.
        let most = if self.next().is_multiple_of(8) { 400 } else { 6 };
        let count = self.next() % most;
        (0..count).for_each(|_| self.step());
    }

    fn step(&mut self) {
        let Some((at, new)) = self.steps.pop_front() else { return };
        self.bytes[at..at + new.len()].copy_from_slice(&new);
        // A segment is recorded once its end is stored. In this test the end is the slot's fourth word and equals the offset, the first word.
        let offset = at.checked_sub(24).and_then(|at| self.bytes.get(at..at + 8));
        let of_slots = (ARENA..FOLDED).contains(&at) && at % 32 == 24 && offset == Some(&new[..]);
        if of_slots && new.iter().any(|byte| *byte != 0) {
            self.done.push(u64::from_le_bytes(new.try_into().expect("eight bytes")));
        }
    }
}

fn u32_le(value: usize) -> Vec<u8> {
    (value as u32).to_le_bytes().to_vec()
}

fn u64_le(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// Memory writes of a simulated process, in order.
struct Plan {
    steps: VecDeque<Store>,
    /// Full chunks: position, sequence number, and end times of their segments.
    full: VecDeque<(usize, u32, Vec<u64>)>,
    free: Vec<usize>,
    cut: usize,
    sequence: u32,
    end: u64,
    /// Chunk that receives packed blocks (position, number of bytes in use).
    takes: Option<(usize, usize)>,
}

impl Plan {
    fn store(&mut self, at: usize, new: Vec<u8>) {
        self.steps.push_back((at, new));
    }

    fn slot(&mut self, at: usize) -> u64 {
        self.end += 10;
        let word = pack(StreamId(0), 5);
        for (i, value) in [self.end, word, self.end - 4, self.end].into_iter().enumerate() {
            self.store(at + i * 8, u64_le(value));
        }
        self.end
    }

    /// Fills a chunk with segments except for the spare slot and `leave` more slots.
    fn fill(&mut self, leave: usize) {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let at = ARENA + self.cut * CHUNK;
                self.cut += 1;
                let used = header::PARTS + Part::Arena as usize * PART_BYTES + 16;
                self.store(used, u64_le((self.cut * CHUNK) as u64));
                self.store(at + chunk::BYTES, u32_le(CHUNK));
                self.store(at + chunk::SEQUENCE, u32_le(self.sequence as usize));
                self.store(at + chunk::MAGIC, u64_le(chunk::MAGIC_VALUE));
                at
            }
        };
        self.store(at + chunk::SEQUENCE, u32_le(self.sequence as usize));
        self.store(at + chunk::STATE, u32_le(chunk::ACTIVE as usize));
        let count = SLOTS - 1 - leave;
        let ends: Vec<u64> = (0..count).map(|slot| self.slot(at + chunk::HEADER_BYTES + slot * 32)).collect();
        if leave == 0 {
            self.store(at + chunk::STATE, u32_le(chunk::FULL as usize));
            self.full.push_back((at, self.sequence, ends));
        }
        self.sequence += 1;
    }

    fn pack(&mut self) {
        let Some((at, sequence, ends)) = self.full.pop_front() else { return };
        let block = packed(sequence, &ends);
        self.store(at + chunk::STATE, u32_le(chunk::PACKING as usize));
        let body = at + chunk::HEADER_BYTES;
        let erase: Vec<Store> = (0..SLOTS * 4).map(|i| (body + i * 8, u64_le(0))).collect();
        let room = self.takes.filter(|(_, taken)| taken + block.len() <= SLOTS * 32);
        if let Some((place, taken)) = room {
            self.store(place + chunk::PACKED, u32_le(taken + block.len()));
            self.put(place + chunk::HEADER_BYTES + taken, &block);
            self.takes = Some((place, taken + block.len()));
            self.steps.extend(erase);
            self.free.push(at);
        } else {
            self.store(STAGING + staging::FIRST, block.clone());
            self.store(STAGING + staging::LENGTH, u32_le(block.len()));
            self.steps.extend(erase);
            self.store(at + chunk::PACKED, u32_le(0));
            self.store(at + chunk::STATE, u32_le(chunk::HOLDS_BLOCKS as usize));
            self.store(at + chunk::PACKED, u32_le(block.len()));
            self.put(body, &block);
            self.store(STAGING + staging::LENGTH, u32_le(0));
            self.takes = Some((at, block.len()));
        }
    }

    fn put(&mut self, at: usize, block: &[u8]) {
        for (i, word) in block.chunks(8).enumerate() {
            let skip = if i == 0 { 4 } else { 0 };
            self.store(at + i * 8 + skip, word[skip..].to_vec());
        }
        self.store(at, block[..4].to_vec());
    }

    fn fold(&mut self, count: u64, so_far: u64) -> u64 {
        for slot in 0..count as usize {
            self.slot(SCRATCH + scratch::FIRST + slot * 32);
        }
        let (members, sizes) = ((1 << count) - 1, FOLDED + folded::SIZES);
        self.store(SCRATCH + scratch::COUNTING, u64_le(members));
        self.store(FOLDED + folded::STREAM, u64_le(1));
        self.store(FOLDED + folded::BASE, u64_le(so_far));
        self.store(FOLDED + folded::ADDER, u64_le(1));
        self.store(FOLDED + folded::SUMS, u64_le(so_far + count));
        self.store(sizes, u64_le(so_far + count));
        self.store(SCRATCH + scratch::COUNTED, u64_le(members));
        self.store(FOLDED + folded::ADDER, u64_le(0));
        let erase: Vec<Store> =
            (0..count as usize * 4).map(|i| (SCRATCH + scratch::FIRST + i * 8, u64_le(0))).collect();
        self.steps.extend(erase);
        self.store(SCRATCH + scratch::COUNTED, u64_le(0));
        self.store(SCRATCH + scratch::COUNTING, u64_le(0));
        so_far + count
    }
}

fn packed(sequence: u32, ends: &[u64]) -> Vec<u8> {
    let segments: Vec<Segment> =
        ends.iter().map(|end| Segment::new(StreamId(0), *end as i64, 5, end - 4, *end)).collect();
    let mut out = vec![0; block::HEADER_BYTES];
    let mut encoder = crate::write::Encoder::new().expect("an encoder");
    encoder.block(0, 0, &segments, &TickScale::IDENTITY, &mut out).expect("a block");
    let length = (out.len() - block::HEADER_BYTES) as u32;
    out[..4].copy_from_slice(&length.to_le_bytes());
    out[block::SEQUENCE..block::SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
    out[block::MULT..block::MULT + 8].copy_from_slice(&TickScale::IDENTITY.mult.to_le_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn spool() -> Vec<u8> {
    let mut bytes = vec![0; SIZE];
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[header::VERSION..header::VERSION + 4].copy_from_slice(&VERSION.to_le_bytes());
    let parts = [
        (Part::Journal, 0, 0, 0),
        (Part::Arena, ARENA, CHUNKS * CHUNK, 0),
        (Part::Scratch, SCRATCH, scratch::BYTES, scratch::BYTES),
        (Part::Folded, FOLDED, folded::BYTES, folded::BYTES),
        (Part::Staging, STAGING, staging::BYTES, staging::BYTES),
        (Part::SyncPoints, SIZE, 0, 0),
    ];
    for (part, offset, capacity, used) in parts {
        for (i, value) in [offset, capacity, used].into_iter().enumerate() {
            let at = header::PARTS + part as usize * PART_BYTES + i * 8;
            bytes[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
        }
    }
    assert_eq!(spool::VERSION, VERSION);
    bytes
}

/// Returns the memory writes of a run and the number of folded segments. Chunks are filled and, for lack of space, packed; then `folds`
/// scratch buffers of 9 segments are folded, and a last chunk is filled except for `left` slots.
fn plan(chunks: usize, folds: usize, left: usize) -> (VecDeque<Store>, u64) {
    let mut plan = Plan {
        steps: VecDeque::new(),
        full: VecDeque::new(),
        free: Vec::new(),
        cut: 0,
        sequence: 0,
        end: 1000,
        takes: None,
    };
    for _ in 0..chunks {
        while plan.free.is_empty() && plan.cut == CHUNKS && !plan.full.is_empty() {
            plan.pack();
        }
        if !plan.free.is_empty() || plan.cut < CHUNKS {
            plan.fill(0);
        }
    }
    let mut folded = 0;
    for _ in 0..folds {
        folded = plan.fold(9, folded);
    }
    while plan.free.is_empty() && plan.cut == CHUNKS && !plan.full.is_empty() {
        plan.pack();
    }
    if !plan.free.is_empty() || plan.cut < CHUNKS {
        plan.fill(left);
    }
    (plan.steps, folded)
}

/// Follows the spool of a simulated process whose memory writes are those of [`plan`] without the last `killed`, and asserts that each
/// segment is delivered once. `seed` decides when writes and reads alternate, and when the reader restarts from its saved state.
fn follow(chunks: usize, folds: usize, left: usize, seed: u64, killed: usize) {
    let (mut steps, _) = plan(chunks, folds, left);
    steps.truncate(steps.len().saturating_sub(killed));
    let live = Live(Mutex::new(Owner { bytes: spool(), steps, done: Vec::new(), random: seed }));
    let mut follower = Follower::default();
    let mut given: Vec<u64> = Vec::new();
    let mut last = false;
    loop {
        if live.0.lock().expect("no panic").next().is_multiple_of(3) {
            let state = serde_json::to_vec(follower.shown()).expect("plain");
            follower = Follower::new(serde_json::from_slice(&state).expect("as it was"));
        }
        let look = follower.look(&live, None, None, last, 40).expect("it is a spool");
        for seen in &look.segments {
            let Segment { offset, start, end, .. } = seen.segment;
            assert!(end == offset as u64 && start == end - 4, "a part of a segment: {:?}", seen.segment);
            assert_eq!(seen.is_counted, seen.sequence >= BEHIND_CHUNKS);
            given.push(end);
        }
        if last && !look.more {
            break;
        }
        let mut owner = live.0.lock().expect("no panic");
        if owner.next().is_multiple_of(16) || owner.steps.is_empty() {
            (0..20).for_each(|_| owner.step());
        }
        last = owner.steps.is_empty();
    }
    let owner = live.0.into_inner().expect("no panic");
    let total = given.len() as u64 + follower.folded();
    given.sort_unstable();
    let before = given.len();
    given.dedup();
    assert_eq!(given.len(), before, "given twice");
    assert!(given.iter().all(|end| owner.done.contains(end)), "given and not recorded");
    // A process killed during a fold leaves a few calls both in slots and in counters, as `recover` reports.
    let uncertain = if killed > 0 && folds > 0 { 9 } else { 0 };
    assert!(total.abs_diff(owner.done.len() as u64) <= uncertain, "{total} of {}", owner.done.len());
    assert_eq!(follower.damaged(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_owner_does_meanwhile_each_segment_is_given_once(
        chunks in 0_usize..40, folds in 0_usize..6, left in 0_usize..SLOTS, seed: u64, killed in 0_usize..300, kill: bool,
    ) {
        follow(chunks, folds, left, seed, if kill { killed } else { 0 });
    }
}
