//! Descriptor of a call: its description before the call, and a check that the number has not changed since.

use super::description::{self, Description};
use super::descriptors;
use crate::registry::{self, File};

/// Target of a call's descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Description before the call. Its file is the call's only if [`Self::is_certain`].
    pub(crate) description: &'static Description,
    number: libc::c_int,
    /// Number of table changes before the look-up, or [`NEVER`].
    seen: u64,
}

/// Value for a number whose file is unknown.
const NEVER: u64 = u64::MAX;

impl Target {
    /// Makes a target: `number` refers to `description`, looked up after `seen` changes.
    #[inline(always)]
    pub(super) const fn new(description: &'static Description, number: libc::c_int, seen: u64) -> Self {
        Self { description, number, seen }
    }

    /// Makes a target whose file is unknown.
    pub(super) fn uncertain(number: libc::c_int) -> Self {
        Self { description: description::nowhere(), number, seen: NEVER }
    }

    /// Makes a target for a number that is not open; others may open it before the call is made.
    pub(super) fn not_open() -> Self {
        Self::uncertain(-1)
    }

    /// True if the system call, just made, went to the description's file for certain.
    #[inline(always)]
    pub(crate) fn is_certain(&self) -> bool {
        descriptors::changes() == self.seen || self.is_still()
    }

    #[cold]
    fn is_still(&self) -> bool {
        self.seen != NEVER && !descriptors::was_left(self.number, self.seen)
    }

    /// Returns the target of an operation that is submitted with this descriptor.
    pub(crate) fn sent(&self) -> Sent {
        let since = Since { number: self.number, seen: self.seen };
        if self.is_certain() { Sent::If(self.description.file(), since) } else { Sent::Uncertain }
    }

    /// Returns the file of a call made with this descriptor; `None` for a number that is not open, on which the call fails.
    pub(crate) fn file(&self) -> Option<&'static File> {
        match self.is_certain() {
            true => Some(self.description.file()),
            false if self.number < 0 => None,
            false => registry::uncertain_file(),
        }
    }
}

/// Target of an operation submitted now and executed later: the kernel or the C library resolves its descriptor after the hook does.
#[derive(Clone, Copy)]
pub(crate) enum Sent {
    /// This file.
    To(&'static File),
    /// The file that the completion will identify.
    Untold,
    /// This file, if the number still refers to it when the operation resolves its descriptor.
    If(&'static File, Since),
    /// Unknown.
    Uncertain,
}

impl Sent {
    /// Resolves the target: the operation has resolved its descriptor by now.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::If(file, since) if since.is_certain() => Self::To(file),
            Self::If(..) => Self::Uncertain,
            other => other,
        }
    }
}

/// Descriptor number, and the number of changes when it was looked up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Since {
    pub(super) number: libc::c_int,
    pub(super) seen: u64,
}

impl Since {
    fn is_certain(self) -> bool {
        descriptors::changes() == self.seen || !descriptors::was_left(self.number, self.seen)
    }
}
