//! Accesses to files: the input of loop recognition.

use crate::expand::Untimed;

/// One read or write of a contiguous byte range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Operation number, assigned by the caller; equal numbers stand for equal operations.
    pub op: u16,
    /// File offset of the first byte accessed.
    pub offset: u64,
    /// Number of bytes accessed.
    pub length: u64,
    /// Start of the call, in ns.
    pub start_ns: u64,
    /// End of the call, in ns.
    pub end_ns: u64,
}

/// Calls of one operation, stored in columns as in a trace.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// Offset of each call's first byte; negative if unknown.
    pub offset: &'a [i64],
    /// Length of each call, in bytes.
    pub length: &'a [u64],
    /// Start of each call, in ns, before `shift` is added.
    pub start: &'a [u64],
    /// End of each call, in ns, before `shift` is added.
    pub end: &'a [u64],
    /// Clock offset that is added to `start` and `end`, in ns.
    pub shift: u64,
}

impl Access {
    /// Returns operation, offset of the first byte, and length in bytes: all that loop recognition examines; times do not influence it.
    #[must_use]
    pub const fn untimed(&self) -> Untimed {
        (self.op, self.offset, self.length)
    }
}
