//! Wraps functions for characters, words and lines. getc is recorded as a read of one byte, a line as a read or write of its bytes. A call
//! that only hits the end of file is a read of 0 bytes. ungetc(3) is not recorded; the next call has the resulting offset.
//!
//! Inlined getc_unlocked(3) and similar call the C library only if the buffer is empty or full; the tracer does not see the other bytes.
#![expect(unsafe_code, reason = "C functions")]

use super::standard::{input, output};
use super::transfers::{Moved, transferring};
use crate::ops::{STDIO_READ, STDIO_WRITE};
use crate::real::{hooks, none};
use libc::{EOF, FILE, c_char, c_int, size_t, ssize_t};

const WORD: u64 = size_of::<c_int>() as u64;

fn length_of(string: *const c_char) -> u64 {
    // SAFETY: a string that the program wrote or that the C library has just read.
    unsafe { libc::strlen(string) as u64 }
}

#[inline(always)]
fn reading_byte(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    transferring(stream, &STDIO_READ, call, |&byte| if byte == EOF { Moved::AtLeast(0) } else { Moved::Bytes(1) })
}

#[inline(always)]
fn writing_byte(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    transferring(stream, &STDIO_WRITE, call, |&byte| if byte == EOF { Moved::AtLeast(0) } else { Moved::Bytes(1) })
}

/// Runs and records `call`, which reads at most one line into a buffer of `room` bytes.
#[inline(always)]
pub(super) fn reading_line(stream: *mut FILE, room: usize, call: impl FnOnce() -> *mut c_char) -> *mut c_char {
    transferring(stream, &STDIO_READ, call, |&line| match line.is_null() {
        true => Moved::AtLeast(0),
        // A line may contain NULs, so its bytes are counted in the stream's buffer.
        false => Moved::Within { limit: room, least: length_of(line) },
    })
}

/// Runs and records `call`, which reads up to a delimiter and returns the number of bytes.
#[inline(always)]
fn reading_until(stream: *mut FILE, call: impl FnOnce() -> ssize_t) -> ssize_t {
    transferring(stream, &STDIO_READ, call, |&length| u64::try_from(length).map_or(Moved::AtLeast(0), Moved::Bytes))
}

/// Runs and records `call`, which writes `string` and `more` further bytes.
#[inline(always)]
fn writing_string(stream: *mut FILE, string: *const c_char, more: u64, call: impl FnOnce() -> c_int) -> c_int {
    transferring(stream, &STDIO_WRITE, call, |&result| match result {
        EOF => Moved::AtLeast(0),
        _ => Moved::Bytes(length_of(string) + more),
    })
}

fn room(size: c_int) -> usize {
    usize::try_from(size).unwrap_or(0)
}

/// Runs getline(3) by calling the real `__getdelim` with a newline, since in a statically linked C library getline's own call of
/// `__getdelim` is wrapped too. `None` if `__getdelim` is missing.
#[cfg(dxt_static)]
fn until_newline(line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> Option<ssize_t> {
    type Getdelim = unsafe extern "C" fn(*mut *mut c_char, *mut size_t, c_int, *mut FILE) -> ssize_t;
    // SAFETY: the symbol has this C type, or is null.
    let function =
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, Option<Getdelim>>(slots::__getdelim.0.address()) };
    // SAFETY: passes the caller's own arguments: getline(3) is getdelim(3) with a newline (POSIX).
    function.map(|function| unsafe { function(line, room, c_int::from(b'\n'), stream) })
}

/// Returns `None`: getline(3) needs no special treatment, since in a shared C library getline's call of `__getdelim` is not wrapped.
#[cfg(not(dxt_static))]
#[inline(always)]
fn until_newline(_: *mut *mut c_char, _: *mut size_t, _: *mut FILE) -> Option<ssize_t> {
    None
}

hooks! { CHARACTERS, missing = none();
    /// Wraps fgetc(3) and getc(3), recorded as a read of one byte.
    [fgetc, getc, _IO_getc, fgetc_unlocked, getc_unlocked](stream: *mut FILE) -> c_int
        = |real| reading_byte(stream, || real(stream));
    [getchar, getchar_unlocked]() -> c_int
        = |real| reading_byte(input(), real);
    /// Wraps fputc(3) and putc(3), recorded as a write of one byte.
    [fputc, putc, _IO_putc, fputc_unlocked, putc_unlocked](byte: c_int, stream: *mut FILE) -> c_int
        = |real| writing_byte(stream, || real(byte, stream));
    [putchar, putchar_unlocked](byte: c_int) -> c_int
        = |real| writing_byte(output(), || real(byte));
    /// Wraps getw(3), which reads an int, or fewer bytes at the end of the file.
    [getw](stream: *mut FILE) -> c_int
        = |real| transferring(stream, &STDIO_READ, || real(stream), |&word| if word == EOF { Moved::AtLeast(0) } else { Moved::Bytes(WORD) });
    [putw](word: c_int, stream: *mut FILE) -> c_int
        = |real| transferring(stream, &STDIO_WRITE, || real(word, stream), |&result| if result == 0 { Moved::Bytes(WORD) } else { Moved::AtLeast(0) });
    /// Wraps fgets(3). The segment's length is the number of bytes read, including NULs.
    [fgets, fgets_unlocked, _IO_fgets](line: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char
        = |real| reading_line(stream, room(size), || real(line, size, stream));
    /// Wraps fgets(3) as compiled with _FORTIFY_SOURCE.
    [__fgets_chk, __fgets_unlocked_chk](line: *mut c_char, space: size_t, size: c_int, stream: *mut FILE) -> *mut c_char
        = |real| reading_line(stream, room(size), || real(line, space, size, stream));
    [getline](line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> ssize_t
        = |real| reading_until(stream, || until_newline(line, room, stream).unwrap_or_else(|| real(line, room, stream)));
    [getdelim, __getdelim](line: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut FILE) -> ssize_t
        = |real| reading_until(stream, || real(line, room, delimiter, stream));
    /// Wraps fputs(3). The segment's length is the length of the string.
    [fputs, fputs_unlocked, _IO_fputs](string: *const c_char, stream: *mut FILE) -> c_int
        = |real| writing_string(stream, string, 0, || real(string, stream));
    /// Wraps puts(3), recorded if standard output is a file; the segment's length is the length of the string plus a newline.
    [puts, _IO_puts](string: *const c_char) -> c_int
        = |real| writing_string(output(), string, 1, || real(string));
}
