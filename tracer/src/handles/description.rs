//! Open file descriptions, shared by descriptors that dup(2) makes. Each description has a file position, which read(2) and write(2) move;
//! the tracer tracks the position to avoid asking the kernel at each call.
#![expect(unsafe_code, reason = "references into reserved memory")]

mod turns;

use super::manner::Manner;
use super::stream::{StreamPosition, Trust};
use super::target::Used;
use crate::memory::{Record, Table};
use crate::registry::File;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use trace_format::meta::stream_flags;

pub(crate) use turns::Mover;

/// Way in which the tracer learns an open file description's file position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Position {
    Followed = 0,
    /// Others move the file position too (another process, a C stream); the tracer asks the kernel after each call.
    Shared = 1,
    /// The file has no position (terminals and other character devices).
    None = 2,
}

/// File offset of a call, with the flags to be recorded for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// File offset in bytes, or -1 if unknown.
    pub(crate) offset: i64,
    /// Bits of [`stream_flags`] for the call. One bit marks an estimated offset: other threads or processes may have moved the position or
    /// the end of the file.
    pub(crate) marks: u8,
}

impl Placed {
    /// Makes an exact file offset; -1 means that the call has no offset.
    #[inline(always)]
    pub(crate) const fn at(offset: i64) -> Self {
        Self { offset, marks: 0 }
    }

    /// Makes a file offset that is flagged as an estimate if `is_estimate` is true.
    #[inline(always)]
    pub(crate) const fn about(offset: i64, is_estimate: bool) -> Self {
        Self { offset, marks: if is_estimate { stream_flags::ESTIMATED } else { 0 } }
    }

    /// Adds `manner`, the open flags of the call's file, to the flags recorded for the call.
    #[inline(always)]
    pub(crate) const fn by(self, manner: Manner) -> Self {
        Self { marks: self.marks | manner.bits(), ..self }
    }
}

/// Open file description of the program (see open(2)): file, position and open flags.
pub(crate) struct Description {
    /// Encoded [`Used`]: file and open flags in one word, so that a hook reads both at once; 0 without a file.
    file: AtomicUsize,
    position: AtomicI64,
    kind: AtomicU8,
    /// True if the position is also moved without the serialization of [`turns`]: by other processes, or by a thread whose turn (right to
    /// move the position) was taken over.
    others: AtomicBool,
    /// Number of descriptors that refer to this description.
    references: AtomicU32,
    /// Number of the thread or stack frame that alone may move the position now (owner of the turn, see [`turns`]), or 0. While not 0, the
    /// record is not reused for another file.
    mover: AtomicU32,
    next_free: AtomicPtr<Description>,
    /// Cached position of the C stream that uses this description, if there is one.
    stream: StreamPosition,
}

// SAFETY: a record can be found only once it is complete.
unsafe impl Record for Description {}

static DESCRIPTIONS: Table<Description> = Table::new();
/// Free list of descriptions that no descriptor refers to. Records leave the list only under the lock `FREE_BUSY`, so a record cannot
/// return to the list while another thread is taking it.
static FREE: AtomicPtr<Description> = AtomicPtr::new(std::ptr::null_mut());
/// List of descriptions that no descriptor refers to, but that were still in use when last checked: by a call in progress that moves the
/// position (a turn, [`turns`]), or by such a call that a signal handler left by a jump. Becomes the free list once the free list is empty.
/// Changed only under the lock `FREE_BUSY`.
static IN_USE: AtomicPtr<Description> = AtomicPtr::new(std::ptr::null_mut());
/// Maximum number of descriptions still in use by a call that are skipped in the search for a free record.
const PASSED_OVER: usize = 32;
static FREE_BUSY: AtomicU8 = AtomicU8::new(0);

/// Reserves address space for `count` open file descriptions.
pub(super) fn prepare(count: usize) {
    DESCRIPTIONS.prepare(count);
}

/// Creates a description with one reference and file position `at` in bytes; `None` if the table is full.
pub(super) fn new(file: &'static File, position: Position, manner: Manner, at: i64) -> Option<&'static Description> {
    let description =
        reuse().or_else(|| DESCRIPTIONS.push(Description::of_nothing(Position::Followed)).map(|(_, new)| new))?;
    description.file.store(Used::word(file, manner), Ordering::Relaxed);
    description.position.store(at, Ordering::Relaxed);
    description.kind.store(position as u8, Ordering::Relaxed);
    description.others.store(false, Ordering::Relaxed);
    description.stream.trust(Trust::Others);
    if IN_DOUBT.load(Ordering::Relaxed) {
        description.share_with_others();
    }
    description.references.store(1, Ordering::Release);
    Some(description)
}

/// Returns a placeholder for an unknown description, without file and position.
pub(super) fn nowhere() -> &'static Description {
    static NOWHERE: Description = Description::of_nothing(Position::None);
    &NOWHERE
}

/// True once a call may have moved the file position of a description that the tracer could not identify.
static IN_DOUBT: AtomicBool = AtomicBool::new(false);

/// Marks all file positions as uncertain, because a call may have moved any of them. From now on the kernel is asked for positions, and
/// offsets are estimates.
#[cold]
pub(crate) fn doubt_positions() {
    if !IN_DOUBT.swap(true, Ordering::SeqCst) {
        for description in DESCRIPTIONS.iter() {
            description.share_with_others();
            description.stream.trust(Trust::Others);
        }
    }
}

fn reuse() -> Option<&'static Description> {
    // If the list is busy (another thread, or code that this signal handler interrupted), the caller makes a new record.
    if FREE.load(Ordering::Relaxed).is_null() || FREE_BUSY.swap(1, Ordering::Acquire) != 0 {
        return None;
    }
    let mut taken = None;
    for _ in 0..PASSED_OVER {
        let Some(found) = first_free() else {
            let others = IN_USE.load(Ordering::Relaxed);
            if FREE.compare_exchange(std::ptr::null_mut(), others, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                IN_USE.store(std::ptr::null_mut(), Ordering::Relaxed);
            }
            break;
        };
        if found.mover.load(Ordering::Acquire) == 0 {
            taken = Some(found);
            break;
        }
        found.next_free.store(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
        IN_USE.store(std::ptr::from_ref(found).cast_mut(), Ordering::Relaxed);
    }
    FREE_BUSY.store(0, Ordering::Release);
    taken
}

/// Takes the first record off the free list, under `FREE_BUSY`; `None` if the list is empty.
fn first_free() -> Option<&'static Description> {
    loop {
        let head = FREE.load(Ordering::Acquire);
        // SAFETY: null or a record of the table.
        let found = unsafe { head.as_ref() }?;
        let next = found.next_free.load(Ordering::Relaxed);
        if FREE.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return Some(found);
        }
    }
}

/// Marks the file position of every description as shared with another process.
pub(super) fn share_all() {
    for description in DESCRIPTIONS.iter() {
        description.share_with_others();
        description.stream.trust(Trust::Others);
        description.mover.store(0, Ordering::Relaxed);
    }
    FREE_BUSY.store(0, Ordering::Relaxed);
}

impl Description {
    const fn of_nothing(position: Position) -> Self {
        Self {
            file: AtomicUsize::new(0),
            position: AtomicI64::new(0),
            kind: AtomicU8::new(position as u8),
            others: AtomicBool::new(false),
            references: AtomicU32::new(0),
            mover: AtomicU32::new(0),
            next_free: AtomicPtr::new(std::ptr::null_mut()),
            stream: StreamPosition::new(),
        }
    }

    /// Returns the file of this description; `None` for [`nowhere`], the placeholder.
    #[inline(always)]
    pub(super) fn file(&self) -> Option<&'static File> {
        self.described().map(Used::file)
    }

    /// Adds a reference for one more descriptor, unless the record has no references any more; returns true if added. The record may have
    /// been reused for another file: check afterwards that the descriptor still refers to this record.
    pub(super) fn retain(&self) -> bool {
        let more = |references| (references != 0).then_some(references + 1);
        self.references.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    /// Drops one descriptor's reference; dropping the last one frees the record.
    pub(super) fn release(&'static self) {
        if self.references.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let this = std::ptr::from_ref(self).cast_mut();
        let mut head = FREE.load(Ordering::Relaxed);
        loop {
            self.next_free.store(head, Ordering::Relaxed);
            match FREE.compare_exchange_weak(head, this, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Marks the file position as also moved by others (another process, a C stream).
    pub(crate) fn share(&self) {
        let followed = Position::Followed as u8;
        let _ = self.kind.compare_exchange(followed, Position::Shared as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Marks the position as also moved by others that take no turns (other processes, or a thread whose turn was taken over). A position
    /// that the kernel reports may then include their moves.
    pub(crate) fn share_with_others(&self) {
        self.share();
        self.others.store(true, Ordering::Release);
    }

    /// True if calls on the file are recorded without flags: nobody else moves the position, and the file was opened without special flags.
    #[inline(always)]
    pub(crate) fn is_plain(&self, used: Used) -> bool {
        used.is_plain() && !self.others.load(Ordering::Relaxed)
    }

    /// True if a C stream's position is only an estimate: other processes or threads may move the position too, or (for `writes`) the
    /// flushed bytes will be appended.
    #[inline(always)]
    pub(crate) fn is_in_doubt(&self, writes: bool) -> bool {
        self.others.load(Ordering::Relaxed) || writes && self.appends()
    }

    pub(crate) fn has_position(&self) -> bool {
        self.kind.load(Ordering::Relaxed) != Position::None as u8
    }

    /// True if writes go to the end of the file (O_APPEND).
    pub(crate) fn appends(&self) -> bool {
        self.manner().appends()
    }

    /// Returns file and open flags. They belong to another file if a later check finds that the descriptor no longer refers to this record.
    #[inline(always)]
    pub(super) fn described(&self) -> Option<Used> {
        // Acquire: later loads then show if the descriptor had been changed before.
        NonZero::new(self.file.load(Ordering::Acquire)).map(Used)
    }

    #[inline(always)]
    fn manner(&self) -> Manner {
        self.described().map_or(Manner::PLAIN, |used| used.manner(true))
    }

    /// Applies the flags set by fcntl(F_SETFL), which can change only some open flags.
    pub(super) fn set_flags(&self, flags: libc::c_int) {
        let (may, wanted) = (usize::from(Manner::CHANGEABLE.small()), usize::from(Manner::of_opening(flags).small()));
        self.file.fetch_or(wanted & may, Ordering::Relaxed);
        self.file.fetch_and(wanted | !may, Ordering::Relaxed);
    }

    /// Sets O_APPEND, as fdopen(3) does for a C stream in append mode.
    pub(crate) fn set_appending(&self) {
        debug_assert!(self.described().is_some(), "flags without a file look like a file");
        self.file.fetch_or(Manner::APPENDING.small().into(), Ordering::Relaxed);
    }

    /// Returns the tracked position of the C stream on this description.
    #[inline(always)]
    pub(crate) fn stream(&self) -> &StreamPosition {
        &self.stream
    }

    /// Returns the file offset at which a failed call would have begun, if known without asking the kernel. `writes`: true for a write.
    pub(crate) fn position(&self, writes: bool) -> i64 {
        let followed = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        if followed && !(writes && self.appends()) {
            self.position.load(Ordering::Relaxed)
        } else {
            trace_format::segment::NO_OFFSET
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Identity, find_or_add};

    /// Checks that records are reused only without references and calls in progress. A single test, since all tests of the process share
    /// the table.
    #[test]
    fn records_are_used_again_once_nothing_refers_to_them() {
        crate::registry::prepare_for_tests();
        prepare(256);
        let file = find_or_add(b"/data/described", Identity::default()).unwrap();
        let make = || new(file, Position::Followed, Manner::PLAIN, 0).unwrap();
        let (used, other) = (make(), make());
        let mover = used.turn();
        used.release();
        other.release();
        let found: Vec<_> = (0..8).map(|_| make()).collect();
        assert!(found.iter().any(|one| std::ptr::eq(*one, other)), "a free record is used again");
        assert!(found.iter().all(|one| !std::ptr::eq(*one, used)), "a call moves its position");
        used.settle(mover);
        assert!((0..8).any(|_| std::ptr::eq(make(), used)), "the call has ended");

        // A record without references cannot be retained.
        let one = new(file, Position::Followed, Manner::APPENDING, 0).unwrap();
        assert!(one.retain());
        one.release();
        assert!(one.described().is_some_and(|used| std::ptr::eq(used.file(), file) && !used.is_plain()));
        one.set_flags(0);
        assert!(one.described().is_some_and(|used| std::ptr::eq(used.file(), file) && used.is_plain()));
        let nobodys = nowhere();
        assert!(!nobodys.retain() && nobodys.described().is_none());
    }
}
