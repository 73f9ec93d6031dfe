//! Wraps calls that may change which file a path name refers to (rename, mount, chroot, wait, ...). These calls are not recorded, but
//! invalidate the cache of names (`handles/canonical_name.rs`). A child process that was waited for may have changed names too.
#![expect(unsafe_code, reason = "C functions")]

use crate::errno;
use crate::real::hooks;
use crate::{handles, lifecycle, own_directories, process, record};
use libc::{c_char, c_int, c_uint, c_ulong, c_void, id_t, idtype_t, pid_t, rusage, siginfo_t};

/// Runs `call`, which may change which files path names refer to, and invalidates cached names.
#[inline(always)]
pub(super) fn changing<T>(call: impl FnOnce() -> T) -> T {
    let result = call();
    handles::names_changed();
    result
}

/// Runs `call`, after which threads may have different root or working directories; disables the cache of names.
#[inline(always)]
pub(super) fn parting<T>(call: impl FnOnce() -> T) -> T {
    lifecycle::before_names_change();
    differing(call)
}

#[inline(always)]
fn differing<T>(call: impl FnOnce() -> T) -> T {
    let result = call();
    handles::names_differ();
    result
}

/// Runs `call`, which is unshare(2) with `flags`. Only a new mount namespace can change which files absolute paths refer to.
#[inline(always)]
pub(super) fn unsharing<T: Into<i64> + Copy>(flags: c_int, call: impl FnOnce() -> T) -> T {
    let result = if flags & libc::CLONE_NEWNS == 0 { differing(call) } else { parting(call) };
    if flags & libc::CLONE_FILES != 0 && result.into() == 0 && record::is_on() && process::seems_own() {
        handles::unshared();
    }
    result
}

/// Runs `call`, which may mount a file system, and invalidates cached path names.
#[inline(always)]
pub(super) fn mounting<T>(call: impl FnOnce() -> T) -> T {
    lifecycle::before_names_change();
    changing(call)
}

/// Runs `call`, which unmounts `target`, and invalidates cached path names.
#[inline(always)]
pub(super) fn unmounting(target: *const c_char, call: impl Fn() -> c_int) -> c_int {
    changing(|| own_directories::unmounting(target, call))
}

hooks! { NAMING, missing = { errno::set(libc::ENOSYS); -1 };
    [symlink](to: *const c_char, name: *const c_char) -> c_int
        = |real| changing(|| real(to, name));
    [symlinkat](to: *const c_char, at: c_int, name: *const c_char) -> c_int
        = |real| changing(|| real(to, at, name));
    [chroot](path: *const c_char) -> c_int
        = |real| parting(|| real(path));
    [mount](source: *const c_char, target: *const c_char, kind: *const c_char, flags: c_ulong, data: *const c_void) -> c_int
        = |real| mounting(|| real(source, target, kind, flags, data));
    [umount](target: *const c_char) -> c_int
        = |real| unmounting(target, || real(target));
    [umount2](target: *const c_char, flags: c_int) -> c_int
        = |real| unmounting(target, || real(target, flags));
    [pivot_root](new: *const c_char, old: *const c_char) -> c_int
        = |real| parting(|| real(new, old));
    /// Wraps move_mount(2) (glibc 2.36 and later).
    [move_mount](from: c_int, name: *const c_char, to: c_int, target: *const c_char, flags: c_uint) -> c_int
        = |real| mounting(|| real(from, name, to, target, flags));
    [unshare](flags: c_int) -> c_int
        = |real| unsharing(flags, || real(flags));
    [setns](number: c_int, kind: c_int) -> c_int
        = |real| parting(|| real(number, kind));
    [wait](status: *mut c_int) -> pid_t
        = |real| changing(|| real(status));
    [waitpid, __waitpid](child: pid_t, status: *mut c_int, options: c_int) -> pid_t
        = |real| changing(|| real(child, status, options));
    [wait3](status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t
        = |real| changing(|| real(status, options, usage));
    [wait4](child: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t
        = |real| changing(|| real(child, status, options, usage));
    [waitid](kind: idtype_t, id: id_t, about: *mut siginfo_t, options: c_int) -> c_int
        = |real| changing(|| real(kind, id, about, options));
    [system](command: *const c_char) -> c_int
        = |real| changing(|| real(command));
}
