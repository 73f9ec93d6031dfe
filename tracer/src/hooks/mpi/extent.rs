//! Determines start offset and transferred bytes of an MPI-IO transfer, for any file view. Uses only MPI queries that do not involve other ranks.

use crate::handles::MpiFile;
use crate::mpi::{Handle, SUCCESS, World, api};
use crate::ops::Op;
use crate::tls;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use trace_format::segment::NO_OFFSET;

/// Kind of position at which an MPI-IO transfer starts.
#[derive(Clone, Copy)]
pub(super) enum Where {
    /// At an explicit offset in the file view, in etypes.
    Explicit(i64),
    /// At the rank's individual file pointer.
    Individual,
    /// At the shared file pointer of all ranks. MPI-IO cannot read that pointer without moving it for other ranks; the offsets of the
    /// nested POSIX calls reveal it.
    Shared,
}

/// Start offset of an MPI-IO transfer, as known before the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    /// Start offset in the file view, in etypes, or [`NO_OFFSET`].
    pub(crate) in_view: i64,
    /// Start offset in bytes from the start of the file, or [`NO_OFFSET`].
    pub(crate) in_file: i64,
}

impl Where {
    /// Determines the start offset of a transfer, in the file view and in the file.
    pub(super) fn find(self, handle: Handle, file: &MpiFile) -> Begin {
        let in_view = match self {
            Self::Explicit(offset) => offset,
            Self::Individual => {
                let mut offset = NO_OFFSET;
                if api().file_get_position(handle, &raw mut offset) == SUCCESS { offset } else { NO_OFFSET }
            }
            Self::Shared => NO_OFFSET,
        };
        Begin { in_view, in_file: byte_offset(handle, file, in_view) }
    }
}

/// Converts `in_view`, an offset in etypes of the view, to an offset in bytes from the start of the file; [`NO_OFFSET`] if unknown.
pub(super) fn byte_offset(handle: Handle, file: &MpiFile, in_view: i64) -> i64 {
    if in_view < 0 || file.default_view.load(Ordering::Acquire) {
        return in_view;
    }
    let mut bytes = NO_OFFSET;
    if api().file_get_byte_offset(handle, in_view, &raw mut bytes) == SUCCESS { bytes } else { NO_OFFSET }
}

/// Memory for a status of any MPI implementation, in 8-byte words, for programs that pass MPI_STATUS_IGNORE.
pub(super) type OwnStatus = [u64; 16];

/// Returns the bytes transferred according to `status`; 0 if MPI_UNDEFINED, which is negative in every implementation.
pub(super) fn status_bytes(world: &World, status: *const c_void) -> u64 {
    let mut bytes = 0;
    if api().get_elements(status, world.abi.byte, &raw mut bytes) != SUCCESS {
        return 0;
    }
    u64::try_from(bytes).unwrap_or(0)
}

/// Returns the number of bytes that a transfer requests: `count` items of `datatype`.
pub(super) fn asked_bytes(datatype: Handle, count: i64) -> u64 {
    let mut size = 0;
    if api().type_size(datatype, &raw mut size) != SUCCESS {
        return 0;
    }
    u64::try_from(size).unwrap_or(0).saturating_mul(u64::try_from(count).unwrap_or(0))
}

/// Returns the number of bytes really transferred, if the status reports `reported` bytes. For a strided or collective read, ROMIO's status
/// holds the requested bytes even if the file ends earlier. File size and view then give an upper bound.
pub(super) fn moved_bytes(handle: Handle, file: &MpiFile, op: &Op, begin: Begin, reported: u64) -> u64 {
    let Ok(asked @ 1..) = i64::try_from(reported) else { return reported };
    if begin.in_file < 0 {
        return reported;
    }
    let strided = !file.default_view.load(Ordering::Acquire);
    if op.writes() {
        if !strided {
            file.size_seen.fetch_max(begin.in_file.saturating_add(asked), Ordering::Relaxed);
        }
        return reported;
    }
    // The start at a shared file pointer is known in bytes only.
    let etype = if strided { file.etype_bytes.load(Ordering::Relaxed) } else { 1 };
    if etype <= 0 || strided && begin.in_view < 0 {
        return reported;
    }
    let place = |item: i64| {
        if strided { byte_offset(handle, file, begin.in_view + item) } else { begin.in_file + item }
    };
    let items = asked / etype;
    let end = place(items - 1).saturating_add(etype);
    if items == 0 || end <= file.size_seen.load(Ordering::Relaxed) {
        return reported;
    }
    let mut size = 0;
    // The library may move a descriptor's position temporarily to find the size, which is not a call of the program.
    if tls::current().while_asking(|| api().file_get_size(handle, &raw mut size)) != SUCCESS {
        return reported;
    }
    file.size_seen.store(size, Ordering::Relaxed);
    if end <= size { reported } else { present(items, etype, size, place).min(reported) }
}

/// Returns the number of bytes of `items` etypes of `etype` bytes that lie below the file size `size`. `place` maps the index of an etype
/// to its file offset; the offsets only increase (MPI 4.0, 14.3).
fn present(items: i64, etype: i64, size: i64, place: impl Fn(i64) -> i64) -> u64 {
    let (mut whole, mut beyond) = (0, items);
    while whole < beyond {
        let middle = whole + (beyond - whole) / 2;
        if place(middle).saturating_add(etype) <= size {
            whole = middle + 1;
        } else {
            beyond = middle;
        }
    }
    let part = if whole < items { (size - place(whole)).clamp(0, etype) } else { 0 };
    u64::try_from(whole * etype + part).unwrap_or(0)
}

/// Returns a status that is readable after the call: the program's status, or `own` if the program passed MPI_STATUS_IGNORE.
pub(super) fn readable(world: &World, status: *mut c_void, own: &mut OwnStatus) -> *mut c_void {
    if status as usize == world.abi.status_ignore { own.as_mut_ptr().cast() } else { status }
}

#[cfg(test)]
mod tests {
    use super::present;

    #[test]
    fn what_lies_before_the_end_of_the_file_is_counted() {
        // Blocks of 10 bytes at a distance of 20 bytes, in etypes of one byte.
        let bytes = |item: i64| item / 10 * 20 + item % 10;
        assert_eq!(present(100, 1, 1000, bytes), 100);
        assert_eq!(present(1000, 1, 1000, bytes), 500);
        assert_eq!(present(1000, 1, 5, bytes), 5);
        assert_eq!(present(1000, 1, 0, bytes), 0);
        // Contiguous etypes of 8 bytes from offset 100, the last one cut off.
        assert_eq!(present(10, 8, 120, |item| 100 + 8 * item), 20);
        assert_eq!(present(10, 8, 40, |item| 100 + 8 * item), 0);
    }
}
