//! Cached position of a C stream (FILE), so that the next call need not ask the C library for it. The C library knows the position of a
//! stream only after a seek; until then ftello(3) asks the kernel each time.
//!
//! The cached position is valid only while the stream uses its buffer as the last call left it. The buffer's pointers (marks) show that:
//! any move of the stream changes one of them. If others can move the kernel's position, validity is shorter, see [`Trust`].

use crate::notes::Note;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};

/// Pointers of a stream's buffer that a transfer moves: [read position, end of input, start of output, write position].
pub(crate) type Marks = [usize; 4];

/// Parties that may move the kernel's file position of a C stream.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Trust {
    /// Any holder of the descriptor: another process, or the program itself by system calls. The cached position is valid only while the
    /// buffer holds bytes: where these bytes go in the file is decided when the buffer is flushed, so the kernel is asked for the position
    /// once per buffer.
    Others = 0,
    /// Only the stream: fopen(3) created the descriptor, and the program has neither asked for its number nor forked since.
    Alone = 1,
}

/// Cached position of the C stream that uses an open file description.
pub(crate) struct StreamPosition {
    trust: AtomicU8,
    /// Position in bytes; -1 if unknown; [`NOT_LEFT`] if the stream has been moved since the last recorded call.
    at: AtomicI64,
    /// Buffer pointers of the stream after the last call; meaningless if `at` is [`NOT_LEFT`].
    marks: [AtomicUsize; 4],
}

const NOT_LEFT: i64 = i64::MIN;

impl StreamPosition {
    /// Makes an empty cache of a C stream's position, which any holder of the descriptor may move ([`Trust::Others`]).
    pub(super) const fn new() -> Self {
        Self {
            trust: AtomicU8::new(Trust::Others as u8),
            at: AtomicI64::new(NOT_LEFT),
            marks: [const { AtomicUsize::new(0) }; 4],
        }
    }

    /// Sets which parties may move the file position of the stream from now on, and forgets the cached position.
    pub(crate) fn trust(&self, trust: Trust) {
        self.trust.store(trust as u8, Ordering::Relaxed);
        self.forget();
    }

    /// Forgets the cached position, because something other than a recorded call has moved the stream.
    #[inline(always)]
    pub(crate) fn forget(&self) {
        self.at.store(NOT_LEFT, Ordering::Relaxed);
    }

    /// Returns the cached position, and forgets it because the caller's operation will move the stream. `None` unless the stream still uses
    /// the same buffer. `waiting`: true if the buffer holds bytes.
    #[inline(always)]
    pub(crate) fn take(&self, marks: Marks, waiting: bool) -> Option<i64> {
        let at = self.at.load(Ordering::Relaxed);
        self.forget();
        let trusted = waiting || self.trust.load(Ordering::Relaxed) == Trust::Alone as u8;
        let [read, input_end, output, written] = marks;
        let left = |mark: usize| self.marks[mark].load(Ordering::Relaxed);
        let same = left(0) == read && left(1) == input_end && left(2) == output && left(3) == written;
        // Passed as scalars, since an array would have to be in memory.
        let at = if same { at } else { self.moved_on(at, read, input_end, output, written) };
        (at >= 0 && trusted).then_some(at)
    }

    /// Returns the current position of a stream that was at `at` after the last call and has since moved within its buffer. Inlined header
    /// code, such as getc_unlocked, moves within the buffer; the function that it calls at the end of the buffer resets the cache. `read`,
    /// `input_end`, `output`, `written`: the buffer pointers now (see [`Marks`]).
    #[cold]
    #[inline(never)]
    fn moved_on(&self, at: i64, read: usize, input_end: usize, output: usize, written: usize) -> i64 {
        let left = |mark: usize| self.marks[mark].load(Ordering::Relaxed);
        let (read, written) = (read.wrapping_sub(left(0)) as i64, written.wrapping_sub(left(3)) as i64);
        let same =
            input_end == left(1) && output == left(2) && read >= 0 && written >= 0 && (read == 0 || written == 0);
        // The stored pointers are meaningless under `NOT_LEFT`.
        if !same || at == NOT_LEFT {
            return NOT_LEFT;
        }
        Note::Unlocked.count_many((read + written) as u64);
        if at >= 0 { at + read + written } else { at }
    }

    /// Caches the stream's position `at` (-1: unknown) and the buffer pointers after a call.
    #[inline(always)]
    pub(crate) fn put(&self, at: i64, marks: Marks) {
        for (mark, now) in self.marks.iter().zip(marks) {
            mark.store(now, Ordering::Relaxed);
        }
        self.at.store(at, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_only_while_nothing_has_moved() {
        let position = StreamPosition::new();
        let marks = [1, 2, 3, 4];
        position.put(100, marks);
        assert_eq!(position.take(marks, false), None);
        position.put(100, marks);
        assert_eq!(position.take(marks, true), Some(100));
        assert_eq!(position.take(marks, true), None);
        position.trust(Trust::Alone);
        position.put(7, marks);
        assert_eq!(position.take([1, 2, 3, 9], false), Some(12));
        position.put(7, marks);
        assert_eq!(position.take([2, 2, 3, 4], false), Some(8));
        for moved in [[0, 2, 3, 4], [1, 3, 3, 4], [1, 2, 4, 4], [1, 2, 3, 3], [2, 2, 3, 5]] {
            position.put(7, marks);
            assert_eq!(position.take(moved, false), None);
        }
        position.put(7, marks);
        assert_eq!(position.take(marks, false), Some(7));
        position.put(7, marks);
        position.trust(Trust::Others);
        assert_eq!(position.take(marks, true), None);
    }
}
