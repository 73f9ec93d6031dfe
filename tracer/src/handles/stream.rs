//! Where a C stream stood after the last call that was seen, so that the next call need not ask. The C library knows the
//! position of a stream only after a seek; until then ftello(3) asks the kernel each time.
//!
//! What is remembered holds only while the stream's buffer is exactly as that call left it (the marks): whatever moves the
//! stream moves one of its pointers. It holds less if others can move the kernel's position under a stream: see `Trust`.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};

/// The pointers of a stream's buffer that a transfer moves.
pub(crate) type Marks = [usize; 4];

/// Who may move the kernel's position behind a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Trust {
    /// Anyone who has the descriptor: another process, the program itself by system calls. What is remembered holds while
    /// bytes wait in the buffer: where those go is settled when the buffer is emptied, and so ask once per buffer.
    Others = 0,
    /// The stream alone: fopen(3) made the descriptor and nobody has asked for its number or forked since.
    Alone = 1,
}

/// Position of the stream on a description.
pub(crate) struct StreamPosition {
    trust: AtomicU8,
    /// Or -1.
    at: AtomicI64,
    marks: [AtomicUsize; 4],
}

impl StreamPosition {
    /// Nothing known, nobody trusted.
    pub(super) const fn new() -> Self {
        Self {
            trust: AtomicU8::new(Trust::Others as u8),
            at: AtomicI64::new(-1),
            marks: [const { AtomicUsize::new(0) }; 4],
        }
    }

    /// Who may move the position, from now on; what was known is forgotten.
    pub(crate) fn trust(&self, trust: Trust) {
        self.trust.store(trust as u8, Ordering::Relaxed);
        self.forget();
    }

    /// Something has moved the position.
    #[inline(always)]
    pub(crate) fn forget(&self) {
        self.at.store(-1, Ordering::Relaxed);
    }

    /// The position, if the stream is still as it was left; forgets it, since a call is about to move it. `waiting` says
    /// that the buffer holds bytes.
    #[inline(always)]
    pub(crate) fn take(&self, marks: Marks, waiting: bool) -> Option<i64> {
        let at = self.at.load(Ordering::Relaxed);
        let same = self.marks.iter().zip(marks).all(|(mark, now)| mark.load(Ordering::Relaxed) == now);
        self.forget();
        let trusted = waiting || self.trust.load(Ordering::Relaxed) == Trust::Alone as u8;
        (at >= 0 && same && trusted).then_some(at)
    }

    /// The stream was left at `at` with these marks.
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
        assert_eq!(position.take([1, 2, 3, 5], false), None);
        position.put(7, marks);
        assert_eq!(position.take(marks, false), Some(7));
        position.put(7, marks);
        position.trust(Trust::Others);
        assert_eq!(position.take(marks, true), None);
    }
}
