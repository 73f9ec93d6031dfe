//! Packed blocks: what becomes of a full chunk when the arena is full. Its segments are encoded and compressed as they
//! will be in the file, at a tenth of their size or less; the block goes into a chunk that was packed before, and the
//! chunk is free again.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::arena::Arena;
use super::chunk::Chunk;
use super::marks::{is_filled, is_new};
use super::slot::Slot;
use super::{encoders, landing};
use crate::clock;
use crate::config::{self, Overflow};
use crate::registry;
use crate::spool::spill;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::{Segment, spool};

/// Stands before each block; the block is there once its length is.
#[repr(C, align(8))]
struct BlockHeader {
    /// Bytes of the block, this header not included.
    bytes: AtomicU32,
    /// Index of the thread.
    thread: AtomicU32,
    /// Which of the thread's chunks it was.
    sequence: AtomicU32,
    /// Whether it is in a trace.
    mark: AtomicU32,
    /// Nanoseconds per tick it was encoded with, as in `TickScale::mult`.
    mult: std::sync::atomic::AtomicU64,
    /// Index of the slot that its first segment was in.
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

/// A packed block.
pub(crate) type Block = spool::Block<'static>;

/// Packs full chunks until one is free, and returns it, emptied; `None` if nothing can be packed.
pub(super) fn make_room(arena: &Arena) -> Option<Chunk> {
    // A chunk that is needed for packed blocks itself is made up for by the next one.
    for _ in 0..4 {
        let chunk = arena.claim_full()?;
        let done = encoders::with(|encoder, out, number| {
            pack(chunk, encoder, out)?;
            // All of it is in a trace: there is nothing to keep.
            if out.is_empty() {
                return Some(Stored::Elsewhere);
            }
            // Before their places are used for something else.
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
            // It stays as it is, on record and in place, and is not asked again: packing it would gain nothing.
            None | Some(Stored::Nowhere) => chunk.set_state(super::chunk::State::Active),
        }
    }
    None
}

/// The slots of a complete chunk that the caller holds alone (state Packing), from the first new one on.
fn new_slots(chunk: Chunk) -> &'static [Segment] {
    // SAFETY: all calls in it are over, or it would not be complete; its holder alone empties it, and who marks slots has the gate alone.
    let all = unsafe { Slot::at_rest(chunk.filled_slots()) };
    let first = all.iter().position(is_new).unwrap_or(all.len());
    all.get(first..).unwrap_or_default()
}

/// Encodes the chunk's new segments behind a block header in `out`.
fn pack(chunk: Chunk, encoder: &mut trace_format::write::Encoder, out: &mut Vec<u8>) -> Option<()> {
    // None is marked as taken: such a chunk is not claimed. Those that were written before come first, but for a call that was on its way
    // for very long: then the chunk stays as it is, since readers know a segment by its place.
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
    // Whole words, so that the next header is aligned.
    out.resize(out.len().next_multiple_of(8), 0);
    out.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
    out.get_mut(4..8)?.copy_from_slice(&thread.to_le_bytes());
    out.get_mut(8..12)?.copy_from_slice(&sequence.to_le_bytes());
    out.get_mut(16..24)?.copy_from_slice(&scale.mult.to_le_bytes());
    out.get_mut(24..28)?.copy_from_slice(&(first as u32).to_le_bytes());
    Some(())
}

/// Where a block found room.
enum Stored {
    /// In the chunk that takes packed blocks, or in the spill.
    Elsewhere,
    /// In the chunk it came from, which takes packed blocks from now on.
    Here,
    /// It is as large as the chunk itself.
    Nowhere,
}

fn store(arena: &Arena, chunk: Chunk, block: &[u8], number: usize) -> Stored {
    // Where the file system has no room either, the block stays in memory.
    if config::overflow() == Overflow::Spill && spill::add(block) {
        return Stored::Elsewhere;
    }
    let takes = arena.takes.load(Ordering::Acquire);
    if takes != 0
        // SAFETY: it is 0 or the first slot of a chunk.
        && let Some(place) = unsafe { Chunk::of_first(takes) }.take(block.len())
    {
        put(place, block);
        return Stored::Elsewhere;
    }
    if block.len() > chunk.bytes() / 2 {
        return Stored::Nowhere;
    }
    landing::put(number, block);
    chunk.become_packed();
    if let Some(place) = chunk.take(block.len()) {
        put(place, block);
    }
    landing::clear(number);
    arena.takes.store(chunk.first(), Ordering::Release);
    Stored::Here
}

/// Copies a block to its place; its length comes last.
fn put(place: usize, block: &[u8]) {
    let (length, rest) = block.split_at(4);
    // SAFETY: `Chunk::take` gave these bytes to this call alone.
    unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), (place + 4) as *mut u8, rest.len()) };
    // SAFETY: aligned to eight bytes, since all blocks are whole words.
    let header = unsafe { &*(place as *const BlockHeader) };
    let length = length.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
    header.bytes.store(length, Ordering::Release);
}

/// The packed blocks of a chunk.
pub(crate) fn blocks(chunk: Chunk) -> impl Iterator<Item = Block> {
    spool::blocks(chunk.packed())
}

/// Shows the marks of the packed blocks of a chunk.
pub(super) fn marks(chunk: Chunk, mut with: impl FnMut(&AtomicU32)) {
    for block in blocks(chunk) {
        let header = block.frame.as_ptr().addr() - BLOCK_HEADER_BYTES;
        // SAFETY: each block stands behind its header, which `put` wrote; aligned, mapped for good.
        with(&unsafe { &*(header as *const BlockHeader) }.mark);
    }
}

/// The packed blocks in the spill that belong to the trace that is being written.
pub(crate) fn spilled() -> impl Iterator<Item = Block> {
    spool::blocks(spill::taken())
}
