//! Node quota file: a counter of the bytes of DXT_JOB_BYTES that the job's processes on this node have reserved. Each process opens the
//! file, locks it, changes the number and closes it. The process that sets the number to zero deletes the file, so a job that leaves no
//! bytes leaves no quota file either.
//!
//! Bounds: a dozen system calls without contention, a few hundred bytes of stack, no allocation, and a limited wait (the lock holder may be
//! stopped), even if the file is deleted and recreated meanwhile.
//! The lock belongs to the open file description, not to the process (fcntl(2), F_OFD_SETLK), and is released before the close. A child
//! forked meanwhile by another thread shares the description and closes its copy. A killed process leaves no lock.
//!
//! Other users may be able to write to the directory. The file is trusted only if it is a regular file of this user without further hard
//! links, not writable by others, and either empty or this job's quota file. Symbolic links are not followed, and no other file is ever
//! written to. Ownership is checked before waiting for the lock, since another user could hold the lock forever.
#![expect(unsafe_code, reason = "fcntl(2), pread(2), pwrite(2)")]

use crate::exclusive::Exclusive;
use crate::own_file::{self, Identity};
use crate::{errno, process, sys, threads};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use trace_format::meta::path_hash;

/// Bytes that the processes of one job on this node may use together, and this process's reservation.
pub(super) struct Quota {
    pub(super) directory: CString,
    path: CString,
    /// Number that identifies the job; stored in the quota file, so that other jobs do not use the file.
    pub(super) job: u64,
    /// Bytes of the job's budget that the processes of this node may use together.
    pub(super) part: u64,
    /// Upper bound for the bytes of this process's files, from data available before MPI_Init.
    pub(super) share: u64,
    /// Bytes that this process has reserved in the quota file.
    reserved: AtomicU64,
    turn: Exclusive,
}

/// Reason why the node quota file could not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Transient: another process holds the lock for long, no descriptor is left, or the program has confined itself by seccomp.
    ForNow,
    /// Permanent: the file cannot be created, locked or written to, or is no quota file.
    ForGood,
}

/// Number of 8-byte words in the quota file: magic, job, reserved bytes, hash of the other three words.
const WORDS: usize = 4;
const BYTES: usize = WORDS * 8;
const MAGIC: u64 = u64::from_le_bytes(*b"DXTPOT\0\x01");

/// Maximum number of attempts to open a quota file that other processes delete meanwhile.
const MOST_OPENS: u32 = 8;
/// Maximum number of attempts while another thread of this process changes the quota; some 200 ms in total.
const MOST_WAITS: u32 = 300;

/// Descriptor of the quota file while this process has it open, else -1. A child forked meanwhile closes its copy.
static OPEN: AtomicI32 = AtomicI32::new(-1);
/// Identity of the open quota file, by which a forked child recognizes its copy of the descriptor [`OPEN`].
static FILE: Identity = Identity::new();

/// Descriptor of the open quota file, locked or not; closed on drop.
struct Opened(libc::c_int);

impl Opened {
    fn open(path: &CStr, is_new: bool) -> Result<Self, libc::c_int> {
        let file = if is_new { FILE.create(path) } else { FILE.open(path, 0) }?;
        OPEN.store(file, Ordering::Release);
        Ok(Self(file))
    }

    /// Takes the lock on the quota file. Waits up to `waits` ms, and subtracts the time spent from `waits`.
    fn lock(&self, waits: &mut u32) -> Result<(), Trouble> {
        let lock = whole_file(libc::F_WRLCK);
        // SAFETY: the structure is a local variable.
        while unsafe { sys::syscall!(libc::SYS_fcntl, self.0, libc::F_OFD_SETLK, &raw const lock) } != 0 {
            match errno::save().value() {
                libc::EAGAIN | libc::EACCES | libc::EINTR if *waits > 0 => *waits -= 1,
                libc::EAGAIN | libc::EACCES | libc::EINTR | libc::ENOMEM => return Err(Trouble::ForNow),
                _ => return Err(Trouble::ForGood),
            }
            threads::pause(1_000_000);
        }
        Ok(())
    }

    /// Returns the number of hard links of the file; `None` if, by owner and mode, other users could have written to it.
    fn names(&self) -> Option<libc::nlink_t> {
        own_file::own(self.0).filter(|stat| stat.st_mode & 0o177 == 0).map(|stat| stat.st_nlink)
    }

    /// Returns the number of bytes reserved by all processes; `None` if the file is no quota file of `job`.
    fn read(&self, job: u64) -> Option<u64> {
        // One word more than the file should have, to detect a longer file.
        let mut words = [0_u64; WORDS + 1];
        let (into, length) = (words.as_mut_ptr(), size_of_val(&words));
        // SAFETY: the buffer is a local variable of this length.
        let read = unsafe { sys::syscall!(libc::SYS_pread64, self.0, into, length, 0_i64) };
        let [magic, of, reserved, sum, _] = words.map(u64::from_le);
        match usize::try_from(read) {
            // The file was just created.
            Ok(0) => Some(0),
            Ok(BYTES) if magic == MAGIC && of == job && sum == check(job, reserved) => Some(reserved),
            _ => None,
        }
    }

    fn write(&self, job: u64, reserved: u64) -> bool {
        let words = [MAGIC, job, reserved, check(job, reserved)].map(u64::to_le);
        // SAFETY: the words are a local variable.
        let written = unsafe { sys::syscall!(libc::SYS_pwrite64, self.0, words.as_ptr(), BYTES, 0_i64) };
        written == BYTES as i64
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // `sys::finish`, since the program may be about to confine itself and wait for this thread: neither lock nor descriptor may stay behind.
        let unlocked = whole_file(libc::F_UNLCK);
        // Explicit unlock: copies of the descriptor may still be open.
        // SAFETY: the structure is a local variable.
        unsafe { sys::finish!(libc::SYS_fcntl, self.0, libc::F_OFD_SETLK, &raw const unlocked) };
        OPEN.store(-1, Ordering::Release);
        // SAFETY: the descriptor was opened by this value.
        unsafe { sys::finish!(libc::SYS_close, self.0) };
    }
}

/// Returns the last word of a quota file with this job number and number of reserved bytes: a hash of the other words, which shows that the
/// file is intact.
fn check(job: u64, reserved: u64) -> u64 {
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip([MAGIC, job, reserved]) {
        *place = word.to_le_bytes();
    }
    path_hash(&bytes)
}

/// Returns a request to lock (F_WRLCK) or unlock (F_UNLCK) a whole file.
fn whole_file(kind: libc::c_int) -> libc::flock {
    // SAFETY: an all-zero flock is valid and covers the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    lock
}

impl Quota {
    /// Creates a handle for the quota file `name` in `directory`, for the job with number `job`. `part`: bytes that all processes of this
    /// node may use; `share`: upper bound for this process. Opens nothing. `None` if a name contains NUL.
    pub(super) fn new(directory: CString, name: &str, job: u64, part: u64, share: u64) -> Option<Self> {
        let path = CString::new([directory.to_bytes(), b"/", name.as_bytes()].concat()).ok()?;
        let (reserved, turn) = (AtomicU64::new(0), Exclusive::new(MOST_WAITS));
        Some(Self { directory, path, job, part, share, reserved, turn })
    }

    /// Returns the number of bytes that this process has reserved in the quota file.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Takes over, as this process's reservation, `bytes` that it reserved when it ran another program, before exec(3).
    pub(super) fn adopt(&self, bytes: u64) {
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Resets the reservation in a forked child, which has reserved nothing. Closes the quota file in case another thread of the parent had
    /// it open.
    pub(super) fn in_child(&self) {
        let open = OPEN.swap(-1, Ordering::Relaxed);
        // In the child, the descriptor number may belong to another file.
        if open >= 0 && FILE.is_of(open) {
            own_file::close(open);
        }
        self.turn.after_fork();
        self.reserved.store(0, Ordering::Relaxed);
    }

    /// Sets this process's reserved bytes to `own(bytes that the process has reserved so far, free bytes of the node's part)`. Creates the quota
    /// file if it is missing and `creates`; otherwise a missing quota file means that nothing is reserved any more. Waits up to `waits` ms for the
    /// lock, and subtracts the time spent from `waits`. Preserves errno.
    pub(super) fn change(
        &self,
        creates: bool,
        waits: &mut u32,
        own: impl FnOnce(u64, u64) -> u64,
    ) -> Result<(), Trouble> {
        let saved = errno::save();
        let changed = self.turn.run(|| match self.locked(creates, waits)? {
            Some(file) => self.update(&file, own),
            None => {
                self.reserved.fetch_sub(self.reserved(), Ordering::Relaxed);
                Ok(())
            }
        });
        saved.restore();
        match changed {
            Some(changed) if !sys::is_shut() => changed,
            // A system call refused by seccomp reveals nothing about the quota file.
            changed => changed.unwrap_or(Err(Trouble::ForNow)).map_err(|_| Trouble::ForNow),
        }
    }

    /// Opens and locks the quota file; returns `None` if the file is missing and not `creates`. Waits up to `waits` ms for the lock.
    fn locked(&self, creates: bool, waits: &mut u32) -> Result<Option<Opened>, Trouble> {
        // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
        if process::size_limit() < BYTES as u64 {
            return Err(Trouble::ForGood);
        }
        for tried in 0..MOST_OPENS {
            let mut is_new = false;
            let opened = Opened::open(&self.path, false).or_else(|error| {
                is_new = creates && error == libc::ENOENT;
                if is_new { Opened::open(&self.path, true) } else { Err(error) }
            });
            let file = match opened {
                Ok(file) => file,
                Err(libc::ENOENT) if !creates => return Ok(None),
                // The first file in the directory (this file, or a spool) creates the directory.
                Err(libc::ENOENT) if tried == 0 && own_file::make_directory(&self.directory).is_ok() => continue,
                // EEXIST: another process has just created the file.
                Err(libc::EEXIST | libc::EINTR) => continue,
                Err(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => return Err(Trouble::ForNow),
                Err(_) => return Err(Trouble::ForGood),
            };
            if file.names().is_none() {
                // The file system does not support permissions.
                if is_new {
                    self.remove();
                }
                return Err(Trouble::ForGood);
            }
            file.lock(waits)?;
            match file.names() {
                // Another process has deleted the file meanwhile.
                Some(0) => {}
                Some(1) => return Ok(Some(file)),
                _ => return Err(Trouble::ForGood),
            }
        }
        Err(Trouble::ForNow)
    }

    /// Sets this process's reservation in the locked `file` to `own(bytes reserved so far, free bytes of the node's part)`.
    fn update(&self, file: &Opened, own: impl FnOnce(u64, u64) -> u64) -> Result<(), Trouble> {
        let (before, have) = (file.read(self.job).ok_or(Trouble::ForGood)?, self.reserved());
        // If the file was deleted meanwhile, its number may be less than this process's own reservation.
        let own = own(have, self.part.saturating_sub(before.max(have)));
        let after = before.saturating_sub(have) + own;
        if after == 0 {
            self.remove();
        } else if after != before && !file.write(self.job, after) {
            // An empty file is useless.
            if before == 0 {
                self.remove();
            }
            return Err(Trouble::ForGood);
        }
        // Adds the difference, so that bytes added meanwhile by another thread (`adopt`) are kept.
        self.reserved.fetch_add(own.wrapping_sub(have), Ordering::Relaxed);
        Ok(())
    }

    /// Deletes the open file, unless its name now belongs to another file. Processes that have opened it meanwhile see a link count of 0.
    fn remove(&self) {
        if FILE.is_at(&self.path) {
            own_file::unlink(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
