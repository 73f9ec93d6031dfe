//! Packed blocks: when the arena is full, the segments of a full chunk are encoded and compressed as in the trace file, to at most a tenth
//! of their size. The block is stored in another chunk, which holds only packed blocks, or in the spill file; the encoded chunk is then
//! free.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::arena::Arena;
use super::chunk::Chunk;
use super::marks::{is_filled, is_new};
use super::slot::Slot;
use super::{encoders, staging};
use crate::clock;
use crate::config::{self, Overflow};
use crate::registry;
use crate::spool::spill;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::{Segment, spool};

/// Header before each packed block (segments encoded in memory). The block is valid once `bytes` is nonzero.
#[repr(C, align(8))]
struct BlockHeader {
    /// Size of the packed block (encoded segments) in bytes, without this header.
    bytes: AtomicU32,
    /// Index of the thread that made the block's calls, in the table of threads.
    thread: AtomicU32,
    /// Sequence number, among its thread's chunks, of the chunk (memory for segments) whose segments the packed block holds.
    sequence: AtomicU32,
    /// Mark: in no trace, taken for the trace being written, or written (`trace_format::spool::block::mark`).
    mark: AtomicU32,
    /// Clock rate with which the block's times were encoded: `TickScale::mult` (ns per tick, in units of 2^-52).
    mult: std::sync::atomic::AtomicU64,
    /// Index of the packed block's first segment (record of a call) among the slots of the chunk from which it came.
    first: AtomicU32,
}

const BLOCK_HEADER_BYTES: usize = spool::block::HEADER_BYTES;
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<BlockHeader>() == BLOCK_HEADER_BYTES && offset_of!(BlockHeader, bytes) == spool::block::BYTES);
    assert!(
        offset_of!(BlockHeader, thread) == spool::block::THREAD && offset_of!(BlockHeader, mult) == spool::block::MULT
    );
    assert!(offset_of!(BlockHeader, sequence) == spool::block::SEQUENCE);
    assert!(
        offset_of!(BlockHeader, mark) == spool::block::MARK && offset_of!(BlockHeader, first) == spool::block::FIRST
    );
};

pub(crate) type Block = spool::Block<'static>;

/// Packs full chunks (encodes their segments) until one of them is free. Returns that chunk, emptied; `None` if no chunk can be packed.
pub(super) fn make_room(arena: &Arena) -> Option<Chunk> {
    // A packed chunk may itself become the space for packed blocks; then the next full chunk is tried.
    for _ in 0..4 {
        let chunk = arena.claim_full()?;
        let done = encoders::with(|encoder, out, number| {
            pack(chunk, encoder, out)?;
            // All segments of the chunk are in a trace, so there is no block to store.
            if out.is_empty() {
                return Some(Stored::Elsewhere);
            }
            // Memory figures are counted before the slots are reused.
            registry::memory::note(new_slots(chunk), false);
            let stored = store(arena, chunk, out, number);
            if matches!(stored, Stored::Nowhere) {
                registry::memory::note(new_slots(chunk), true);
            }
            Some(stored)
        });
        match done.flatten() {
            Some(Stored::Elsewhere) => {
                chunk.erase();
                return Some(chunk);
            }
            Some(Stored::Here) => {}
            // The chunk stays as it is and is not tried again, since packing it gains nothing.
            None | Some(Stored::Nowhere) => chunk.set_state(super::chunk::State::Active),
        }
    }
    None
}

/// Returns the segments of a complete chunk that are not in a trace yet. The caller must hold the chunk exclusively (state Packing).
fn new_slots(chunk: Chunk) -> &'static [Segment] {
    // SAFETY: a complete chunk has no call in progress; only its holder empties slots, and marking slots requires exclusive access through the gate.
    let all = unsafe { Slot::at_rest(chunk.filled_slots()) };
    let first = all.iter().position(is_new).unwrap_or(all.len());
    all.get(first..).unwrap_or_default()
}

/// Encodes those segments (records of calls) of a chunk that are in no trace yet. Appends a block header and the encoded segments to `out`.
fn pack(chunk: Chunk, encoder: &mut trace_format::write::Encoder, out: &mut Vec<u8>) -> Option<()> {
    // No segment is marked as taken, since such a chunk is not claimed. Written segments precede new ones, except after a call that was in
    // progress for very long. Such a chunk is not packed, since readers identify a segment by its slot.
    let slots = new_slots(chunk);
    let first = chunk.filled_slots().len() - slots.len();
    if !slots.iter().all(is_new) {
        return None;
    }
    out.clear();
    if slots.is_empty() {
        return Some(());
    }
    for slot in slots.iter().filter(|slot| is_filled(slot)) {
        if let Some(stream) = registry::stream_by_id(slot.stream()) {
            stream.mark_used();
        }
    }
    let scale = clock::scale_now();
    let (thread, sequence) = chunk.owner();
    out.extend_from_slice(&[0; BLOCK_HEADER_BYTES]);
    encoder.block(0, thread, slots, &scale, out).ok()?;
    let length = (out.len() - BLOCK_HEADER_BYTES) as u32;
    // Padded to whole words, so that the next header is aligned.
    out.resize(out.len().next_multiple_of(8), 0);
    out.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
    out.get_mut(4..8)?.copy_from_slice(&thread.to_le_bytes());
    out.get_mut(8..12)?.copy_from_slice(&sequence.to_le_bytes());
    out.get_mut(16..24)?.copy_from_slice(&scale.mult.to_le_bytes());
    out.get_mut(24..28)?.copy_from_slice(&(first as u32).to_le_bytes());
    Some(())
}

/// Place where a packed block (encoded segments of a chunk) was stored.
enum Stored {
    /// In the chunk of the arena that collects packed blocks, or in the spill file.
    Elsewhere,
    /// In the same chunk from which the block's segments came. That chunk collects packed blocks from now on.
    Here,
    /// Not stored, since the packed block is larger than half of the chunk.
    Nowhere,
}

fn store(arena: &Arena, chunk: Chunk, block: &[u8], number: usize) -> Stored {
    // If the spill file cannot take the block either, the block stays in memory.
    if config::overflow() == Overflow::Spill && spill::add(block) {
        return Stored::Elsewhere;
    }
    let takes = arena.takes.load(Ordering::Acquire);
    if takes != 0
        // SAFETY: `takes` is nonzero, hence the first slot of a chunk.
        && let Some(place) = unsafe { Chunk::of_first(takes) }.take(block.len())
    {
        put(place, block);
        return Stored::Elsewhere;
    }
    if block.len() > chunk.bytes() / 2 {
        return Stored::Nowhere;
    }
    staging::put(number, block);
    chunk.become_packed();
    if let Some(place) = chunk.take(block.len()) {
        put(place, block);
    }
    staging::clear(number);
    arena.takes.store(chunk.first(), Ordering::Release);
    Stored::Here
}

/// Copies a block to the address `place`. The length is stored last, which makes the block valid for readers.
fn put(place: usize, block: &[u8]) {
    let (length, rest) = block.split_at(4);
    // SAFETY: `Chunk::take` gave these bytes to this call alone.
    unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), (place + 4) as *mut u8, rest.len()) };
    // SAFETY: `place` is aligned to 8 bytes, since all blocks are whole words.
    let header = unsafe { &*(place as *const BlockHeader) };
    let length = length.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
    header.bytes.store(length, Ordering::Release);
}

pub(crate) fn blocks(chunk: Chunk) -> impl Iterator<Item = Block> {
    spool::blocks(chunk.packed())
}

/// Calls `with` for the mark of each packed block in the chunk, which shows if the block is in a trace.
pub(super) fn marks(chunk: Chunk, mut with: impl FnMut(&AtomicU32)) {
    for block in blocks(chunk) {
        let header = block.frame.as_ptr().addr() - BLOCK_HEADER_BYTES;
        // SAFETY: each block follows its header, written by `put`; the header is aligned and mapped for good.
        with(&unsafe { &*(header as *const BlockHeader) }.mark);
    }
}

/// Returns the packed blocks (encoded segments) in the spill file that belong to the trace being written.
pub(crate) fn spilled() -> impl Iterator<Item = Block> {
    spool::blocks(spill::taken())
}
