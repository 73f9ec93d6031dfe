//! Accesses to files, the input of the recogniser.

/// One read or write of a contiguous byte range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Operation number; equal numbers are equal operations.
    pub op: u16,
    /// First byte.
    pub offset: u64,
    /// Length, in bytes.
    pub length: u64,
    /// Start of the call, in ns.
    pub start_ns: u64,
    /// End of the call, in ns.
    pub end_ns: u64,
}

/// Calls of one operation in columns, as a trace stores them.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// First byte of each call; negative if unknown.
    pub offset: &'a [i64],
    /// Length of each call, in bytes.
    pub length: &'a [u64],
    /// Start of each call, in ns, minus `shift`.
    pub start: &'a [u64],
    /// End of each call, in ns, minus `shift`.
    pub end: &'a [u64],
    /// Offset to add to `start` and `end`, in ns.
    pub shift: u64,
}

impl Access {
    /// Returns operation, first byte and length: all that loop recognition looks at. Times do not count.
    #[must_use]
    pub const fn what(&self) -> (u16, u64, u64) {
        (self.op, self.offset, self.length)
    }
}
