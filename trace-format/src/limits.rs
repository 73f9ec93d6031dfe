//! The one gate for lengths that come from a file: whatever a header claims, nothing is allocated or skipped before
//! its size has passed here.

use crate::error::{Error, Result};

/// Most segments in one block.
pub const BLOCK_SEGMENTS: u32 = 64 * 1024;
/// Largest decoded metadata block (job or process), in bytes. 1 million files of 100-byte names fit.
pub const METADATA_BYTES: u32 = 256 << 20;
/// Largest decoded segment block: five columns of eight bytes, their heads and their exceptions.
pub const BLOCK_BYTES: u32 = BLOCK_SEGMENTS * 40
    + (crate::columns::HEADS_BYTES
        + crate::columns::COLUMNS * crate::columns::MAX_EXCEPTIONS * crate::columns::EXCEPTION_BYTES) as u32;
/// Largest zstd window, as a power of two of bytes: what RFC 8878 asks every decoder to support.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted windows"))]
pub(crate) const WINDOW_LOG: u32 = 23;
/// Memory that all tables of the traces of a run may take, in bytes as `meta::metered` counts them: each list element about twice. It
/// leaves room for as much again within 512 MiB.
pub const TABLE_BYTES: u64 = 320 << 20;
/// Problems that are kept of a file and of each of its regions.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers have problems"))]
pub(crate) const PROBLEMS: usize = 1000;
/// Most process regions in one file.
pub const REGIONS: u32 = 1 << 24;

/// Largest part of a spool, in bytes: the largest segment buffer there can be.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PART_BYTES: u64 = 1 << 40;
/// Largest journal: the tracer makes none that has room for more.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOURNAL_BYTES: u64 = 256 << 20;
/// Parts of a spool up to so many bytes are read whether the file has holes there or not.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_HOLES_BYTES: u64 = 64 << 20;
/// Largest packed block in a spill: the tracer packs chunks of 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPILLED_BYTES: usize = 256 << 10;
/// Largest chunk of an arena: the tracer cuts none above 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNK_BYTES: usize = 1 << 20;
/// Most chunks of an arena that is followed: 16 GiB of the tracer's largest.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNKS: usize = 1 << 18;
/// Bytes of a part that are read at a time by who follows a spool; a record of the journal is no longer.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PIECE_BYTES: usize = (16 << 20) + (64 << 10);
/// Bytes of an arena that are looked through for chunks in one look, beside those of known ones.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_SEARCH_BYTES: usize = 16 << 20;
/// Most streams of a spool that is followed of which there are counters.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COUNTED: u64 = 1 << 17;
/// Largest description of a job or a process that is taken from a spool that is followed.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOB_BYTES: usize = 2 << 20;
/// Files of which a spool may tell, as many as the tracer's tables hold at most; so below.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_FILES: usize = 1 << 20;
/// Streams.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_STREAMS: usize = crate::segment::MAX_STREAMS as usize;
/// Layouts, each file's at its first open and its last close, and some that were told anew.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_LAYOUTS: usize = 4 << 20;
/// Threads, and scratches of threads.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_THREADS: usize = 2 << 20;
/// Communicators.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COMMUNICATORS: usize = 1 << 13;
/// HDF5's data sets.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_DATA_SETS: usize = 1 << 20;
/// Sizes that are kept of a data set, the latest ones.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const DATA_SET_SHAPES: usize = 1 << 16;

/// Passes `value` if it is at most `limit`.
///
/// # Errors
/// [`Error::Limit`] with both numbers and `offset`, where in the file the value stands.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted lengths"))]
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}
