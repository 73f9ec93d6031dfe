//! Accesses to files: the input of loop recognition.

use crate::expand::Untimed;

/// One read or write of a contiguous byte range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Operation number, assigned by the caller; equal numbers mean equal operations.
    pub op: u16,
    /// First byte accessed.
    pub offset: u64,
    /// Number of bytes accessed.
    pub length: u64,
    /// Start of the call, in ns.
    pub start_ns: u64,
    /// End of the call, in ns.
    pub end_ns: u64,
}

/// Several calls of one operation, stored in columns as in a trace.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// First byte of each call; negative if the offset is unknown.
    pub offset: &'a [i64],
    /// Length of each call, in bytes.
    pub length: &'a [u64],
    /// Start of each call, in ns; `shift` must be added.
    pub start: &'a [u64],
    /// End of each call, in ns; `shift` must be added.
    pub end: &'a [u64],
    /// Clock offset to add to `start` and `end`, in ns.
    pub shift: u64,
}

impl Access {
    /// Returns operation, first byte and length (bytes): all that loop recognition examines. Times have no influence on it.
    #[must_use]
    pub const fn untimed(&self) -> Untimed {
        (self.op, self.offset, self.length)
    }
}
