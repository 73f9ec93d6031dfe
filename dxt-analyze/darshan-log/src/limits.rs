//! The one gate for lengths that come from a file: whatever a record claims, nothing is allocated before its size has
//! passed here, and what passes is still read piece by piece, so that memory follows the bytes that are really there.
//!
//! Bytes that are really there can be many: compression makes gigabytes of a small file. So a region may unpack to so many times its
//! length only, see [`unpacked`], and what a reader keeps is counted with what keeping it costs, not by its length alone.

use crate::error::{Error, Result};

/// Largest job region, decompressed, in bytes (`DARSHAN_JOB_RECORD_SIZE` of the format).
pub const JOB_BYTES: usize = 4096;
/// Longest name of a record, in bytes. The format's own limit is 4,096 for what libdarshan can read back.
pub const NAME_BYTES: u64 = 64 << 10;
/// Most bytes of names that are kept, over all records, each with [`NAME_COST`].
pub const NAMES_BYTES: u64 = 96 << 20;
/// Bytes of memory that a name takes besides its own: its places in a table and a list, and its allocation.
pub const NAME_COST: u64 = 96;
/// Bytes that any region may unpack to, however short it is.
pub const UNPACKED_BYTES: u64 = 16 << 20;
/// Bytes that a region may unpack to besides, for each of its own: more than zlib can reach, which is 1,032.
pub const UNPACKED_FACTOR: u64 = 1_100;
/// Most segments of one operation in one DXT record.
pub const SEGMENTS: u64 = 1 << 40;
/// Most components in one Lustre layout.
pub const COMPONENTS: u64 = 1 << 12;
/// Most stripes in one Lustre layout, over all components. Lustre itself allows 2,000 each, more with overstriping.
pub const STRIPES: u64 = 1 << 20;
/// Most bytes of stripe layouts that are kept to be joined with DXT records.
pub const JOINED_BYTES: u64 = 64 << 20;
/// Most threads that are told apart in a DXT record.
pub const THREADS: usize = 1 << 16;
/// Most bins of one heat map record. Darshan's runtime makes 200 at most.
pub const BINS: u64 = 1 << 16;

/// Bytes that a region of `length` bytes may unpack to.
#[must_use]
pub const fn unpacked(length: u64) -> u64 {
    UNPACKED_BYTES.saturating_add(length.saturating_mul(UNPACKED_FACTOR))
}

/// Passes `value` if it is at most `limit`.
///
/// # Errors
/// [`Error::Limit`] with both numbers and `offset`, where in the file the value stands.
pub(crate) fn check(what: &'static str, value: u64, limit: u64, offset: u64) -> Result<()> {
    if value <= limit { Ok(()) } else { Err(Error::Limit { what, value, limit, offset }) }
}

/// As [`check`], for a count that the format keeps in a signed number.
///
/// # Errors
/// [`Error::Malformed`] if it is negative, else as [`check`].
pub(crate) fn check_count(what: &'static str, value: i64, limit: u64, offset: u64) -> Result<u64> {
    let Ok(value) = u64::try_from(value) else {
        return Err(Error::Malformed { what, offset, why: format!("it is {value}, a negative number") });
    };
    check(what, value, limit, offset)?;
    Ok(value)
}
