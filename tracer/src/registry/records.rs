//! The records of the registry: files, their layouts, streams. They point at each other, are made once, and never move.
#![expect(unsafe_code, reason = "pointers between records of reserved memory")]

use super::accesses::Gone;
use super::folded::Folded;
use super::memory::Memory;
use super::profiles::{Profiled, Role};
use super::stream::Within;
use crate::handles::Plain;
use crate::ops::FREQUENT;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{FileKind, LayoutSource};
use trace_format::op::Layer;

/// What fstat(2) tells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity {
    /// Kind of file.
    pub(crate) kind: FileKind,
    /// Device number.
    pub(crate) device: u64,
    /// Inode number.
    pub(crate) inode: u64,
    /// Preferred I/O size in bytes.
    pub(crate) block_size: u32,
}

/// An [`Identity`] that may become known later than the path: a name may be asked about before the file is opened.
pub(crate) struct KnownIdentity {
    kind: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    block_size: AtomicU32,
}

impl KnownIdentity {
    /// What is known now.
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            kind: AtomicU32::new(identity.kind.into()),
            device: AtomicU64::new(identity.device),
            inode: AtomicU64::new(identity.inode),
            block_size: AtomicU32::new(identity.block_size),
        }
    }

    /// What fstat(2) said first.
    pub(crate) fn get(&self) -> Identity {
        Identity {
            kind: self.kind.load(Ordering::Acquire).into(),
            device: self.device.load(Ordering::Relaxed),
            inode: self.inode.load(Ordering::Relaxed),
            block_size: self.block_size.load(Ordering::Relaxed),
        }
    }

    /// Takes over `identity` if none was known; returns whether it did.
    pub(super) fn learn(&self, identity: Identity) -> bool {
        let new = identity.kind != FileKind::Unknown && self.get().kind == FileKind::Unknown;
        if new {
            self.device.store(identity.device, Ordering::Relaxed);
            self.inode.store(identity.inode, Ordering::Relaxed);
            self.block_size.store(identity.block_size, Ordering::Relaxed);
            self.kind.store(identity.kind.into(), Ordering::Release);
        }
        new
    }
}

/// A file that was seen. Made once per path, never changed but for what is atomic.
pub(crate) struct File {
    /// Canonical absolute path. Stays in the process: what is told is `told`.
    pub(crate) real_path: &'static [u8],
    /// Hash of that.
    pub(super) key: u64,
    /// The name that traces and spools tell: the path, unless names are hashed ([`crate::anonymize`]).
    pub(crate) told: &'static [u8],
    /// Hash of that, by which others know the file.
    pub(crate) hash: u64,
    /// What fstat(2) said when it was first seen.
    pub(crate) identity: KnownIdentity,
    /// Stream ids plus one of the most frequent operations; each combination of [`Within`] has its own.
    pub(crate) frequent: [AtomicU32; Within::COUNT * FREQUENT],
    /// Its streams, newest first.
    pub(crate) streams: AtomicPtr<Stream>,
    /// Its profiles, in counters mode.
    pub(super) profiles: AtomicPtr<Profiled>,
    /// Layout at open and at close.
    pub(super) layouts: [AtomicPtr<LayoutText>; 2],
    /// Whether its path is certain to be the kernel's.
    pub(crate) plain: Plain,
    /// Its file system knows layouts, and it had none yet when it was opened.
    pub(super) may_get_layout: AtomicBool,
    /// What triggers ask of segments that are gone.
    pub(super) gone: Gone,
    /// Next file of the same bucket.
    pub(super) next: *const File,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for File {}

/// A layout as the file system gave it.
pub(crate) struct LayoutText {
    /// Whose structure it is.
    pub(crate) source: LayoutSource,
    /// The attribute's value.
    pub(crate) bytes: &'static [u8],
}

/// A stream. Made once, never changed but for its counters.
pub(crate) struct Stream {
    /// Its id: index in the table.
    pub(crate) id: AtomicU64,
    /// Its file.
    pub(crate) file: &'static File,
    /// Operation code.
    pub(crate) op: u16,
    /// Whether it moves file data.
    pub(super) is_data: bool,
    /// Bits of [`stream_flags`].
    pub(crate) flags: u8,
    /// Error number of a failed stream.
    pub(crate) errno: u16,
    /// Layer of the operation.
    pub(crate) layer: Layer,
    /// What it is to a profile.
    pub(crate) role: Role,
    /// Whether segments of it were packed: its description must go into the trace.
    pub(super) used: AtomicBool,
    /// Counters of what was folded; null while nothing was.
    pub(super) counters: AtomicPtr<Folded>,
    /// How its calls' memory was aligned.
    pub(super) memory: AtomicPtr<Memory>,
    /// Next stream of the file.
    pub(super) next: *const Stream,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for Stream {}
