//! Limits of lengths that come from a file: whatever a header claims, nothing is allocated or skipped before its size has passed here.

use crate::error::{Error, Result};

/// Maximum number of segments in one block.
pub const BLOCK_SEGMENTS: u32 = 64 * 1024;
/// Maximum size of a decoded metadata block (job or process), in bytes. 1 million files with names of 100 bytes fit.
pub const METADATA_BYTES: u32 = 256 << 20;
/// Maximum size of a decoded segment block, in bytes: five columns of 8 bytes, their heads and their exceptions.
pub const BLOCK_BYTES: u32 = BLOCK_SEGMENTS * 40
    + (crate::columns::HEADS_BYTES
        + crate::columns::COLUMNS * crate::columns::MAX_EXCEPTIONS * crate::columns::EXCEPTION_BYTES) as u32;
/// Maximum zstd window, as a power of two in bytes: the size that RFC 8878 asks every decoder to support.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted windows"))]
pub(crate) const WINDOW_LOG: u32 = 23;
/// Maximum memory for all tables of the traces of a run, in bytes as counted by `meta::metered`, which counts each list element about
/// twice. As much memory again fits within 512 MiB.
pub const TABLE_BYTES: u64 = 320 << 20;
/// Maximum number of problems kept of a file and of each of its regions.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers have problems"))]
pub(crate) const PROBLEMS: usize = 1000;
/// Maximum number of process regions in one file.
pub const REGIONS: u32 = 1 << 24;

/// Maximum size of a spool's region, in bytes: the largest segment buffer possible.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PART_BYTES: u64 = 1 << 40;
/// Maximum size of a journal, in bytes: the tracer makes none with room for more.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOURNAL_BYTES: u64 = 256 << 20;
/// Size up to which regions of a spool are read including their holes, in bytes.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_HOLES_BYTES: u64 = 64 << 20;
/// Maximum size of a packed block in a spill file, in bytes: the tracer packs chunks of 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPILLED_BYTES: usize = 256 << 10;
/// Maximum size of an arena's chunk, in bytes: the tracer allocates none above 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of chunks of an arena that is followed: 16 GiB of the tracer's largest ones.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNKS: usize = 1 << 18;
/// Bytes of a region read at once when a spool is followed and maximum size of a journal record.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PIECE_BYTES: usize = (16 << 20) + (64 << 10);
/// Bytes of an arena searched for chunks in one look, excluding known chunks.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_SEARCH_BYTES: usize = 16 << 20;
/// Maximum number of streams with counters in a spool that is followed.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COUNTED: u64 = 1 << 17;
/// Maximum size of a job or process block taken from a spool that is followed, in bytes.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOB_BYTES: usize = 2 << 20;
/// Maximum number of files in a spool. This limit and those below are the capacities of the tracer's tables.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_FILES: usize = 1 << 20;
/// Maximum number of streams in a spool.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_STREAMS: usize = crate::segment::MAX_STREAMS as usize;
/// Maximum number of layouts in a spool: each file's at its first open and its last close, and some that were reported again.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_LAYOUTS: usize = 4 << 20;
/// Maximum number of threads in a spool, including threads of scratch buffers.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_THREADS: usize = 2 << 20;
/// Maximum number of communicators in a spool.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COMMUNICATORS: usize = 1 << 13;
/// Maximum number of HDF5 data sets in a spool.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_DATA_SETS: usize = 1 << 20;
/// Maximum number of shapes kept of a data set; the latest ones are kept.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const DATA_SET_SHAPES: usize = 1 << 16;

/// Fails if `value` exceeds `limit`.
///
/// # Errors
/// [`Error::Limit`] with both numbers and `offset`, the place of the value in the file.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted lengths"))]
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}
