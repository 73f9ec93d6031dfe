//! Keeps descriptors of the tracer's own directories, because path names may lead elsewhere after chroot(2), pivot_root(2), unshare(2),
//! setns(2) and mount(2). Just before the first of these calls the directories are opened (O_PATH); from then on files in them are named
//! relative to these descriptors. A directory that could not be opened is out of reach: nothing is opened or created by its name. A program
//! that makes no such call has no descriptor of the tracer.
//!
//! The program does not notice these descriptors. Their numbers are near the program's limit; close(2) and its variants spare them and
//! answer as if they were not open; dup2(2) may take their number. A descriptor that the program closes by a raw system call is out of
//! reach: the directory's identity is checked (fstat(2)) before each use.
//!
//! Bounds: some twenty system calls, once per process; three descriptors.
#![expect(unsafe_code, reason = "open(2), fcntl(2), close(2), prlimit(2); leaked strings")]

use crate::{errno, file_status, process, sys};
use libc::{c_int, c_uint};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

/// Purpose of a directory that the tracer keeps open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// Directory to which the traces are written.
    Output,
    /// Directory of the spool and the spill file (files with the recorded data of the running process).
    Spool,
    /// Directory of the file through which processes share the job's byte budget.
    Budget,
}

struct Held {
    /// Descriptor number of the directory that the tracer keeps open, or -1.
    number: AtomicI32,
    device: AtomicU64,
    inode: AtomicU64,
    /// Path of the directory that the tracer keeps open; null if the directory was never held. Never freed.
    path: AtomicPtr<CString>,
}

static HELD: [Held; 3] = [const {
    Held {
        number: AtomicI32::new(-1),
        device: AtomicU64::new(0),
        inode: AtomicU64::new(0),
        path: AtomicPtr::new(std::ptr::null_mut()),
    }
}; 3];
/// Lowest descriptor number among the directories that the tracer keeps open.
static LOWEST: AtomicI32 = AtomicI32::new(c_int::MAX);
static BEGUN: AtomicBool = AtomicBool::new(false);
/// True once path names may lead elsewhere than at process start (after chroot(2), mount(2) and similar calls).
static IN_FORCE: AtomicBool = AtomicBool::new(false);

/// Upper bound of the descriptor numbers that the tracer uses, if the program's limit is larger: the kernel's descriptor table grows to the
/// highest number in use.
const HIGHEST: u64 = 4096;
/// Distance between the limit of descriptor numbers (the program's limit, at most [`HIGHEST`]) and the lowest number that the tracer uses.
const ROOM: u64 = 8;

impl Held {
    fn path(&self) -> Option<&'static CStr> {
        // SAFETY: the pointer is null, or a leaked string.
        unsafe { self.path.load(Ordering::Acquire).as_ref() }.map(CString::as_c_str)
    }

    /// Returns the descriptor by which the directory is kept open; `None` if it no longer refers to the directory.
    fn number(&self) -> Option<c_int> {
        let number = self.number.load(Ordering::Acquire);
        (number >= 0 && identity(number) == Some(self.identity())).then_some(number)
    }

    fn identity(&self) -> (u64, u64) {
        (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed))
    }

    /// Keeps this directory open by a duplicate of its descriptor `number`.
    fn keep(&self, number: c_int) {
        let Some((device, inode)) = identity(number) else { return };
        let copy = copy_near_limit(number);
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        self.number.store(copy, Ordering::Release);
        if copy >= 0 {
            LOWEST.fetch_min(copy, Ordering::Relaxed);
        }
    }
}

/// Returns device and inode number of the file behind descriptor `number`.
fn identity(number: c_int) -> Option<(u64, u64)> {
    file_status::fstat(number).map(|about| (about.st_dev, about.st_ino))
}

fn close(number: c_int) {
    // SAFETY: the descriptor belongs to the tracer.
    unsafe { sys::syscall!(libc::SYS_close, number) };
}

/// Duplicates descriptor `number` to a number near the limit, which the program most likely does not use; returns -1 on failure.
fn copy_near_limit(number: c_int) -> c_int {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is a local variable.
    unsafe { sys::syscall!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, std::ptr::null::<u8>(), &raw mut limit) };
    let least = limit.rlim_cur.min(HIGHEST).saturating_sub(ROOM);
    // SAFETY: duplicating a descriptor has no visible effect.
    unsafe { sys::syscall!(libc::SYS_fcntl, number, libc::F_DUPFD_CLOEXEC, least) as c_int }
}

/// Runs `hold`, which opens the tracer's directories and keeps them open; from then on files in them are named relative to them. Runs once,
/// before a call such as chroot(2), after which path names may lead elsewhere. Preserves errno.
#[cold]
pub(crate) fn begin(hold: impl FnOnce()) {
    if BEGUN.swap(true, Ordering::AcqRel) {
        return;
    }
    let errno = errno::save();
    hold();
    IN_FORCE.store(true, Ordering::Release);
    errno.restore();
}

/// Keeps the directory at `path` open for the tracer by duplicating descriptor `number`. `what`: purpose of the directory.
pub(crate) fn keep(what: For, path: &[u8], number: c_int) {
    let Ok(path) = CString::new(path) else { return };
    let held = &HELD[what as usize];
    held.keep(number);
    held.path.store(Box::into_raw(Box::new(path)), Ordering::Release);
}

/// Opens the directory at `path` and keeps it open for the tracer. `what`: purpose of the directory.
pub(crate) fn open(what: For, path: &CStr) {
    with_open(path, |number| keep(what, path.to_bytes(), number));
}

/// Opens the directory at `path` and runs `work` with the descriptor; does nothing if the open fails.
fn with_open(path: &CStr, work: impl FnOnce(c_int)) {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends in NUL.
    let number = unsafe { sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) } as c_int;
    if number >= 0 {
        work(number);
        close(number);
    }
}

/// True if path names may lead elsewhere than at process start, so that the directories kept open must be used instead.
pub(crate) fn is_in_force() -> bool {
    IN_FORCE.load(Ordering::Acquire)
}

/// Returns the path of the directory with the purpose `what`, as given when the directory was opened to be kept.
pub(crate) fn path(what: For) -> Option<&'static CStr> {
    HELD[what as usize].path()
}

/// Returns the descriptor by which the tracer keeps the directory at `path` open; `None` if the directory is out of reach.
pub(crate) fn number(path: &[u8]) -> Option<c_int> {
    HELD.iter().filter(|held| held.path().is_some_and(|held| held.to_bytes() == path)).find_map(Held::number)
}

/// Returns a directory descriptor and a name relative to it, by which the kernel finds the file at the absolute `path`. If the directory is
/// out of reach, system calls with this pair fail with EBADF.
pub(crate) fn at(path: &CStr) -> (c_int, &CStr) {
    if !is_in_force() {
        return (libc::AT_FDCWD, path);
    }
    let bytes = path.to_bytes_with_nul();
    let slash = bytes.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let name = CStr::from_bytes_with_nul(&bytes[slash + 1..]).unwrap_or(c"");
    (number(&bytes[..slash]).unwrap_or(-1), name)
}

/// Returns the directory that the tracer keeps open as descriptor `number`, if there is one.
#[inline(always)]
fn of_number(number: c_int) -> Option<&'static Held> {
    if number < LOWEST.load(Ordering::Relaxed) { None } else { find(number) }
}

#[cold]
fn find(number: c_int) -> Option<&'static Held> {
    let errno = errno::save();
    let found = HELD.iter().find(|held| held.number.load(Ordering::Relaxed) == number && held.number() == Some(number));
    errno.restore();
    found.filter(|_| process::is_own())
}

/// Runs `close`, which closes descriptor `number` for the program. If the tracer holds that descriptor, fails with EBADF instead.
#[inline(always)]
pub(crate) fn unless_held(number: c_int, close: impl FnOnce() -> c_int) -> c_int {
    if of_number(number).is_none() {
        return close();
    }
    errno::set(libc::EBADF);
    -1
}

/// Moves a descriptor of the tracer away from `number`, which the program is about to reuse.
#[inline(always)]
pub(crate) fn make_way(number: c_int) {
    if let Some(held) = of_number(number) {
        move_away(held, number);
    }
}

#[cold]
fn move_away(held: &Held, number: c_int) {
    let errno = errno::save();
    held.keep(number);
    close(number);
    errno.restore();
}

/// Runs `close`, which closes a range of descriptors, on all of `first`..=`last` except the descriptors that the tracer holds.
pub(crate) fn around(first: c_uint, last: c_uint, mut close: impl FnMut(c_uint, c_uint) -> c_int) -> c_int {
    let mut numbers = HELD.each_ref().map(|held| held.number.load(Ordering::Relaxed));
    numbers.sort_unstable();
    let mut from = first;
    for number in numbers.into_iter().filter(|&number| of_number(number).is_some()) {
        let number = number as c_uint;
        if !(from..=last).contains(&number) {
            continue;
        }
        if number > from {
            let result = close(from, number - 1);
            if result != 0 {
                return result;
            }
        }
        from = number + 1;
    }
    // The range may have contained held descriptors only.
    if from > last && from > first { 0 } else { close(from, last) }
}

/// Runs `unmount`, which detaches the file system at `target`. On EBUSY, closes the tracer's descriptors on that file system and tries again.
pub(crate) fn unmounting(target: *const libc::c_char, unmount: impl Fn() -> c_int) -> c_int {
    let result = unmount();
    if result == 0 || errno::save().value() != libc::EBUSY || !is_in_force() || !process::is_own() {
        return result;
    }
    let Some((device, _)) = identity_at(target) else {
        errno::set(libc::EBUSY);
        return result;
    };
    let there = |held: &&Held| held.identity().0 == device;
    for held in HELD.iter().filter(there) {
        if let Some(number) = held.number() {
            held.number.store(-1, Ordering::Release);
            close(number);
        }
    }
    let result = unmount();
    let errno = errno::save();
    if result != 0 {
        HELD.iter().filter(there).for_each(hold_again);
    }
    errno.restore();
    result
}

/// Reopens the directory of the tracer and keeps it open, if its path still leads to the same directory.
fn hold_again(held: &Held) {
    let Some(path) = held.path() else { return };
    with_open(path, |number| {
        if identity(number) == Some(held.identity()) {
            held.keep(number);
        }
    });
}

/// Returns device and inode number of the file at `path`, a string of the tracer's, or one of the program's that the kernel has already read.
pub(crate) fn identity_at(path: *const libc::c_char) -> Option<(u64, u64)> {
    // SAFETY: an all-zero stat is valid.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    let into = &raw mut about;
    // SAFETY: the string ends in NUL; the structure is a local variable.
    let known = unsafe { sys::syscall!(libc::SYS_newfstatat, libc::AT_FDCWD, path, into, 0) } == 0;
    known.then_some((about.st_dev, about.st_ino))
}
