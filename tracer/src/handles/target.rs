//! A descriptor in a call: what its number stood for before, and whether it has stood for that ever since.

use super::description::{self, Description};
use super::descriptors;
use crate::registry::{self, File};

/// What a call's descriptor stands for.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Before the call. Its file is the call's only if [`Self::is_certain`].
    pub(crate) description: &'static Description,
    number: libc::c_int,
    /// Changes of the table until then, or [`NEVER`].
    seen: u64,
}

/// Of a number that stands for what nobody knows.
const NEVER: u64 = u64::MAX;

impl Target {
    /// `number` is known to stand for `description`, and there were `seen` changes before that was looked up.
    #[inline(always)]
    pub(super) const fn new(description: &'static Description, number: libc::c_int, seen: u64) -> Self {
        Self { description, number, seen }
    }

    /// Nobody knows what the number stands for.
    pub(super) fn uncertain(number: libc::c_int) -> Self {
        Self { description: description::nowhere(), number, seen: NEVER }
    }

    /// A number that is not open. Others may open it until the call is made.
    pub(super) fn not_open() -> Self {
        Self::uncertain(-1)
    }

    /// After the system call: whether it went to the description's file, for certain.
    #[inline(always)]
    pub(crate) fn is_certain(&self) -> bool {
        descriptors::changes() == self.seen || self.is_still()
    }

    #[cold]
    fn is_still(&self) -> bool {
        self.seen != NEVER && !descriptors::was_left(self.number, self.seen)
    }

    /// Target of an operation that is submitted with this descriptor.
    pub(crate) fn sent(&self) -> Sent {
        let since = Since { number: self.number, seen: self.seen };
        if self.is_certain() { Sent::If(self.description.file(), since) } else { Sent::Uncertain }
    }

    /// The file that a call is booked on which has taken the descriptor; `None` for a number that is not open, on which it fails.
    pub(crate) fn file(&self) -> Option<&'static File> {
        match self.is_certain() {
            true => Some(self.description.file()),
            false if self.number < 0 => None,
            false => registry::uncertain_file(),
        }
    }
}

/// Target of an operation that is submitted and made later: the kernel or the C library looks its descriptor up after the hook does.
#[derive(Clone, Copy)]
pub(crate) enum Sent {
    /// To this file.
    To(&'static File),
    /// To the one that its end will tell.
    Untold,
    /// To this file, if the number stands for it until the operation has taken it.
    If(&'static File, Since),
    /// Nobody knows where.
    Uncertain,
}

impl Sent {
    /// The operation has taken its descriptor by now.
    pub(crate) fn settled(self) -> Self {
        match self {
            Self::If(file, since) if since.is_certain() => Self::To(file),
            Self::If(..) => Self::Uncertain,
            other => other,
        }
    }
}

/// A number, and when it was looked up.
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
