//! Wide characters. What a call moves of the file are the bytes that they are encoded as, which only the stream's position
//! tells; so ftello(3) is asked before and behind each call. A stream without a position has calls of length 0.
//!
//! Compiled programs hold no code of these functions. fwide(3) moves nothing.
#![expect(unsafe_code, reason = "C functions")]

use super::standard::{input, output};
use super::transfers::{Moved, transferring};
use crate::ops::{Op, STDIO_READ, STDIO_WRITE};
use crate::real::hooks;
use libc::{FILE, c_int, c_void, size_t, wchar_t};

/// A `wint_t`.
type Wide = u32;
/// End of the file, or a failure.
const WEOF: Wide = u32::MAX;
/// A `va_list`, as an argument.
type List = *mut c_void;

/// Runs `call`, which moves what it can of a stream; `failed` tells from its result whether that was less than it might
/// have been.
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

/// What a function answers that the C library does not have.
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
    /// fgetwc(3), getwc(3). The bytes of a character.
    [fgetwc, getwc, fgetwc_unlocked, getwc_unlocked](stream: *mut FILE) -> Wide
        = |real| reading(stream, || real(stream));
    /// getwchar(3).
    [getwchar, getwchar_unlocked]() -> Wide
        = |real| reading(input(), real);
    /// fputwc(3), putwc(3).
    [fputwc, putwc, fputwc_unlocked, putwc_unlocked](character: wchar_t, stream: *mut FILE) -> Wide
        = |real| writing(stream, || real(character, stream));
    /// putwchar(3).
    [putwchar, putwchar_unlocked](character: wchar_t) -> Wide
        = |real| writing(output(), || real(character));
    /// fgetws(3).
    [fgetws, fgetws_unlocked](text: *mut wchar_t, count: c_int, stream: *mut FILE) -> *mut wchar_t
        = |real| line(stream, || real(text, count, stream));
    /// fgetws(3) as programs compiled with _FORTIFY_SOURCE call it.
    [__fgetws_chk, __fgetws_unlocked_chk](text: *mut wchar_t, room: size_t, count: c_int, stream: *mut FILE) -> *mut wchar_t
        = |real| line(stream, || real(text, room, count, stream));
    /// fputws(3).
    [fputws, fputws_unlocked](text: *const wchar_t, stream: *mut FILE) -> c_int
        = |real| printing(stream, || real(text, stream));
    /// vfwprintf(3).
    [vfwprintf](stream: *mut FILE, format: *const wchar_t, list: List) -> c_int
        = |real| printing(stream, || real(stream, format, list));
    /// vwprintf(3).
    [vwprintf](format: *const wchar_t, list: List) -> c_int
        = |real| printing(output(), || real(format, list));
    /// vfwprintf(3) as programs compiled with _FORTIFY_SOURCE call it.
    [__vfwprintf_chk](stream: *mut FILE, flag: c_int, format: *const wchar_t, list: List) -> c_int
        = |real| printing(stream, || real(stream, flag, format, list));
    /// vwprintf(3), likewise.
    [__vwprintf_chk](flag: c_int, format: *const wchar_t, list: List) -> c_int
        = |real| printing(output(), || real(flag, format, list));
    /// vfwscanf(3), in its versions.
    [vfwscanf, __isoc99_vfwscanf, __isoc23_vfwscanf](stream: *mut FILE, format: *const wchar_t, list: List) -> c_int
        = |real| scanning(stream, || real(stream, format, list));
    /// vwscanf(3), in its versions.
    [vwscanf, __isoc99_vwscanf, __isoc23_vwscanf](format: *const wchar_t, list: List) -> c_int
        = |real| scanning(input(), || real(format, list));
}
