//! Sort keys of the reduction's tables: a stream, or a file and a layer, as one number that sorts by file. A file is represented by its
//! index among the shared files, less than 2^17, so that a key's highest bit is never set.

use crate::registry::Stream;
use trace_format::op::Layer;

/// Returns the sort key of a stream (calls with the same operation, flags and errno) of a shared file: index of the file, operation, flags
/// and errno.
pub(super) fn key(file: usize, stream: &Stream) -> u64 {
    (file as u64) << 40 | u64::from(stream.op) << 24 | u64::from(stream.flags) << 16 | u64::from(stream.errno)
}

pub(super) const fn file_of(key: u64) -> usize {
    (key >> 40) as usize
}

pub(super) const fn op_of(key: u64) -> u16 {
    (key >> 24) as u16
}

pub(super) const fn flags_of(key: u64) -> u8 {
    (key >> 16) as u8
}

pub(super) const fn errno_of(key: u64) -> u16 {
    key as u16
}

/// Returns the sort key of a pair: shared file, given by its index among the shared files, and I/O layer.
pub(super) fn pair(file: usize, layer: Layer) -> u64 {
    (file as u64) << 32 | u64::from(u32::from(layer))
}

pub(super) fn of_pair(pair: u64) -> (usize, Layer) {
    ((pair >> 32) as usize, Layer::from(pair as u32))
}
