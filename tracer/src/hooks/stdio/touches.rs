//! Wraps functions that are not recorded but change a stream's descriptor (popen(3)) or position, which the tracer must track.
#![expect(unsafe_code, reason = "C functions")]

use super::fields::{self, number_of};
use super::positions;
use super::transfers::target_of;
use crate::handles::{self, Target};
use crate::hooks::admission;
use crate::notes::Note;
use crate::process::seems_own as is_own_process;
use crate::real::{hooks, none};
use crate::{errno, record};
use libc::{EOF, FILE, c_char, c_int, c_void, group, passwd, size_t};
use trace_format::segment::NO_OFFSET;

/// Runs `call`, which moves the stream without being recorded, so that the next call must query the position.
fn moving<T>(stream: *mut FILE, call: impl FnOnce() -> T) -> T {
    let description = match stream.is_null() {
        true => None,
        false => handles::known_description(number_of(stream)),
    };
    if let Some(description) = description {
        positions::look(stream, description);
    }
    let result = call();
    if let Some(description) = description {
        description.stream().forget();
    }
    result
}

/// Runs `call`, which code inlined from the C headers calls when the buffer is empty or full. The bytes that the inlined code has moved
/// since the last call, and `bytes` of this call, are counted but not recorded as a call.
fn refilling(stream: *mut FILE, bytes: u64, call: impl FnOnce() -> c_int) -> c_int {
    let description = match stream.is_null() || admission::thread().is_none() {
        true => None,
        false => target_of(stream),
    };
    let Some(description) = description.map(|target| target.description) else { return moving(stream, call) };
    let mover = description.turn();
    positions::look(stream, description);
    let byte = call();
    if byte != EOF {
        Note::Unlocked.count_many(bytes);
    }
    positions::remember(stream, description, &mover, NO_OFFSET);
    description.settle(mover);
    byte
}

/// Runs `call`, which puts a byte back, so that the stream's position decreases by one.
fn putting_back(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    let Some(Target { description, .. }) = target_of(stream) else { return call() };
    let mover = description.turn();
    let known = fields::of(stream).and_then(|now| description.stream().take(now.marks(), now.waiting()));
    description.stream().forget();
    let byte = call();
    if let Some(position) = known
        && byte != EOF
    {
        positions::remember(stream, description, &mover, position - 1);
    }
    description.settle(mover);
    byte
}

/// Forgets the file to which a descriptor created by popen(3) referred earlier.
fn starting(stream: *mut FILE) -> *mut FILE {
    handles::has_children();
    if !stream.is_null() && record::is_on() && is_own_process() {
        let errno = errno::save();
        handles::forget(number_of(stream));
        errno.restore();
    }
    stream
}

/// Runs `call`, which closes the stream and its descriptor.
fn ending(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    if stream.is_null() || !record::is_on() || !is_own_process() {
        return call();
    }
    let errno = errno::save();
    let number = number_of(stream);
    errno.restore();
    let taken = (number >= 0).then(|| handles::take(number));
    let result = call();
    taken.into_iter().for_each(handles::Taken::close);
    result
}

hooks! { TOUCHES, missing = none();
    [popen, _IO_popen](command: *const c_char, mode: *const c_char) -> *mut FILE
        = |real| starting(real(command, mode));
    [pclose](stream: *mut FILE) -> c_int
        = |real| {
            let status = ending(stream, || real(stream));
            // The child process that has ended may have changed file names.
            handles::names_changed();
            status
        };
    /// Wraps `__uflow`, which inlined getc_unlocked(3) calls when the buffer is empty.
    [__uflow](stream: *mut FILE) -> c_int
        = |real| refilling(stream, 1, || real(stream));
    /// Wraps `__underflow`, which refills an empty buffer but leaves the next byte unread in the stream.
    [__underflow](stream: *mut FILE) -> c_int
        = |real| refilling(stream, 0, || real(stream));
    /// Wraps `__overflow`, which inlined putc_unlocked(3) calls when the buffer is full.
    [__overflow](stream: *mut FILE, byte: c_int) -> c_int
        = |real| refilling(stream, u64::from(byte != EOF), || real(stream, byte));
    [ungetc, _IO_ungetc](byte: c_int, stream: *mut FILE) -> c_int
        = |real| if admission::thread().is_none() { real(byte, stream) } else { putting_back(stream, || real(byte, stream)) };
    [ungetwc](character: u32, stream: *mut FILE) -> u32
        = |real| moving(stream, || real(character, stream));
    [fgetpwent](stream: *mut FILE) -> *mut passwd
        = |real| moving(stream, || real(stream));
    [fgetpwent_r](stream: *mut FILE, entry: *mut passwd, buffer: *mut c_char, size: size_t, result: *mut *mut passwd) -> c_int
        = |real| moving(stream, || real(stream, entry, buffer, size, result));
    [putpwent](entry: *const passwd, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    [fgetgrent](stream: *mut FILE) -> *mut group
        = |real| moving(stream, || real(stream));
    [fgetgrent_r](stream: *mut FILE, entry: *mut group, buffer: *mut c_char, size: size_t, result: *mut *mut group) -> c_int
        = |real| moving(stream, || real(stream, entry, buffer, size, result));
    [putgrent](entry: *const group, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    /// Wraps fgetspent(3) and fgetsgent(3), which read an entry from a stream.
    [fgetspent, fgetsgent](stream: *mut FILE) -> *mut c_void
        = |real| moving(stream, || real(stream));
    /// Wraps putspent(3) and putsgent(3), which write an entry to a stream.
    [putspent, putsgent](entry: *const c_void, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    [getmntent](stream: *mut FILE) -> *mut libc::mntent
        = |real| moving(stream, || real(stream));
    [getmntent_r](stream: *mut FILE, entry: *mut libc::mntent, buffer: *mut c_char, size: c_int) -> *mut libc::mntent
        = |real| moving(stream, || real(stream, entry, buffer, size));
    [addmntent](stream: *mut FILE, entry: *const libc::mntent) -> c_int
        = |real| moving(stream, || real(stream, entry));
    [malloc_info](options: c_int, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(options, stream));
}
