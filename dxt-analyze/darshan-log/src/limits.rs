//! Limits of lengths that come from a file. Whatever length a record states, nothing is allocated before the length has been checked here.
//! Even then, data is read piece by piece, so that memory only grows with the bytes that exist.
//!
//! A small compressed file may decompress to gigabytes. Therefore a region may decompress only to a multiple of its length, see
//! [`unpacked`]. Data held in memory is counted with its overhead, not by its length alone.

use crate::error::{Error, Result};

/// Maximum size of the decompressed job region, in bytes (`DARSHAN_JOB_RECORD_SIZE` of the format).
pub const JOB_BYTES: usize = 4096;
/// Maximum length of a record's name, in bytes. The format's own limit is 4,096, which is what libdarshan can read back.
pub const NAME_BYTES: u64 = 64 << 10;
/// Maximum memory for the names of all records, in bytes. Each name counts with its length plus [`NAME_COST`].
pub const NAMES_BYTES: u64 = 96 << 20;
/// Memory overhead of a name, in bytes: its entries in a table and a list, and its allocation.
pub const NAME_COST: u64 = 96;
/// Number of bytes to which any region may decompress, even the shortest.
pub const UNPACKED_BYTES: u64 = 16 << 20;
/// Additional bytes to which a region may decompress, per compressed byte. zlib reaches at most 1,032.
pub const UNPACKED_FACTOR: u64 = 1_100;
/// Maximum number of reads, and of writes, in one DXT record.
pub const SEGMENTS: u64 = 1 << 40;
/// Maximum number of components in one Lustre layout.
pub const COMPONENTS: u64 = 1 << 12;
/// Maximum number of stripes in one Lustre layout, over all components. Lustre itself allows 2,000 per component, more with overstriping.
pub const STRIPES: u64 = 1 << 20;
/// Maximum memory for stripe layouts that are held to be printed with DXT records, in bytes.
pub const JOINED_BYTES: u64 = 64 << 20;
/// Maximum number of distinct threads counted in a DXT record.
pub const THREADS: usize = 1 << 16;
/// Maximum number of time bins in one heat map record. Darshan's runtime creates 200 at most.
pub const BINS: u64 = 1 << 16;

/// Returns the number of bytes to which a region of `length` bytes may decompress.
#[must_use]
pub const fn unpacked(length: u64) -> u64 {
    UNPACKED_BYTES.saturating_add(length.saturating_mul(UNPACKED_FACTOR))
}

/// Fails if `value` exceeds `limit`.
///
/// # Errors
/// Returns [`Error::Limit`] with both numbers and `offset`, the position of the value in the file, if `value` exceeds `limit`.
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}

/// Checks a count that the format stores as a signed number, and returns it.
///
/// # Errors
/// Returns [`Error::Malformed`] if the count is negative, and the error of [`check`] if it exceeds `limit`.
pub(crate) fn check_count(what: &'static str, value: i64, limit: u64, offset: u64) -> Result<u64> {
    let Ok(value) = u64::try_from(value) else {
        return Err(Error::Malformed { what, offset, why: format!("the value {value} is negative") });
    };
    check(what, value, limit, offset)?;
    Ok(value)
}
