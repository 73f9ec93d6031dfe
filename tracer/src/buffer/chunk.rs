//! Chunk of the arena (memory for segments) that one thread fills: a header, followed by slots for segments or by packed blocks.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::slot::Slot;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::{Segment, spool};

/// Header of a chunk (piece of memory for a thread's segments). As large as a segment, so that the segments stay aligned.
#[repr(C, align(32))]
pub(super) struct Header {
    magic: AtomicU64,
    thread: AtomicU32,
    /// Size of the chunk (memory for a thread's segments) in bytes, including its header.
    bytes: AtomicU32,
    state: AtomicU32,
    /// Sequence number of the chunk (memory for a thread's segments) among all chunks that its thread has filled.
    sequence: AtomicU32,
    /// Number of bytes that packed (encoded) blocks occupy in the chunk.
    packed: AtomicU32,
    /// 1 if an interrupted call may still write to the last slot (see [`Chunk::limit`]), else 0.
    spare_awaited: AtomicU32,
}

pub(super) const HEADER_BYTES: usize = spool::chunk::HEADER_BYTES;
const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Header>() == HEADER_BYTES && HEADER_BYTES == size_of::<Segment>());
    assert!(offset_of!(Header, magic) == spool::chunk::MAGIC);
    assert!(offset_of!(Header, thread) == spool::chunk::THREAD);
    assert!(offset_of!(Header, bytes) == spool::chunk::BYTES);
    assert!(offset_of!(Header, state) == spool::chunk::STATE);
    assert!(offset_of!(Header, sequence) == spool::chunk::SEQUENCE);
    assert!(offset_of!(Header, packed) == spool::chunk::PACKED);
    assert!(offset_of!(Header, spare_awaited) == spool::chunk::SPARE_AWAITED);
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    /// The thread that owns the chunk (memory for a thread's segments) is filling it with segments.
    Active = spool::chunk::ACTIVE,
    /// The chunk (memory for a thread's segments) is full, and the thread that owns it no longer uses it.
    Full = spool::chunk::FULL,
    /// A thread is packing the chunk: encoding its segments to free the space.
    Packing = spool::chunk::PACKING,
    Packed = spool::chunk::HOLDS_BLOCKS,
}

#[derive(Clone, Copy)]
pub(crate) struct Chunk(&'static Header);

impl Chunk {
    /// Initializes a newly allocated chunk (memory for a thread's segments) of `bytes` bytes.
    pub(super) fn cut(header: &'static Header, bytes: u32) -> Self {
        header.bytes.store(bytes, Ordering::Relaxed);
        header.state.store(State::Active as u32, Ordering::Relaxed);
        header.spare_awaited.store(0, Ordering::Relaxed);
        header.magic.store(spool::chunk::MAGIC_VALUE, Ordering::Release);
        Self(header)
    }

    /// Returns the chunk (piece of memory for segments) that begins at `header`. `None` if the header has no magic, or a size below that of
    /// a header or above `most` bytes.
    pub(super) fn at(header: &'static Header, most: usize) -> Option<Self> {
        let whole = header.magic.load(Ordering::Acquire) == spool::chunk::MAGIC_VALUE;
        let bytes = header.bytes.load(Ordering::Relaxed) as usize;
        (whole && (HEADER_BYTES..=most).contains(&bytes)).then_some(Self(header))
    }

    /// Returns the chunk (memory for a thread's segments) whose first slot is at address `first`.
    ///
    /// # Safety
    /// `first` must come from [`Self::first`]; chunks stay mapped.
    pub(super) unsafe fn of_first(first: usize) -> Self {
        // SAFETY: the address is that of a chunk's first slot, which follows the header, as the caller guarantees.
        Self(unsafe { &*((first - HEADER_BYTES) as *const Header) })
    }

    /// Assigns the chunk (memory for segments) to the thread with index `thread`, as its chunk number `sequence`.
    pub(super) fn give(self, thread: u32, sequence: u32) {
        self.0.thread.store(thread, Ordering::Relaxed);
        self.0.sequence.store(sequence, Ordering::Relaxed);
        self.0.spare_awaited.store(0, Ordering::Relaxed);
        self.set_state(State::Active);
    }

    /// Returns the index of the owning thread, and the sequence number of this chunk (memory for segments) among that thread's chunks.
    pub(crate) fn owner(self) -> (u32, u32) {
        (self.0.thread.load(Ordering::Relaxed), self.0.sequence.load(Ordering::Relaxed))
    }

    /// Returns the size of the chunk (memory for a thread's segments) in bytes, including the header.
    pub(super) fn bytes(self) -> usize {
        self.0.bytes.load(Ordering::Relaxed) as usize
    }

    /// Returns the address of the chunk's first slot (space for one segment).
    pub(super) fn first(self) -> usize {
        std::ptr::from_ref(self.0) as usize + HEADER_BYTES
    }

    /// Returns the address of the chunk's spare slot, the last one. A call reserves its slot before it compares the slot with this limit,
    /// so the call that finds the chunk full holds the spare slot. If a signal handler interrupts this call and obtains another chunk, the
    /// call compares with the limit of the new chunk, may find room, and writes to the spare slot here.
    pub(super) fn limit(self) -> usize {
        self.end() - size_of::<Segment>()
    }

    /// Records that a call interrupted by a signal handler may still write to the spare (last) slot.
    pub(super) fn await_spare(self) {
        self.0.spare_awaited.store(1, Ordering::Relaxed);
    }

    /// True if a call interrupted by a signal handler may still write to the spare (last) slot.
    pub(super) fn awaits_spare(self) -> bool {
        self.0.spare_awaited.load(Ordering::Relaxed) != 0
    }

    /// Returns the chunk's slots, including the spare (last) slot only if it is filled.
    pub(crate) fn filled_slots(self) -> &'static [Slot] {
        match self.slots() {
            [rest @ .., spare] if !spare.is_filled() => rest,
            slots => slots,
        }
    }

    pub(super) fn end(self) -> usize {
        std::ptr::from_ref(self.0) as usize + self.bytes()
    }

    pub(super) fn set_state(self, state: State) {
        self.0.state.store(state as u32, Ordering::Release);
    }

    /// Changes the chunk's state from `old` to `new`; returns false if the state was not `old`.
    pub(super) fn change_state(self, old: State, new: State) -> bool {
        self.0.state.compare_exchange(old as u32, new as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[cfg(test)]
    pub(super) fn fill(self, segment: Segment) {
        for at in (self.first()..self.end()).step_by(size_of::<Segment>()) {
            // SAFETY: `at` is a slot of the chunk, which is local to this test.
            unsafe { (at as *mut Segment).write(segment) };
        }
    }

    /// True if the chunk is full and every call in it is finished: a call interrupted by a signal handler may still write to its slot.
    /// False while segments are marked as taken for a trace being written.
    pub(super) fn is_complete(self) -> bool {
        let may_go = |slot: &Slot| slot.is_filled() && !slot.is_taken();
        let full = self.0.state.load(Ordering::Acquire) == State::Full as u32;
        let slots = if self.awaits_spare() { self.slots() } else { self.filled_slots() };
        full && slots.iter().all(may_go)
    }

    pub(crate) fn is_packed(self) -> bool {
        self.0.state.load(Ordering::Acquire) == State::Packed as u32
    }

    /// Returns all slots, including the spare slot; empty if the chunk holds packed blocks.
    pub(crate) fn slots(self) -> &'static [Slot] {
        if self.is_packed() {
            return &[];
        }
        let count = (self.bytes() - HEADER_BYTES) / size_of::<Segment>();
        // SAFETY: the slots lie inside the chunk, are aligned, mapped for good and valid for any bits; they are atomics, which threads may
        // write meanwhile.
        unsafe { std::slice::from_raw_parts(self.first() as *const Slot, count) }
    }

    pub(super) fn erase(self) {
        let bytes = self.bytes() - HEADER_BYTES;
        // A reader that sees an erased slot then also sees the block that holds the slot's segment.
        fence(Ordering::Release);
        // SAFETY: these are the chunk's own bytes, held exclusively by the caller (state Packing).
        unsafe { std::ptr::write_bytes(self.first() as *mut u8, 0, bytes) };
        // A reader that sees any field of a slot's next segment then also sees that the slot was erased (`copies.rs` of the models).
        fence(Ordering::Release);
    }

    /// Converts the chunk from segments to packed (encoded) blocks. The caller must hold the chunk exclusively.
    pub(super) fn become_packed(self) {
        self.erase();
        self.0.packed.store(0, Ordering::Relaxed);
        self.set_state(State::Packed);
    }

    /// Reserves `bytes` bytes of the chunk for a packed (encoded) block. Returns their address; `None` if they do not fit.
    pub(super) fn take(self, bytes: usize) -> Option<usize> {
        let room = self.bytes() - HEADER_BYTES;
        let take = |packed: u32| (packed as usize + bytes <= room).then(|| packed + bytes as u32);
        let at = self.0.packed.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take).ok()?;
        Some(self.first() + at as usize)
    }

    pub(super) fn packed(self) -> &'static [u8] {
        if !self.is_packed() {
            return &[];
        }
        let taken = (self.0.packed.load(Ordering::Acquire) as usize).min(self.bytes() - HEADER_BYTES);
        // SAFETY: the bytes lie inside the chunk.
        unsafe { std::slice::from_raw_parts(self.first() as *const u8, taken) }
    }
}
