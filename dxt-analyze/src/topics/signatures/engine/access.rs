//! One access to a file, as the recogniser takes it.

/// One read or write: what, where, how much, when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The operation's number; equal numbers are the same operation.
    pub op: u16,
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// When the call began.
    pub start_ns: u64,
    /// When it returned.
    pub end_ns: u64,
}

/// Accesses by one operation, as a trace has them.
#[derive(Clone, Copy, Debug)]
pub struct Accesses<'a> {
    /// First bytes; negative where they are not known.
    pub offset: &'a [i64],
    /// Bytes.
    pub length: &'a [u64],
    /// When the calls began, less `shift`.
    pub start: &'a [u64],
    /// When they returned, likewise.
    pub end: &'a [u64],
    /// Ns.
    pub shift: u64,
}

impl Access {
    /// What the structure is made of: times are not in it.
    #[must_use]
    pub const fn what(&self) -> (u16, u64, u64) {
        (self.op, self.offset, self.length)
    }
}
