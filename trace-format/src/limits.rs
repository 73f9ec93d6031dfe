//! Limits of lengths that come from a file. A length stated in a file is checked here before any memory is allocated or bytes are skipped
//! because of it.

use crate::error::{Error, Result};

/// Maximum number of segments (recorded calls) in one compressed block.
pub const BLOCK_SEGMENTS: u32 = 64 * 1024;
/// Maximum size of a decoded metadata block (job or process), in bytes; enough for 1 million files with names of 100 bytes.
pub const METADATA_BYTES: u32 = 256 << 20;
/// Maximum size of a decoded segment block, in bytes: five columns of 8 bytes per segment, the column heads and the exceptions.
pub const BLOCK_BYTES: u32 = BLOCK_SEGMENTS * 40
    + (crate::columns::HEADS_BYTES
        + crate::columns::COLUMNS * crate::columns::MAX_EXCEPTIONS * crate::columns::EXCEPTION_BYTES) as u32;
/// Maximum zstd window, as a power of two in bytes: the size that RFC 8878 asks every decoder to support.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted windows"))]
pub(crate) const WINDOW_LOG: u32 = 23;
/// Maximum memory for the metadata tables of all traces that a program reads, in bytes as counted by `meta::metered`, which counts each
/// list element about twice. Together with the rest of the reader's memory, the tables stay below 512 MiB.
pub const TABLE_BYTES: u64 = 320 << 20;
/// Maximum number of problems (unreadable parts) recorded for a file as a whole, and for each of its process regions.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers have problems"))]
pub(crate) const PROBLEMS: usize = 1000;
/// Maximum number of process regions in one file.
pub const REGIONS: u32 = 1 << 24;

/// Maximum size of one region of a spool (a process's recordings in a mapped file), in bytes: the tracer's largest possible segment buffer.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PART_BYTES: u64 = 1 << 40;
/// Maximum size of a spool's journal (definitions of ids), in bytes: the largest that the tracer creates.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOURNAL_BYTES: u64 = 256 << 20;
/// Size up to which a part of a spool (a process's recordings) is read including its holes (unallocated ranges), in bytes; in larger parts,
/// holes are skipped.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_HOLES_BYTES: u64 = 64 << 20;
/// Maximum size of a compressed block in a spill file (segments moved out of memory), in bytes: the tracer compresses chunks (segment
/// buffers) of 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPILLED_BYTES: usize = 256 << 10;
/// Maximum size of a chunk (segment buffer of one thread) in a spool, in bytes; the tracer's chunks have at most 64 KiB.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of chunks (segment buffers) in one region of a spool that is read while growing: 16 GiB if all chunks have the tracer's
/// maximum size.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CHUNKS: usize = 1 << 18;
/// Maximum number of bytes per read from a spool (a process's recordings) that is read while growing; no journal record is larger.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_PIECE_BYTES: usize = (16 << 20) + (64 << 10);
/// Maximum number of bytes searched for new chunks (segment buffers) each time a growing spool is read, excluding known chunks.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_SEARCH_BYTES: usize = 16 << 20;
/// Maximum number of streams (operations on files) with counters in a spool (a process's recordings) that is read
/// while growing.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COUNTED: u64 = 1 << 17;
/// Maximum size of a job or process block in a spool (a process's recordings) that is read while growing, in bytes.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_JOB_BYTES: usize = 2 << 20;
/// Maximum number of files in a spool (a process's recordings): the tracer's file table has no room for more.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_FILES: usize = 1 << 20;
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_STREAMS: usize = crate::segment::MAX_STREAMS as usize;
/// Maximum number of modules in a spool, and of frames of call stacks, as the tracer's tables have.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_MODULES: usize = 1 << 12;
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_FRAMES: usize = 1 << 16;
/// Maximum number of functions of scripts in a spool, as the tracer's table has.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_FUNCTIONS: usize = 1 << 15;
/// Maximum number of stripe layouts in a spool (a process's recordings): two per file (read at the file's first open and last close) and
/// some layouts read again.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_LAYOUTS: usize = 4 << 20;
/// Maximum number of threads in a spool (a process's recordings), including threads whose segments only wait to be
/// added to counters.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_THREADS: usize = 2 << 20;
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_COMMUNICATORS: usize = 1 << 13;
/// Maximum number of samples of the use of the processors in a spool (a process's recordings): 1,365 for each of the 192 threads that the
/// tracer samples.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_CPU_SAMPLES: usize = 1 << 18;
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const SPOOL_DATA_SETS: usize = 1 << 20;
/// Maximum number of shapes (extents over time) stored per data set; of more shapes, the latest are stored.
#[cfg(all(feature = "read", feature = "write"))]
pub(crate) const DATA_SET_SHAPES: usize = 1 << 16;

/// Returns [`Error::Limit`] with both numbers and `offset`, the length's position in the file, if `value` exceeds `limit`.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "only readers meet untrusted lengths"))]
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}
