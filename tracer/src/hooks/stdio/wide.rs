//! Wraps wide character functions. A call transfers the bytes that encode the characters, and only the stream's position reveals the number
//! of bytes. So ftello(3) is called before and after each call. On a stream without a position, calls are recorded with length 0.
//!
//! Compilers do not inline any of these functions. fwide(3) is not wrapped, since it transfers nothing.
#![expect(unsafe_code, reason = "C functions")]

use super::standard::{input, output};
use super::transfers::{Moved, transferring};
use crate::ops::{Op, STDIO_READ, STDIO_WRITE};
use crate::real::hooks;
use libc::{FILE, c_int, c_void, size_t, wchar_t};

type Wide = u32;
/// Result of a wide character function (WEOF) that means end of file or failure.
const WEOF: Wide = u32::MAX;
type List = *mut c_void;

/// Runs and records `call`, which transfers characters of a stream. `failed` returns true for a result that may stand for a partial transfer.
#[inline(always)]
fn moving<T>(stream: *mut FILE, op: &'static Op, call: impl FnOnce() -> T, failed: impl FnOnce(&T) -> bool) -> T {
    transferring(stream, op, call, |result| if failed(result) { Moved::AtLeast(0) } else { Moved::Unknown })
}

#[inline(always)]
fn reading(stream: *mut FILE, call: impl FnOnce() -> Wide) -> Wide {
    moving(stream, &STDIO_READ, call, |&character| character == WEOF)
}

#[inline(always)]
fn writing(stream: *mut FILE, call: impl FnOnce() -> Wide) -> Wide {
    moving(stream, &STDIO_WRITE, call, |&character| character == WEOF)
}

#[inline(always)]
fn line(stream: *mut FILE, call: impl FnOnce() -> *mut wchar_t) -> *mut wchar_t {
    moving(stream, &STDIO_READ, call, |line| line.is_null())
}

#[inline(always)]
fn printing(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    moving(stream, &STDIO_WRITE, call, |&result| result < 0)
}

#[inline(always)]
fn scanning(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    moving(stream, &STDIO_READ, call, |&items| items < 0)
}

/// Value that a wrapped wide character function returns if the C library lacks the function, for each result type.
trait Missing {
    const ANSWER: Self;
}

impl Missing for c_int {
    const ANSWER: Self = -1;
}

impl Missing for Wide {
    const ANSWER: Self = WEOF;
}

impl<T> Missing for *mut T {
    const ANSWER: Self = std::ptr::null_mut();
}

hooks! { WIDE, missing = { crate::errno::set(libc::ENOSYS); Missing::ANSWER };
    /// Wraps fgetwc(3) and getwc(3). The segment's length is the number of bytes that encode the character.
    [fgetwc, getwc, fgetwc_unlocked, getwc_unlocked](stream: *mut FILE) -> Wide
        = |real| reading(stream, || real(stream));
    [getwchar, getwchar_unlocked]() -> Wide
        = |real| reading(input(), real);
    [fputwc, putwc, fputwc_unlocked, putwc_unlocked](character: wchar_t, stream: *mut FILE) -> Wide
        = |real| writing(stream, || real(character, stream));
    [putwchar, putwchar_unlocked](character: wchar_t) -> Wide
        = |real| writing(output(), || real(character));
    [fgetws, fgetws_unlocked](text: *mut wchar_t, count: c_int, stream: *mut FILE) -> *mut wchar_t
        = |real| line(stream, || real(text, count, stream));
    /// Wraps fgetws(3) as compiled with _FORTIFY_SOURCE.
    [__fgetws_chk, __fgetws_unlocked_chk](text: *mut wchar_t, room: size_t, count: c_int, stream: *mut FILE) -> *mut wchar_t
        = |real| line(stream, || real(text, room, count, stream));
    [fputws, fputws_unlocked](text: *const wchar_t, stream: *mut FILE) -> c_int
        = |real| printing(stream, || real(text, stream));
    [vfwprintf](stream: *mut FILE, format: *const wchar_t, list: List) -> c_int
        = |real| printing(stream, || real(stream, format, list));
    [vwprintf](format: *const wchar_t, list: List) -> c_int
        = |real| printing(output(), || real(format, list));
    /// Wraps vfwprintf(3) as compiled with _FORTIFY_SOURCE.
    [__vfwprintf_chk](stream: *mut FILE, flag: c_int, format: *const wchar_t, list: List) -> c_int
        = |real| printing(stream, || real(stream, flag, format, list));
    /// Wraps vwprintf(3) as compiled with _FORTIFY_SOURCE.
    [__vwprintf_chk](flag: c_int, format: *const wchar_t, list: List) -> c_int
        = |real| printing(output(), || real(flag, format, list));
    /// Wraps vfwscanf(3), in all its versions.
    [vfwscanf, __isoc99_vfwscanf, __isoc23_vfwscanf](stream: *mut FILE, format: *const wchar_t, list: List) -> c_int
        = |real| scanning(stream, || real(stream, format, list));
    /// Wraps vwscanf(3), in all its versions.
    [vwscanf, __isoc99_vwscanf, __isoc23_vwscanf](format: *const wchar_t, list: List) -> c_int
        = |real| scanning(input(), || real(format, list));
}
