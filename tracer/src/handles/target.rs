//! Target of a call that has a descriptor: the open file description before the call, and a check that the number has not changed since.
#![expect(unsafe_code, reason = "records that are never freed")]

use super::description::{self, Description};
use super::descriptors;
use super::manner::Manner;
use crate::registry::{self, File};
use std::num::NonZero;

/// File and position on which a call with a descriptor acts, as known before the call. Another thread may close the descriptor at any time;
/// the record may then be reused for another file, even right after the check that follows the call. So file and open flags are read before
/// the check ([`Self::used`]), and only a call that holds a turn (right to move the position), which prevents reuse, may change the
/// position ([`Description::moving`]).
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// Open file description to which the descriptor referred before the call.
    pub(crate) description: &'static Description,
    pub(crate) number: libc::c_int,
    /// Number of descriptor changes (close, dup2, ...) of this process up to the look-up of the descriptor, or [`NEVER`].
    seen: u64,
}

/// Value of [`Target::seen`] for a descriptor number whose file is unknown.
const NEVER: u64 = u64::MAX;

impl Target {
    /// Makes the target of a descriptor `number` that referred to `description` after `seen` descriptor changes.
    #[inline(always)]
    pub(super) const fn new(description: &'static Description, number: libc::c_int, seen: u64) -> Self {
        Self { description, number, seen }
    }

    pub(super) fn uncertain(number: libc::c_int) -> Self {
        Self { description: description::nowhere(), number, seen: NEVER }
    }

    /// Makes a target for a descriptor number that is not open. Another thread may open the number before the call is made.
    pub(super) fn not_open() -> Self {
        Self::uncertain(-1)
    }

    /// Returns the file that the system call, which has just returned, certainly used; `None` if unknown.
    #[inline(always)]
    pub(crate) fn used(&self) -> Option<Used> {
        let used = self.description.described();
        if descriptors::changes() != self.seen {
            return still_used(self.description, self.number, self.seen);
        }
        // SAFETY: only `nowhere` is a description without a file, whose target has `seen` = `NEVER`, which `changes` never returns.
        unsafe { std::hint::assert_unchecked(used.is_some()) };
        used
    }

    /// True if the system call, which has just returned, certainly used this description's file.
    pub(super) fn is_certain(&self) -> bool {
        self.used().is_some()
    }

    /// Applies the flags set by fcntl(F_SETFL) to the description, if the descriptor certainly still refers to it.
    pub(crate) fn set_flags(&self, flags: libc::c_int) {
        if let Some(description) = self.retained() {
            description.set_flags(flags);
            description.release();
        }
    }

    /// Returns the description with one more reference, if the descriptor certainly still refers to it.
    pub(super) fn retained(&self) -> Option<&'static Description> {
        if !self.description.retain() {
            return None;
        }
        if !self.is_certain() {
            self.description.release();
            return None;
        }
        Some(self.description)
    }

    /// Returns the target of an asynchronous operation that is submitted with this descriptor, and the open flags.
    pub(crate) fn sent(&self) -> (Sent, Manner) {
        let since = Since { number: self.number, seen: self.seen };
        self.used().map_or((Sent::Uncertain, Manner::PLAIN), |used| (Sent::If(used.file(), since), used.manner(true)))
    }

    /// Returns the file of a call made with this descriptor; `None` if the descriptor is not open, so that the call fails.
    pub(crate) fn file(&self) -> Option<&'static File> {
        match self.used() {
            Some(used) => Some(used.file()),
            None if self.number < 0 => None,
            None => registry::uncertain_file(),
        }
    }
}

/// Returns the file like [`Target::used`], after some descriptor has changed. `None` if that was `number` (a change after the first `seen`
/// ones). Takes no reference, so that hooks can keep the target in registers.
#[cold]
#[inline(never)]
fn still_used(description: &'static Description, number: libc::c_int, seen: u64) -> Option<Used> {
    let used = description.described();
    if seen == NEVER || descriptors::was_left(number, seen) { None } else { used }
}

/// File that a call certainly used, with its open flags: the address of the file record, and [`Manner::small`] in the lowest bits.
#[derive(Clone, Copy)]
pub(crate) struct Used(pub(super) NonZero<usize>);

/// Mask of the bits in [`Used`] that hold the open flags; the other bits are the address of the file record.
const FLAGS: usize = 7;
const _: () = assert!(align_of::<File>() > FLAGS);

impl Used {
    pub(super) fn word(file: &'static File, manner: Manner) -> usize {
        std::ptr::from_ref(file).expose_provenance() | usize::from(manner.small())
    }

    /// Makes the value for a call on `file` without special open flags (append, synchronous, direct).
    pub(crate) fn plain(file: &'static File) -> Option<Self> {
        NonZero::new(Self::word(file, Manner::PLAIN)).map(Self)
    }

    #[inline(always)]
    pub(crate) fn file(self) -> &'static File {
        let file = std::ptr::with_exposed_provenance::<File>(self.0.get() & !FLAGS);
        // SAFETY: the address of a record that is never freed.
        unsafe { &*file }
    }

    /// True if the file was opened without special flags (append, synchronous, direct).
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        self.0.get() & FLAGS == 0
    }

    /// Returns the open flags that apply to a write (`writes` true) or to a read.
    #[inline(always)]
    pub(crate) fn manner(self, writes: bool) -> Manner {
        Manner::of_small((self.0.get() & FLAGS) as u8).of_call(writes)
    }
}

/// Target of an asynchronous operation. The kernel or the C library resolves the operation's descriptor after the hook looked it up.
#[derive(Clone, Copy)]
pub(crate) enum Sent {
    To(&'static File),
    /// File that is unknown until the completion identifies it.
    Untold,
    /// The operation uses this file if the descriptor number still refers to the file when it is resolved.
    If(&'static File, Since),
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

/// State of a descriptor at its look-up: its number, and the number of descriptor changes so far when the descriptor was looked up.
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
