//! A chunk of the arena: a header and slots for segments, or packed blocks.
#![expect(unsafe_code, reason = "memory shared by the program's threads")]

use super::slot::Slot;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use trace_format::{Segment, spool};

/// Header of a chunk; as large as a segment, so that segments stay aligned.
#[repr(C, align(32))]
pub(super) struct Header {
    magic: AtomicU64,
    /// Index of the owning thread.
    thread: AtomicU32,
    /// Size of the chunk in bytes, this header included.
    bytes: AtomicU32,
    /// One of [`State`].
    state: AtomicU32,
    /// Which of its thread's chunks it is.
    sequence: AtomicU32,
    /// Bytes taken by packed blocks.
    packed: AtomicU32,
    /// Whether the last slot may yet be written to; see [`Chunk::limit`].
    spare_awaited: AtomicU32,
}

/// Size of a chunk's header.
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

/// What a chunk is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum State {
    /// Its thread is filling it.
    Active = spool::chunk::ACTIVE,
    /// Its thread has filled it.
    Full = spool::chunk::FULL,
    /// Somebody is packing its segments.
    Packing = spool::chunk::PACKING,
    /// It holds packed blocks.
    Packed = spool::chunk::HOLDS_BLOCKS,
}

/// A chunk.
#[derive(Clone, Copy)]
pub(crate) struct Chunk(&'static Header);

impl Chunk {
    /// A chunk that has just been cut, of `bytes` bytes.
    pub(super) fn cut(header: &'static Header, bytes: u32) -> Self {
        header.bytes.store(bytes, Ordering::Relaxed);
        header.state.store(State::Active as u32, Ordering::Relaxed);
        header.spare_awaited.store(0, Ordering::Relaxed);
        header.magic.store(spool::chunk::MAGIC_VALUE, Ordering::Release);
        Self(header)
    }

    /// The chunk that begins at `header`, at most `most` bytes long; `None` if none does.
    pub(super) fn at(header: &'static Header, most: usize) -> Option<Self> {
        let whole = header.magic.load(Ordering::Acquire) == spool::chunk::MAGIC_VALUE;
        let bytes = header.bytes.load(Ordering::Relaxed) as usize;
        (whole && (HEADER_BYTES..=most).contains(&bytes)).then_some(Self(header))
    }

    /// The chunk whose first slot is at this address.
    ///
    /// # Safety
    /// [`Self::first`] of a chunk gave the address; chunks are never unmapped.
    pub(super) unsafe fn of_first(first: usize) -> Self {
        // SAFETY: the caller's address is that of a chunk's first slot, behind its header.
        Self(unsafe { &*((first - HEADER_BYTES) as *const Header) })
    }

    /// Gives the chunk to a thread, as its `sequence`th.
    pub(super) fn give(self, thread: u32, sequence: u32) {
        self.0.thread.store(thread, Ordering::Relaxed);
        self.0.sequence.store(sequence, Ordering::Relaxed);
        self.0.spare_awaited.store(0, Ordering::Relaxed);
        self.set_state(State::Active);
    }

    /// Index of the owning thread, and which of its chunks this is.
    pub(crate) fn owner(self) -> (u32, u32) {
        (self.0.thread.load(Ordering::Relaxed), self.0.sequence.load(Ordering::Relaxed))
    }

    /// Size in bytes, with its header.
    pub(super) fn bytes(self) -> usize {
        self.0.bytes.load(Ordering::Relaxed) as usize
    }

    /// Address of the first slot.
    pub(super) fn first(self) -> usize {
        std::ptr::from_ref(self.0) as usize + HEADER_BYTES
    }

    /// Address of the last slot, which is spare: the first call that finds the chunk full has been given this place before it
    /// looks at the limit. If a signal handler comes in between and gets the thread another chunk, the call compares with that
    /// one's limit, and may write here.
    pub(super) fn limit(self) -> usize {
        self.end() - size_of::<Segment>()
    }

    /// Such a call has been interrupted: the spare slot may yet be written to.
    pub(super) fn await_spare(self) {
        self.0.spare_awaited.store(1, Ordering::Relaxed);
    }

    /// Whether it may.
    pub(super) fn awaits_spare(self) -> bool {
        self.0.spare_awaited.load(Ordering::Relaxed) != 0
    }

    /// The slots up to the spare one, and that, if it is filled.
    pub(crate) fn filled_slots(self) -> &'static [Slot] {
        match self.slots() {
            [rest @ .., spare] if !spare.is_filled() => rest,
            slots => slots,
        }
    }

    /// Address behind the last slot.
    pub(super) fn end(self) -> usize {
        std::ptr::from_ref(self.0) as usize + self.bytes()
    }

    pub(super) fn set_state(self, state: State) {
        self.0.state.store(state as u32, Ordering::Release);
    }

    /// Changes the state from `old` to `new`; false if it was another.
    pub(super) fn change_state(self, old: State, new: State) -> bool {
        self.0.state.compare_exchange(old as u32, new as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Puts `segment` into every slot.
    #[cfg(test)]
    pub(super) fn fill(self, segment: Segment) {
        for at in (self.first()..self.end()).step_by(size_of::<Segment>()) {
            // SAFETY: a slot of the chunk, which only this test knows of.
            unsafe { (at as *mut Segment).write(segment) };
        }
    }

    /// Whether its thread has filled it and every call in it is over. One that a signal handler has interrupted may yet have
    /// to write into the slot that it was given. Nor is it where segments wait for their trace to be written.
    pub(super) fn is_complete(self) -> bool {
        let may_go = |slot: &Slot| slot.is_filled() && !slot.is_taken();
        let full = self.0.state.load(Ordering::Acquire) == State::Full as u32;
        let slots = if self.awaits_spare() { self.slots() } else { self.filled_slots() };
        full && slots.iter().all(may_go)
    }

    /// Whether it holds packed blocks.
    pub(crate) fn is_packed(self) -> bool {
        self.0.state.load(Ordering::Acquire) == State::Packed as u32
    }

    /// Its slots. Nothing if it holds packed blocks.
    pub(crate) fn slots(self) -> &'static [Slot] {
        if self.is_packed() {
            return &[];
        }
        let count = (self.bytes() - HEADER_BYTES) / size_of::<Segment>();
        // SAFETY: inside the chunk, aligned, mapped for good, valid for any bits; threads may write them meanwhile.
        unsafe { std::slice::from_raw_parts(self.first() as *const Slot, count) }
    }

    /// Empties the slots.
    pub(super) fn erase(self) {
        let bytes = self.bytes() - HEADER_BYTES;
        // Whoever sees a slot erased sees the block that its segment is in by now.
        fence(Ordering::Release);
        // SAFETY: the chunk's own bytes; the caller holds it alone (state Packing).
        unsafe { std::ptr::write_bytes(self.first() as *mut u8, 0, bytes) };
        // And whoever sees any of the next segment in a slot sees that slot erased before (`copies.rs` of the models).
        fence(Ordering::Release);
    }

    /// Makes it a chunk of packed blocks; the caller holds it alone.
    pub(super) fn become_packed(self) {
        self.erase();
        self.0.packed.store(0, Ordering::Relaxed);
        self.set_state(State::Packed);
    }

    /// Takes room for `bytes` bytes of a packed block; returns their address, or `None` if there is too little.
    pub(super) fn take(self, bytes: usize) -> Option<usize> {
        let room = self.bytes() - HEADER_BYTES;
        let take = |packed: u32| (packed as usize + bytes <= room).then(|| packed + bytes as u32);
        let at = self.0.packed.fetch_update(Ordering::AcqRel, Ordering::Relaxed, take).ok()?;
        Some(self.first() + at as usize)
    }

    /// The bytes taken by packed blocks.
    pub(super) fn packed(self) -> &'static [u8] {
        if !self.is_packed() {
            return &[];
        }
        let taken = (self.0.packed.load(Ordering::Acquire) as usize).min(self.bytes() - HEADER_BYTES);
        // SAFETY: inside the chunk.
        unsafe { std::slice::from_raw_parts(self.first() as *const u8, taken) }
    }
}
