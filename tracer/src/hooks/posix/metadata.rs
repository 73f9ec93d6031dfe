//! Wraps calls that query or change a file's metadata, by descriptor or by name. A name is made absolute lexically; a descriptor is
//! recorded under the path with which it was opened.
#![expect(unsafe_code, reason = "C functions")]

use super::naming::changing;
use crate::clock;
use crate::errno;
use crate::handles::{self, Placed, Used};
use crate::hooks::admission;
use crate::ops::{
    Op, POSIX_ACCESS, POSIX_ALLOCATE, POSIX_CHMOD, POSIX_CHOWN, POSIX_LINK, POSIX_MKDIR, POSIX_OPENDIR, POSIX_RENAME,
    POSIX_RMDIR, POSIX_STAT, POSIX_SYNC_RANGE, POSIX_TRUNCATE, POSIX_UNLINK, POSIX_UTIME,
};
use crate::process::seems_own as is_own;
use crate::real::hooks;
use crate::record::{Call, End};
use libc::{
    AT_FDCWD, DIR, RENAME_EXCHANGE, c_char, c_int, c_uint, c_void, gid_t, mode_t, off_t, timespec, timeval, uid_t,
    utimbuf,
};
use trace_format::segment::{NO_OFFSET, renamed_to};

/// Runs and records `call`, which returns 0 or -1 and acts on `name`, relative to the directory `at`. `length`: to be recorded.
fn on_name(at: c_int, name: *const c_char, op: &'static Op, length: u64, call: impl FnOnce() -> c_int) -> c_int {
    placed_on_name(at, name, op, length, || NO_OFFSET, call)
}

/// Runs and records `call` like [`on_name`]. `offset`: returns the offset to be recorded, after the call.
fn placed_on_name(
    at: c_int,
    name: *const c_char,
    op: &'static Op,
    length: u64,
    offset: impl FnOnce() -> i64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread().filter(|_| is_own()) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (crate::clock::of_call(), errno::save());
    if result == 0 {
        if let Some(file) = handles::named(at, name) {
            timer.finish(file, op, End { at: end, placed: Placed::at(offset()), length });
        }
    } else if let Some(file) = handles::failed_name(at, name, errno.value()) {
        timer.failed_with(errno.value(), file, op, NO_OFFSET);
    }
    errno.restore();
    result
}

/// Runs and records `call`, which returns 0 or -1 and acts on the open descriptor `number`. `offset`, `length`: to be recorded.
pub(super) fn on_descriptor(
    number: c_int,
    op: &'static Op,
    offset: i64,
    length: u64,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    match (target.used().map(Used::file), result) {
        (Some(file), 0) => timer.finish(file, op, End { at: clock::of_call(), placed: Placed::at(offset), length }),
        (Some(file), _) => timer.failed(file, op, offset),
        (None, _) => timer.end_uncertain(clock::of_call(), op, result.min(0).into()),
    }
    result
}

/// Runs and records `call` like [`on_descriptor`], for a function that returns its error instead of setting errno.
fn returning_error(number: c_int, op: &'static Op, offset: i64, length: u64, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = handles::descriptor(number) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    match (target.used().map(Used::file), result) {
        (Some(file), 0) => timer.finish(file, op, End { at: clock::of_call(), placed: Placed::at(offset), length }),
        (Some(file), error) => timer.failed_with(error, file, op, offset),
        (None, error) => timer.end_uncertain_with(clock::of_call(), op, (-error).into(), error),
    }
    result
}

/// Runs and records `call`, an opendir(3). Later operations on the directory are not recorded.
pub(super) fn opening_directory(name: *const c_char, call: impl FnOnce() -> *mut DIR) -> *mut DIR {
    let mut directory = std::ptr::null_mut();
    on_name(AT_FDCWD, name, &POSIX_OPENDIR, 0, || {
        directory = call();
        if directory.is_null() { -1 } else { 0 }
    });
    directory
}

/// Runs and records `call`, which gives the file `old` (relative to the directory `old_at`) the name `new`. `swaps`: the files swap names.
fn renaming(
    (old_at, old): (c_int, *const c_char),
    (new_at, new): (c_int, *const c_char),
    swaps: bool,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let offset = || match handles::hash_of_new_name(new_at, new) {
        Some(hash) if !swaps => renamed_to(hash),
        _ => NO_OFFSET,
    };
    changing(|| placed_on_name(old_at, old, &POSIX_RENAME, 0, offset, call))
}

fn unlinking(at: c_int, name: *const c_char, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let op = if flags & libc::AT_REMOVEDIR != 0 { &POSIX_RMDIR } else { &POSIX_UNLINK };
    on_name(at, name, op, 0, call)
}

/// Runs and records `call` like [`on_name`], or on the descriptor `at` if `name` is null, as in utimensat(2).
fn on_name_or(at: c_int, name: *const c_char, op: &'static Op, call: impl FnOnce() -> c_int) -> c_int {
    if name.is_null() { on_descriptor(at, op, NO_OFFSET, 0, call) } else { on_name(at, name, op, 0, call) }
}

/// Converts a size or length argument to unsigned; a negative argument, with which the call fails, becomes 0.
pub(super) fn size(length: off_t) -> u64 {
    u64::try_from(length).unwrap_or(0)
}

// readlink(2) is not wrapped: an allocator (jemalloc) calls it at its start while holding its lock, and recording may allocate.
hooks! { METADATA, missing = { errno::set(libc::ENOSYS); -1 };
    /// Wraps stat(2), recorded without offset and length, like all queries.
    unlike "two structures under one entry, not looked into" [stat, stat64](name: *const c_char, about: *mut c_void) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_STAT, 0, || real(name, about));
    unlike "two structures under one entry, not looked into" [lstat, lstat64](name: *const c_char, about: *mut c_void) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_STAT, 0, || real(name, about));
    unlike "two structures under one entry, not looked into" [fstat, fstat64](number: c_int, about: *mut c_void) -> c_int
        = |real| on_descriptor(number, &POSIX_STAT, NO_OFFSET, 0, || real(number, about));
    /// Wraps fstatat(2). An empty name with AT_EMPTY_PATH refers to the descriptor itself.
    unlike "two structures under one entry, not looked into" [fstatat, fstatat64](at: c_int, name: *const c_char, about: *mut c_void, flags: c_int) -> c_int
        = |real| on_name(at, name, &POSIX_STAT, 0, || real(at, name, about, flags));
    [statx](at: c_int, name: *const c_char, flags: c_int, mask: c_uint, about: *mut libc::statx) -> c_int
        = |real| on_name(at, name, &POSIX_STAT, 0, || real(at, name, flags, mask, about));
    /// Wraps stat(2) as compiled against glibc before 2.33 (LSB, libc: __xstat).
    [__xstat, __xstat64](version: c_int, name: *const c_char, about: *mut c_void) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_STAT, 0, || real(version, name, about));
    /// Wraps lstat(2) as compiled against glibc before 2.33.
    [__lxstat, __lxstat64](version: c_int, name: *const c_char, about: *mut c_void) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_STAT, 0, || real(version, name, about));
    /// Wraps fstat(2) as compiled against glibc before 2.33.
    [__fxstat, __fxstat64](version: c_int, number: c_int, about: *mut c_void) -> c_int
        = |real| on_descriptor(number, &POSIX_STAT, NO_OFFSET, 0, || real(version, number, about));
    /// Wraps fstatat(2) as compiled against glibc before 2.33.
    [__fxstatat, __fxstatat64](version: c_int, at: c_int, name: *const c_char, about: *mut c_void, flags: c_int) -> c_int
        = |real| on_name(at, name, &POSIX_STAT, 0, || real(version, at, name, about, flags));
    /// Wraps truncate(2). The segment's length is the new file size.
    [truncate, truncate64](name: *const c_char, length: off_t) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_TRUNCATE, size(length), || real(name, length));
    /// Wraps ftruncate(2). The segment's length is the new file size.
    [ftruncate, ftruncate64](number: c_int, length: off_t) -> c_int
        = |real| on_descriptor(number, &POSIX_TRUNCATE, NO_OFFSET, size(length), || real(number, length));
    /// Wraps fallocate(2), recorded with offset and length of the range, regardless of the mode.
    [fallocate, fallocate64](number: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int
        = |real| on_descriptor(number, &POSIX_ALLOCATE, offset, size(length), || real(number, mode, offset, length));
    /// Wraps posix_fallocate(3), which returns its error instead of setting errno.
    [posix_fallocate, posix_fallocate64](number: c_int, offset: off_t, length: off_t) -> c_int
        = |real| returning_error(number, &POSIX_ALLOCATE, offset, size(length), || real(number, offset, length));
    /// Wraps sync_file_range(2). A length of 0 means up to the end of the file.
    [sync_file_range](number: c_int, offset: off_t, length: off_t, flags: c_uint) -> c_int
        = |real| on_descriptor(number, &POSIX_SYNC_RANGE, offset, size(length), || real(number, offset, length, flags));
    /// Wraps rename(2), recorded under the old name, with the hash of the new one.
    [rename](old: *const c_char, new: *const c_char) -> c_int
        = |real| renaming((AT_FDCWD, old), (AT_FDCWD, new), false, || real(old, new));
    /// Wraps renameat(2), recorded under the old name, with the hash of the new one.
    [renameat](old_at: c_int, old: *const c_char, new_at: c_int, new: *const c_char) -> c_int
        = |real| renaming((old_at, old), (new_at, new), false, || real(old_at, old, new_at, new));
    /// Wraps renameat2(2), recorded under the old name, with the hash of the new one.
    [renameat2](old_at: c_int, old: *const c_char, new_at: c_int, new: *const c_char, flags: c_uint) -> c_int
        = |real| renaming((old_at, old), (new_at, new), flags & RENAME_EXCHANGE != 0, || real(old_at, old, new_at, new, flags));
    [unlink](name: *const c_char) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_UNLINK, 0, || real(name));
    /// Wraps unlinkat(2), which also removes directories.
    [unlinkat](at: c_int, name: *const c_char, flags: c_int) -> c_int
        = |real| unlinking(at, name, flags, || real(at, name, flags));
    [mkdir](name: *const c_char, mode: mode_t) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_MKDIR, 0, || real(name, mode));
    [mkdirat](at: c_int, name: *const c_char, mode: mode_t) -> c_int
        = |real| on_name(at, name, &POSIX_MKDIR, 0, || real(at, name, mode));
    [rmdir](name: *const c_char) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_RMDIR, 0, || real(name));
    [chmod](name: *const c_char, mode: mode_t) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_CHMOD, 0, || real(name, mode));
    [fchmod](number: c_int, mode: mode_t) -> c_int
        = |real| on_descriptor(number, &POSIX_CHMOD, NO_OFFSET, 0, || real(number, mode));
    [fchmodat](at: c_int, name: *const c_char, mode: mode_t, flags: c_int) -> c_int
        = |real| on_name(at, name, &POSIX_CHMOD, 0, || real(at, name, mode, flags));
    /// Wraps chown(2) and lchown(2), which change owner and group of a file.
    [chown, lchown](name: *const c_char, user: uid_t, group: gid_t) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_CHOWN, 0, || real(name, user, group));
    [fchown](number: c_int, user: uid_t, group: gid_t) -> c_int
        = |real| on_descriptor(number, &POSIX_CHOWN, NO_OFFSET, 0, || real(number, user, group));
    [fchownat](at: c_int, name: *const c_char, user: uid_t, group: gid_t, flags: c_int) -> c_int
        = |real| on_name(at, name, &POSIX_CHOWN, 0, || real(at, name, user, group, flags));
    [utime](name: *const c_char, times: *const utimbuf) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_UTIME, 0, || real(name, times));
    /// Wraps utimes(2) and lutimes(3), which set the time stamps of a file.
    [utimes, lutimes](name: *const c_char, times: *const timeval) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_UTIME, 0, || real(name, times));
    [futimes](number: c_int, times: *const timeval) -> c_int
        = |real| on_descriptor(number, &POSIX_UTIME, NO_OFFSET, 0, || real(number, times));
    [futimesat](at: c_int, name: *const c_char, times: *const timeval) -> c_int
        = |real| on_name_or(at, name, &POSIX_UTIME, || real(at, name, times));
    [futimens](number: c_int, times: *const timespec) -> c_int
        = |real| on_descriptor(number, &POSIX_UTIME, NO_OFFSET, 0, || real(number, times));
    [utimensat](at: c_int, name: *const c_char, times: *const timespec, flags: c_int) -> c_int
        = |real| on_name_or(at, name, &POSIX_UTIME, || real(at, name, times, flags));
    /// Wraps access(2) and euidaccess(3), which check the caller's permissions for a file.
    [access, euidaccess, eaccess](name: *const c_char, mode: c_int) -> c_int
        = |real| on_name(AT_FDCWD, name, &POSIX_ACCESS, 0, || real(name, mode));
    [faccessat](at: c_int, name: *const c_char, mode: c_int, flags: c_int) -> c_int
        = |real| on_name(at, name, &POSIX_ACCESS, 0, || real(at, name, mode, flags));
    /// Wraps link(2), recorded under the existing name.
    [link](old: *const c_char, new: *const c_char) -> c_int
        = |real| changing(|| on_name(AT_FDCWD, old, &POSIX_LINK, 0, || real(old, new)));
    /// Wraps linkat(2), recorded under the existing name.
    [linkat](old_at: c_int, old: *const c_char, new_at: c_int, new: *const c_char, flags: c_int) -> c_int
        = |real| changing(|| on_name(old_at, old, &POSIX_LINK, 0, || real(old_at, old, new_at, new, flags)));
}
