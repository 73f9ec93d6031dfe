//! Limits of lengths that come from a file. Whatever a record claims, nothing is allocated before its size has passed here. Even then data
//! is read piece by piece, so that memory follows the bytes that are really there.
//!
//! Compression makes gigabytes of a small file. Therefore a region may unpack only to a multiple of its length, see [`unpacked`]. Data that
//! a reader keeps is counted with the cost of keeping it, not by its length alone.

use crate::error::{Error, Result};

/// Maximum size of the decompressed job region, in bytes (`DARSHAN_JOB_RECORD_SIZE` of the format).
pub const JOB_BYTES: usize = 4096;
/// Maximum length of a record's name, in bytes. The format's own limit is 4,096, which is what libdarshan can read back.
pub const NAME_BYTES: u64 = 64 << 10;
/// Maximum memory for the names of all records, in bytes, each counted with [`NAME_COST`].
pub const NAMES_BYTES: u64 = 96 << 20;
/// Memory overhead of a name, in bytes: its entries in a table and a list, and its allocation.
pub const NAME_COST: u64 = 96;
/// Bytes that any region may unpack to, however short it is.
pub const UNPACKED_BYTES: u64 = 16 << 20;
/// Additional bytes that a region may unpack to, for each of its own. zlib reaches at most 1,032.
pub const UNPACKED_FACTOR: u64 = 1_100;
/// Maximum number of segments of one operation in one DXT record.
pub const SEGMENTS: u64 = 1 << 40;
/// Maximum number of components in one Lustre layout.
pub const COMPONENTS: u64 = 1 << 12;
/// Maximum number of stripes in one Lustre layout, over all components. Lustre itself allows 2,000 each, more with overstriping.
pub const STRIPES: u64 = 1 << 20;
/// Maximum memory for stripe layouts that are joined with DXT records, in bytes.
pub const JOINED_BYTES: u64 = 64 << 20;
/// Maximum number of threads distinguished in a DXT record.
pub const THREADS: usize = 1 << 16;
/// Maximum number of bins of one heat map record. Darshan's runtime makes 200 at most.
pub const BINS: u64 = 1 << 16;

/// Returns the number of bytes that a region of `length` bytes may unpack to.
#[must_use]
pub const fn unpacked(length: u64) -> u64 {
    UNPACKED_BYTES.saturating_add(length.saturating_mul(UNPACKED_FACTOR))
}

/// Fails if `value` exceeds `limit`.
///
/// # Errors
/// [`Error::Limit`] with both numbers and `offset`, the place of the value in the file.
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}

/// Checks a count that the format keeps in a signed number, and returns it.
///
/// # Errors
/// [`Error::Malformed`] if the count is negative, otherwise see [`check`].
pub(crate) fn check_count(what: &'static str, value: i64, limit: u64, offset: u64) -> Result<u64> {
    let Ok(value) = u64::try_from(value) else {
        return Err(Error::Malformed { what, offset, why: format!("it is {value}, a negative number") });
    };
    check(what, value, limit, offset)?;
    Ok(value)
}
