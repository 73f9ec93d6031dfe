//! Target of a call that has a descriptor: the description before the call, and a check that the number has not changed since.

use super::description::{self, Description};
use super::descriptors;
use crate::registry::{self, File};

/// File and position on which a call with a descriptor acts, as known before the call.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Description before the call. The call used its file only if [`Self::is_certain`].
    pub(crate) description: &'static Description,
    number: libc::c_int,
    /// Number of descriptor changes when the number was looked up, or [`NEVER`].
    seen: u64,
}

/// Value of `seen` for a number whose file is unknown.
const NEVER: u64 = u64::MAX;

impl Target {
    /// Makes a target: `number` refers to `description`, according to a look-up after `seen` descriptor changes.
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

    /// True if the system call, which has just returned, certainly used this description's file.
    #[inline(always)]
    pub(crate) fn is_certain(&self) -> bool {
        descriptors::changes() == self.seen || self.is_still()
    }

    #[cold]
    fn is_still(&self) -> bool {
        self.seen != NEVER && !descriptors::was_left(self.number, self.seen)
    }

    /// Returns the target of an asynchronous operation that is submitted with this descriptor.
    pub(crate) fn sent(&self) -> Sent {
        let since = Since { number: self.number, seen: self.seen };
        if self.is_certain() { Sent::If(self.description.file(), since) } else { Sent::Uncertain }
    }

    /// Returns the file of a call made with this descriptor; `None` if the number is not open, so that the call fails.
    pub(crate) fn file(&self) -> Option<&'static File> {
        match self.is_certain() {
            true => Some(self.description.file()),
            false if self.number < 0 => None,
            false => registry::uncertain_file(),
        }
    }
}

/// Target of an asynchronous operation: the kernel or the C library resolves its descriptor after the hook does.
#[derive(Clone, Copy)]
pub(crate) enum Sent {
    /// The operation uses this file.
    To(&'static File),
    /// The completion will identify the file.
    Untold,
    /// The operation uses this file if the number still refers to it when the descriptor is resolved.
    If(&'static File, Since),
    /// The file is unknown.
    Uncertain,
}

impl Sent {
    /// Checks the target again, now that the kernel or the C library has resolved the descriptor.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::If(file, since) if since.is_certain() => Self::To(file),
            Self::If(..) => Self::Uncertain,
            other => other,
        }
    }
}

/// Descriptor number, and the number of descriptor changes when it was looked up.
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
