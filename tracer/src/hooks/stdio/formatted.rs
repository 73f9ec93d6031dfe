//! Wraps formatted input and output functions that take a `va_list`. A printing call is recorded as one write, of as many bytes as the call
//! returns; a scanning call as one read, of as many bytes as the stream's position has advanced. All supported processors pass a `va_list`
//! by address.
#![expect(unsafe_code, reason = "C functions")]

use super::standard::{input, output};
use super::transfers::{Moved, transferring};
use crate::clock;
use crate::errno;
use crate::handles;
use crate::hooks::{admission, printing as waits};
use crate::ops::{POSIX_WRITE, STDIO_READ, STDIO_WRITE};
use crate::real::hooks;
use crate::record::{Call, End};
use libc::{FILE, c_char, c_int, c_void};

type List = *mut c_void;

/// Runs and records `call`, which prints to `stream` and returns the number of bytes.
#[inline(always)]
fn printing(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    transferring(stream, &STDIO_WRITE, call, |&bytes| u64::try_from(bytes).map_or(Moved::AtLeast(0), Moved::Bytes))
}

/// Runs and records `call`, which scans `stream` and returns the number of converted items (not of bytes).
#[inline(always)]
fn scanning(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    transferring(stream, &STDIO_READ, call, |&items| if items < 0 { Moved::AtLeast(0) } else { Moved::Unknown })
}

/// Runs `call`, which prints to the descriptor `number`, and records it as a write(2) at the POSIX layer.
fn printing_to(number: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else {
        return waits::waiting(thread, number, &POSIX_WRITE, call, |&bytes| bytes.into());
    };
    let description = target.description;
    let mover = description.moving();
    let timer = Call::begin(thread);
    let result = call();
    let end = clock::of_call();
    let Some(used) = target.used() else {
        description.settle(mover);
        timer.end_uncertain(end, &POSIX_WRITE, result.into());
        return result;
    };
    if let Ok(length) = u64::try_from(result) {
        let manner = used.manner(true);
        let placed = description.moved(mover, target, result.into(), manner.appends()).by(manner);
        timer.finish(used.file(), &POSIX_WRITE, End { at: end, placed, length });
    } else {
        let offset = description.position(true);
        description.settle(mover);
        timer.failed(used.file(), &POSIX_WRITE, offset);
    }
    result
}

hooks! { FORMATTED, missing = { errno::set(libc::ENOSYS); -1 };
    [vfprintf, _IO_vfprintf](stream: *mut FILE, format: *const c_char, list: List) -> c_int
        = |real| printing(stream, || real(stream, format, list));
    [vprintf](format: *const c_char, list: List) -> c_int
        = |real| printing(output(), || real(format, list));
    /// Wraps vdprintf(3), recorded as a write at the POSIX layer.
    [vdprintf](number: c_int, format: *const c_char, list: List) -> c_int
        = |real| printing_to(number, || real(number, format, list));
    /// Wraps vfscanf(3), in all its versions.
    [vfscanf, __vfscanf, __isoc99_vfscanf, __isoc23_vfscanf](stream: *mut FILE, format: *const c_char, list: List) -> c_int
        = |real| scanning(stream, || real(stream, format, list));
    /// Wraps vscanf(3), in all its versions.
    [vscanf, __isoc99_vscanf, __isoc23_vscanf](format: *const c_char, list: List) -> c_int
        = |real| scanning(input(), || real(format, list));
    /// Wraps vfprintf(3) as compiled with _FORTIFY_SOURCE.
    [__vfprintf_chk](stream: *mut FILE, flag: c_int, format: *const c_char, list: List) -> c_int
        = |real| printing(stream, || real(stream, flag, format, list));
    /// Wraps vprintf(3) as compiled with _FORTIFY_SOURCE.
    [__vprintf_chk](flag: c_int, format: *const c_char, list: List) -> c_int
        = |real| printing(output(), || real(flag, format, list));
    /// Wraps vdprintf(3) as compiled with _FORTIFY_SOURCE.
    [__vdprintf_chk](number: c_int, flag: c_int, format: *const c_char, list: List) -> c_int
        = |real| printing_to(number, || real(number, flag, format, list));
}
