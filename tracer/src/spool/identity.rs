//! Check that a file which the tracer reopens by its name is still the file that it created.
#![expect(unsafe_code, reason = "open(2), fstat(2), close(2)")]

use crate::{errno, held};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a file at its creation, to check a file found under its name: other users may write to the directory.
pub(super) struct Identity {
    device: AtomicU64,
    inode: AtomicU64,
}

impl Identity {
    pub(super) const fn new() -> Self {
        Self { device: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }

    /// Creates the file `path`, which must not exist, and stores its device and inode number.
    pub(super) fn create(&self, path: &CStr) -> Result<libc::c_int, libc::c_int> {
        let file = open(path, libc::O_CREAT | libc::O_EXCL)?;
        let (device, inode) = about(file);
        // Regardless of the umask: the file will be reopened.
        // SAFETY: the descriptor was just opened here. Fails on file systems without permissions.
        unsafe { crate::sys::syscall!(libc::SYS_fchmod, file, 0o600) };
        self.device.store(device, Ordering::Relaxed);
        self.inode.store(inode, Ordering::Relaxed);
        Ok(file)
    }

    pub(super) fn numbers(&self) -> (u64, u64) {
        (self.device.load(Ordering::Relaxed), self.inode.load(Ordering::Relaxed))
    }

    /// True if the file at `path` is the one that was created.
    pub(super) fn is_at(&self, path: &CStr) -> bool {
        // SAFETY: an all-zero stat is valid.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        let ((at, name), no_links) = (held::at(path), libc::AT_SYMLINK_NOFOLLOW);
        // Without opening the file, since the process may be out of descriptors.
        // SAFETY: the name is NUL-terminated, and the structure is a local variable.
        let asked = unsafe { crate::sys::syscall!(libc::SYS_newfstatat, at, name.as_ptr(), &raw mut stat, no_links) };
        asked == 0 && (stat.st_dev, stat.st_ino) == self.numbers()
    }

    /// Reopens the file; ESTALE if another file now has its name.
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
    // Follow no symbolic link, and do not block on a FIFO without a peer.
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let (at, name) = held::at(path);
    // SAFETY: the name is NUL-terminated. Raw system calls throughout, since libc's functions may be wrapped.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, at, name.as_ptr(), flags, 0o600) };
    if file < 0 { Err(errno::save().value()) } else { Ok(file as libc::c_int) }
}

pub(super) fn close(file: libc::c_int) {
    // SAFETY: opened by this module.
    unsafe { crate::sys::syscall!(libc::SYS_close, file) };
}

/// Returns device and inode number of the open file; zeros if unknown.
fn about(file: libc::c_int) -> (u64, u64) {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstat, file, &raw mut stat) } == 0;
    if known { (stat.st_dev, stat.st_ino) } else { (0, 0) }
}
