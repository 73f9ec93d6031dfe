//! Records of the registry: files, layouts, streams. Records point to each other, are created once, and never move.
#![expect(unsafe_code, reason = "pointers between records of reserved memory")]

use super::accesses::Gone;
use super::folded::Folded;
use super::memory::Memory;
use super::profiles::Profiled;
use super::stream::Within;
use crate::ops::{FREQUENT, Role};
use crate::sites::Site;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{FileKind, LayoutSource};
use trace_format::op::Layer;

/// Identity and type of a file, as fstat(2) reports them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity {
    pub(crate) kind: FileKind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Preferred I/O size in bytes (`st_blksize`).
    pub(crate) block_size: u32,
}

/// [`Identity`] that may become known later than the path, since a path may be queried before the file is opened.
pub(crate) struct KnownIdentity {
    kind: AtomicU32,
    device: AtomicU64,
    inode: AtomicU64,
    block_size: AtomicU32,
}

impl KnownIdentity {
    /// Makes a store for a file's identity with the initial value `identity`, which may be unknown.
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            kind: AtomicU32::new(identity.kind.into()),
            device: AtomicU64::new(identity.device),
            inode: AtomicU64::new(identity.inode),
            block_size: AtomicU32::new(identity.block_size),
        }
    }

    /// Returns the stored identity of the file, which is the first identity that became known.
    pub(crate) fn get(&self) -> Identity {
        Identity {
            kind: self.kind.load(Ordering::Acquire).into(),
            device: self.device.load(Ordering::Relaxed),
            inode: self.inode.load(Ordering::Relaxed),
            block_size: self.block_size.load(Ordering::Relaxed),
        }
    }

    /// Stores `identity` if none was known; returns true if stored.
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

/// Result of the last check that found a file's path to be plain (free of symbolic links): time stamp, and the inode that the path led to.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) moment: AtomicU64,
    pub(crate) device: AtomicU64,
    pub(crate) inode: AtomicU64,
}

/// File that the program has used. One record per path; only its atomics change.
pub(crate) struct File {
    /// Canonical absolute path. Never leaves the process; see `reported`.
    pub(crate) real_path: &'static [u8],
    /// Hash of `real_path`, for look-ups in the table of files.
    pub(super) key: u64,
    /// Name in traces and spools: the path, or its hash if anonymization is on ([`crate::anonymize`]).
    pub(crate) reported: &'static [u8],
    /// Hash of `reported`, by which other processes and readers identify the file, since it is equal for equal names.
    pub(crate) hash: u64,
    /// Result of fstat(2) when the file was first seen.
    pub(crate) identity: KnownIdentity,
    /// Stream IDs + 1 of the most frequent operations from their first call site (0 if there is no stream yet), with that call site in the
    /// upper half, separately for each combination of [`Within`].
    pub(crate) frequent: [AtomicU64; Within::COUNT * FREQUENT],
    /// List of the file's streams (calls with the same operation and flags), newest first.
    pub(crate) streams: AtomicPtr<Stream>,
    /// Access profiles of the file, one per I/O layer, in counters mode.
    pub(super) profiles: AtomicPtr<Profiled>,
    /// Stripe layouts of the file, read at open and at close.
    pub(super) layouts: [AtomicPtr<LayoutText>; 2],
    /// Result of the last check that `real_path` is the path by which the kernel knows the file.
    pub(crate) plain: Plain,
    /// True if the file system supports stripe layouts but the file had no layout when opened.
    pub(super) may_get_layout: AtomicBool,
    /// Access counts of segments that were folded into counters; triggers (DXT_SMALL_IO_TRIGGER and similar) need them.
    pub(super) gone: Gone,
    /// Next file in the same bucket of the hash table of files, or null.
    pub(super) next: *const File,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for File {}

/// Stripe layout of a file, as returned by the file system.
pub(crate) struct LayoutText {
    /// Kind of file system that defines the format of `bytes`.
    pub(crate) source: LayoutSource,
    /// Stripe layout: value of the file's extended attribute.
    pub(crate) bytes: &'static [u8],
}

/// Stream: segments (records of calls) with the same file, operation, flags, errno and call site. Created once; only its atomics change.
pub(crate) struct Stream {
    /// ID of this stream (calls with the same file, operation and flags), which is its index in the table of streams.
    pub(crate) id: AtomicU64,
    pub(crate) file: &'static File,
    pub(crate) op: u16,
    pub(super) is_data: bool,
    /// Properties of the stream's calls (failed, nested and so on), as bits of [`stream_flags`].
    pub(crate) flags: u8,
    /// Errno of the calls, in a stream of failed calls.
    pub(crate) errno: u16,
    /// Place from which the program makes the calls; 0 if unknown.
    pub(crate) site: Site,
    pub(crate) layer: Layer,
    /// Role of the stream's calls in access profiles (read, write or none).
    pub(crate) role: Role,
    /// True if segments of the stream were packed (encoded in memory), so that the stream's definition must be in the trace.
    pub(super) used: AtomicBool,
    /// Counters of the stream's calls that were folded instead of recorded as segments; null if there are none.
    pub(super) counters: AtomicPtr<Folded>,
    /// Counts of the memory alignment of buffers in the stream's calls; null if there are none.
    pub(super) memory: AtomicPtr<Memory>,
    /// Next stream of the same file, or null.
    pub(super) next: *const Stream,
}

// SAFETY: `next` points to another record that is never changed or moved.
unsafe impl Sync for Stream {}
