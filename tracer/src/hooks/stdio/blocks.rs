//! Wraps fread(3) and fwrite(3).
#![expect(unsafe_code, reason = "C functions")]

use super::transfers::{Moved, transferring};
use crate::ops::{Op, STDIO_READ, STDIO_WRITE};
use crate::real::{hooks, none};
use libc::{FILE, c_void, size_t};

/// Runs and records `call`, which transfers `count` items of `size` bytes and returns the number of complete items.
#[inline(always)]
fn items(stream: *mut FILE, op: &'static Op, size: size_t, count: size_t, call: impl FnOnce() -> size_t) -> size_t {
    transferring(stream, op, call, |&items| {
        let length = (items as u64).saturating_mul(size as u64);
        // The last item may have been transferred in part.
        if items < count && size != 0 { Moved::AtLeast(length) } else { Moved::Bytes(length) }
    })
}

hooks! { BLOCKS, missing = none();
    /// Wraps fread(3). The segment's length includes a last item that was read only in part.
    [fread, fread_unlocked, _IO_fread](buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| items(stream, &STDIO_READ, size, count, || real(buffer, size, count, stream));
    /// Wraps fread(3) as compiled with _FORTIFY_SOURCE.
    [__fread_chk, __fread_unlocked_chk](buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| items(stream, &STDIO_READ, size, count, || real(buffer, room, size, count, stream));
    [fwrite, fwrite_unlocked, _IO_fwrite](buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| items(stream, &STDIO_WRITE, size, count, || real(buffer, size, count, stream));
}
