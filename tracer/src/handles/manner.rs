//! Open flags that affect reads and writes, and are recorded with them: append, synchronous and direct I/O.

use crate::ops::Op;
use libc::c_int;
use trace_format::meta::stream_flags;
use trace_format::segment::NO_OFFSET;

/// Value of RWF_NOAPPEND (Linux 6.9), which the libc crate lacks.
const NO_APPEND: c_int = 0x20;

/// Open flags (append, synchronous, direct) recorded with a transfer: bits of [`stream_flags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner(u8);

impl Manner {
    /// No special open flags: transfers go through the page cache and are complete once in the page cache.
    pub(crate) const PLAIN: Self = Self(0);
    /// Open flag O_APPEND only: writes go to the end of the file.
    pub(crate) const APPENDING: Self = Self(stream_flags::APPENDED);
    /// Flags that fcntl(2) can change on an open file (F_SETFL).
    pub(super) const CHANGEABLE: Self = Self(stream_flags::APPENDED | stream_flags::DIRECT);

    /// Converts flags of open(2) to the flags that are recorded with transfers.
    #[inline(always)]
    pub(crate) const fn of_opening(flags: c_int) -> Self {
        let mut bits = 0;
        if flags & (libc::O_APPEND | libc::O_DIRECT | libc::O_DSYNC) != 0 {
            // O_SYNC includes the bit of O_DSYNC (open(2)).
            bits |= if flags & libc::O_APPEND != 0 { stream_flags::APPENDED } else { 0 };
            bits |= if flags & libc::O_DIRECT != 0 { stream_flags::DIRECT } else { 0 };
            bits |= if flags & libc::O_DSYNC != 0 { stream_flags::THROUGH } else { 0 };
        }
        Self(bits)
    }

    /// True if these pwritev2(2) `flags` make a write behave differently from the descriptor's open flags.
    #[inline(always)]
    pub(crate) const fn is_changed_by(flags: c_int) -> bool {
        flags & (libc::RWF_APPEND | NO_APPEND | libc::RWF_DSYNC | libc::RWF_SYNC) != 0
    }

    /// Returns the flags of one transfer with pwritev2(2) `flags`, on a file with the open flags `opened`.
    #[inline(always)]
    pub(crate) fn of_transfer(opened: Self, op: &Op, flags: c_int) -> Self {
        let manner = opened.of_call(op.writes());
        if op.writes() && Self::is_changed_by(flags) { manner.with_call(flags) } else { manner }
    }

    /// Returns flags and offset of an asynchronous operation at `offset`. The offset of appended bytes is unknown.
    pub(crate) fn of_operation(opened: Self, op: &Op, flags: c_int, offset: i64) -> (Self, i64) {
        let manner = if op.is_data() { Self::of_transfer(opened, op, flags) } else { Self::PLAIN };
        (manner, if op.is_data() { manner.offset(offset) } else { NO_OFFSET })
    }

    /// Returns the start offset of a transfer whose offset argument is `reported`; -1 if unknown before the transfer ends.
    pub(crate) fn offset(self, reported: i64) -> i64 {
        if self.appends() { NO_OFFSET } else { reported.max(NO_OFFSET) }
    }

    /// Returns the open flags as changed by the pwritev2(2) flags of one write.
    const fn with_call(self, flags: c_int) -> Self {
        let mut bits = self.0;
        bits &= if flags & NO_APPEND != 0 { !stream_flags::APPENDED } else { u8::MAX };
        bits |= if flags & libc::RWF_APPEND != 0 { stream_flags::APPENDED } else { 0 };
        bits |= if flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0 { stream_flags::THROUGH } else { 0 };
        Self(bits)
    }

    #[inline(always)]
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Extracts the open flags from bits of [`stream_flags`], which may include other flags.
    #[inline(always)]
    pub(super) const fn among(bits: u8) -> Self {
        Self(bits & (stream_flags::APPENDED | stream_flags::DIRECT | stream_flags::THROUGH))
    }

    /// Encodes the open flags as a number from 0 to 7, to be stored in 3 bits.
    pub(crate) const fn small(self) -> u8 {
        self.0 >> 5
    }

    /// Decodes the open flags from a number encoded by [`Self::small`].
    pub(crate) const fn of_small(small: u8) -> Self {
        Self::among(small << 5)
    }

    /// Returns those open flags that apply to a write (`writes` true) or a read. Only direct I/O matters for reads.
    #[inline(always)]
    pub(crate) const fn of_call(self, writes: bool) -> Self {
        if writes { self } else { Self(self.0 & stream_flags::DIRECT) }
    }

    /// True if writes go to the end of the file (O_APPEND).
    #[inline(always)]
    pub(crate) const fn appends(self) -> bool {
        self.0 & stream_flags::APPENDED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_open_and_of_single_calls() {
        assert_eq!(Manner::of_opening(libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC), Manner::PLAIN);
        assert_eq!(Manner::of_opening(libc::O_SYNC), Manner::of_opening(libc::O_DSYNC));
        let all = Manner::of_opening(libc::O_APPEND | libc::O_DIRECT | libc::O_SYNC);
        assert_eq!(all.bits(), stream_flags::APPENDED | stream_flags::DIRECT | stream_flags::THROUGH);
        assert_eq!((all.small(), Manner::of_small(all.small())), (7, all));
        assert_eq!(all.of_call(false).bits(), stream_flags::DIRECT);
        assert_eq!(Manner::APPENDING.with_call(NO_APPEND), Manner::PLAIN);
        assert_eq!(Manner::PLAIN.with_call(libc::RWF_DSYNC).bits(), stream_flags::THROUGH);
        assert_eq!(Manner::among(stream_flags::ESTIMATED | stream_flags::DIRECT).bits(), stream_flags::DIRECT);
    }
}
