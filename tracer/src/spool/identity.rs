//! Files of the tracer's own that are opened again by their names, and are those that it made.
#![expect(unsafe_code, reason = "open(2), fstat(2), close(2)")]

use crate::{errno, held};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which file a name stood for when it was made. Others may write to the directory too: what lies under the name later is
/// looked at before it is used.
pub(super) struct Identity {
    device: AtomicU64,
    inode: AtomicU64,
}

impl Identity {
    pub(super) const fn new() -> Self {
        Self { device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    /// Makes the file `path`, which is new, and remembers it.
    pub(super) fn create(&self, path: &CStr) -> Result<libc::c_int, libc::c_int> {
        let file = open(path, libc::O_CREAT | libc::O_EXCL)?;
        let (device, inode) = about(file);
        // Whatever the umask: it will be opened again.
        // SAFETY: the descriptor is ours. A file system without permissions refuses.
        unsafe { crate::sys::syscall!(libc::SYS_fchmod, file, 0o600) };
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        Ok(file)
    }

    /// Device and inode.
    pub(super) fn numbers(&self) -> (u64, u64) {
        (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed))
    }

    /// Whether it lies under this name.
    pub(super) fn is_at(&self, path: &CStr) -> bool {
        // SAFETY: an all-zero stat is a valid one.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        let ((at, name), no_links) = (held::at(path), libc::AT_SYMLINK_NOFOLLOW);
        // Not by opening it: there may be no descriptor left.
        // SAFETY: the name ends in NUL, the structure is ours.
        let asked = unsafe { crate::sys::syscall!(libc::SYS_newfstatat, at, name.as_ptr(), &raw mut stat, no_links) };
        asked == 0 && (stat.st_dev, stat.st_ino) == self.numbers()
    }

    /// Opens it again.
    pub(super) fn reopen(&self, path: &CStr) -> Result<libc::c_int, libc::c_int> {
        let file = open(path, 0)?;
        if about(file) == self.numbers() {
            return Ok(file);
        }
        close(file);
        Err(libc::ESTALE)
    }
}

pub(super) fn open(path: &CStr, flags: libc::c_int) -> Result<libc::c_int, libc::c_int> {
    // No link is followed, nobody at the other end of a pipe is waited for.
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let (at, name) = held::at(path);
    // SAFETY: the name ends in NUL. Raw system calls throughout, since the functions may be wrapped.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, 0o600) };
    if file < 0 { Err(errno::save().value()) } else { Ok(file as libc::c_int) }
}

pub(super) fn close(file: libc::c_int) {
    // SAFETY: opened by this module.
    unsafe { crate::sys::syscall!(libc::SYS_close, file) };
}

/// Device and number; zeros if they cannot be told.
fn about(file: libc::c_int) -> (u64, u64) {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, file, &raw mut stat) } == 0;
    if known { (stat.st_dev, stat.st_ino) } else { (0, 0) }
}
