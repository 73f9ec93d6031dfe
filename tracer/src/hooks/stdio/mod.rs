//! Wraps functions on C streams (stdio). The C library moves bytes between a stream's buffer and the file by internal calls that cannot be
//! wrapped, so these hooks record the bytes that the program requested from the stream.

mod blocks;
mod characters;
mod fields;
mod formatted;
#[cfg(not(dxt_static))]
mod gets;
mod numbers;
mod positions;
mod standard;
mod streams;
mod touches;
mod transfers;
mod wide;

pub(super) use blocks::BLOCKS;
pub(super) use characters::CHARACTERS;
pub(super) use fields::prepare;
pub(super) use formatted::FORMATTED;
#[cfg(not(dxt_static))]
pub(super) use gets::GETS;
pub(super) use numbers::NUMBERS;
pub(super) use streams::STREAMS;
pub(super) use touches::TOUCHES;
pub(super) use wide::WIDE;
