//! Limits of lengths that come from a log. A length stated in a record is checked here before any memory is allocated because of it; data is
//! read in pieces, so that memory grows only with the bytes that exist.
//!
//! A small compressed file may decompress to gigabytes; therefore a region may decompress only to a multiple of its length, see
//! [`unpacked`]. Data in memory is counted with its overhead.

use crate::error::{Error, Result};

/// Maximum size of the decompressed job region, in bytes (`DARSHAN_JOB_RECORD_SIZE` in the format).
pub const JOB_BYTES: usize = 4096;
/// Maximum length of a record's name, in bytes. The format's own limit is 4,096 bytes, which libdarshan can read.
pub const NAME_BYTES: u64 = 64 << 10;
/// Maximum memory for the names of all records, in bytes; each name counts as its length plus [`NAME_COST`].
pub const NAMES_BYTES: u64 = 96 << 20;
/// Memory overhead of a name, in bytes: its entries in a table and a list, and its allocation.
pub const NAME_COST: u64 = 96;
/// Number of bytes to which every region may decompress, however short.
pub const UNPACKED_BYTES: u64 = 16 << 20;
/// Number of further bytes to which a region may decompress per compressed byte; zlib reaches at most 1,032.
pub const UNPACKED_FACTOR: u64 = 1_100;
/// Maximum number of reads, and of writes, in one DXT record.
pub const SEGMENTS: u64 = 1 << 40;
/// Maximum number of components in one Lustre layout.
pub const COMPONENTS: u64 = 1 << 12;
/// Maximum number of stripes in one Lustre layout, over all components. Lustre allows 2,000 per component, more with overstriping.
pub const STRIPES: u64 = 1 << 20;
/// Maximum memory for stripe layouts that are kept to be printed with DXT records, in bytes.
pub const JOINED_BYTES: u64 = 64 << 20;
/// Maximum number of distinct threads that are counted in one DXT record.
pub const THREADS: usize = 1 << 16;
/// Maximum number of time bins in one heat map record. Darshan's runtime creates at most 200.
pub const BINS: u64 = 1 << 16;

/// Returns the number of bytes to which a region of `length` bytes may decompress.
#[must_use]
pub const fn unpacked(length: u64) -> u64 {
    UNPACKED_BYTES.saturating_add(length.saturating_mul(UNPACKED_FACTOR))
}

/// Returns [`Error::Limit`] with both numbers and `offset`, the length's position in the file, if `value` exceeds `limit`.
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}

/// Returns a count that the format stores as a signed number; [`Error::Malformed`] if it is negative, [`Error::Limit`] if it exceeds `limit`.
pub(crate) fn check_count(what: &'static str, value: i64, limit: u64, offset: u64) -> Result<u64> {
    let Ok(value) = u64::try_from(value) else {
        return Err(Error::Malformed { what, offset, why: format!("the value {value} is negative") });
    };
    check(what, value, limit, offset)?;
    Ok(value)
}
