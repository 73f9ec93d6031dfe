//! Functions that are not recorded, but that change what the tracer must know of a stream: its descriptor (popen(3)), or its
//! position, behind which bytes move that no wrapped function has moved.
#![expect(unsafe_code, reason = "C functions")]

use super::fields::{self, number_of};
use super::positions;
use super::transfers::target_of;
use crate::handles::{self, Target};
use crate::notes::Note;
use crate::process::seems_own as is_own_process;
use crate::real::{hooks, none};
use crate::{errno, record};
use libc::{EOF, FILE, c_char, c_int, c_void, group, passwd, size_t};
use trace_format::segment::NO_OFFSET;

/// Runs `call`, which moves the stream unseen: the next call asks for the position.
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

/// Runs `call`, which code of the headers compiled into the program calls when the buffer is empty or full. What that code has
/// moved since the last call, and the byte that goes with this one, are counted: no segment has them.
fn refilling(stream: *mut FILE, bytes: u64, call: impl FnOnce() -> c_int) -> c_int {
    let description = match stream.is_null() || record::thread().is_none() {
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

/// Runs `call`, which puts a byte back: the stream is one byte before where it was.
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

/// A stream to another program has a descriptor of its own: what its number was before does not count.
fn starting(stream: *mut FILE) -> *mut FILE {
    handles::has_children();
    if !stream.is_null() && record::is_on() && is_own_process() {
        let errno = errno::save();
        handles::forget(number_of(stream));
        errno.restore();
    }
    stream
}

/// Runs `call`, which closes the stream's descriptor.
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
    /// popen(3).
    [popen, _IO_popen](command: *const c_char, mode: *const c_char) -> *mut FILE
        = |real| starting(real(command, mode));
    /// pclose(3).
    [pclose](stream: *mut FILE) -> c_int
        = |real| {
            let status = ending(stream, || real(stream));
            // The program that has ended may have changed names.
            handles::names_changed();
            status
        };
    /// What getc_unlocked(3) calls, compiled into a program, when the buffer is empty.
    [__uflow](stream: *mut FILE) -> c_int
        = |real| refilling(stream, 1, || real(stream));
    /// The same, which leaves the byte where it is.
    [__underflow](stream: *mut FILE) -> c_int
        = |real| refilling(stream, 0, || real(stream));
    /// What putc_unlocked(3) calls, compiled into a program, when the buffer is full.
    [__overflow](stream: *mut FILE, byte: c_int) -> c_int
        = |real| refilling(stream, u64::from(byte != EOF), || real(stream, byte));
    /// ungetc(3).
    [ungetc, _IO_ungetc](byte: c_int, stream: *mut FILE) -> c_int
        = |real| if record::thread().is_none() { real(byte, stream) } else { putting_back(stream, || real(byte, stream)) };
    /// ungetwc(3).
    [ungetwc](character: u32, stream: *mut FILE) -> u32
        = |real| moving(stream, || real(character, stream));
    /// fgetpwent(3).
    [fgetpwent](stream: *mut FILE) -> *mut passwd
        = |real| moving(stream, || real(stream));
    /// fgetpwent_r(3).
    [fgetpwent_r](stream: *mut FILE, entry: *mut passwd, buffer: *mut c_char, size: size_t, result: *mut *mut passwd) -> c_int
        = |real| moving(stream, || real(stream, entry, buffer, size, result));
    /// putpwent(3).
    [putpwent](entry: *const passwd, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    /// fgetgrent(3).
    [fgetgrent](stream: *mut FILE) -> *mut group
        = |real| moving(stream, || real(stream));
    /// fgetgrent_r(3).
    [fgetgrent_r](stream: *mut FILE, entry: *mut group, buffer: *mut c_char, size: size_t, result: *mut *mut group) -> c_int
        = |real| moving(stream, || real(stream, entry, buffer, size, result));
    /// putgrent(3).
    [putgrent](entry: *const group, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    /// fgetspent(3), fgetsgent(3).
    [fgetspent, fgetsgent](stream: *mut FILE) -> *mut c_void
        = |real| moving(stream, || real(stream));
    /// putspent(3), putsgent(3).
    [putspent, putsgent](entry: *const c_void, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(entry, stream));
    /// getmntent(3).
    [getmntent](stream: *mut FILE) -> *mut libc::mntent
        = |real| moving(stream, || real(stream));
    /// getmntent_r(3).
    [getmntent_r](stream: *mut FILE, entry: *mut libc::mntent, buffer: *mut c_char, size: c_int) -> *mut libc::mntent
        = |real| moving(stream, || real(stream, entry, buffer, size));
    /// addmntent(3).
    [addmntent](stream: *mut FILE, entry: *const libc::mntent) -> c_int
        = |real| moving(stream, || real(stream, entry));
    /// malloc_info(3).
    [malloc_info](options: c_int, stream: *mut FILE) -> c_int
        = |real| moving(stream, || real(options, stream));
}
