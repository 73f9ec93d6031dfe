//! Finds the canonical name of a file just opened without asking the kernel, if the name is certain. Traces contain file names as the
//! kernel reports them, without symbolic links; asking the kernel through proc(5) takes longer than opening the file.
//!
//! A name is *plain* if no component is a symbolic link. It then equals the kernel's name, since each `..` leads back to the previous
//! directory. One openat2(2) that must not follow links verifies this; it demands a directory, so it opens nothing and fails at the file. It
//! looks into the kernel's cache of names only (RESOLVE_CACHED, Linux 5.12): no request reaches the file system. Where that cache does not
//! suffice (some network file systems, FUSE), the kernel is asked by proc(5), which makes no request either.
//!
//! A cached name is reused only while nothing can have changed the answer:
//! * this process has not changed names (rename, symlink, mount and the like), nor waited for a child that may have: [`changed`];
//! * the cached name is not older than [`BELIEVED_MS`], since other processes change names too. Only a process that, within that time, moves a
//!   directory away and puts a link in its place can cause a stale name;
//! * if the name is not plain, or this process has created child processes: statx(2) reports the same device and inode. For a name that is
//!   not plain, ctime must be equal and the link count 1: an inode with one link has one name, and a new name changes ctime.
//!
//! So opening a file repeatedly by a plain name costs no system call, and the first open two: statx(2) and openat2(2). A file that the call
//! has created (O_EXCL) takes statx(2) alone if another file of its directory had a plain name within [`BELIEVED_MS`].
//!
//! After chroot(2), unshare(2) and setns(2) no cached name is reused: the kernel is asked for each name.
//!
//! The working directory is not cached: getcwd(2) is as cheap as statx(2).
#![expect(unsafe_code, reason = "openat2(2), close(2), clock_gettime(2); a string of the program")]

use super::paths;
use super::resolve::{Stat, file_of, stat};
use crate::process;
use crate::registry::{self, File, Plain};
use libc::{c_char, c_int, c_long};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{FileKind, path_hash};

/// Maximum age of a cached file name, in ms, by the coarse clock, which is read without a system call and advances in steps of some ms.
const BELIEVED_MS: u64 = 100;

/// Number of events so far that may have changed path names (rename, symlink, mount, ...).
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// True if this process's path names may differ from those of the rest of the job (chroot(2)); the kernel is then asked for every name.
static DIFFER: AtomicBool = AtomicBool::new(false);
/// True once this process has child processes, which may change names at any time.
static HAS_CHILDREN: AtomicBool = AtomicBool::new(false);
/// True if openat2(2) is not available, so that names cannot be verified as plain (free of symbolic links).
static WITHOUT_OPENAT2: AtomicBool = AtomicBool::new(false);

/// Stops using openat2(2) to look for symbolic links in paths, because the system call is not available.
pub(crate) fn do_without_openat2() {
    WITHOUT_OPENAT2.store(true, Ordering::Relaxed);
}

/// Records that this process, or a child that it waited for, may have changed path names.
pub(crate) fn changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// Records that this process has created a child process; from now on each reuse of a name requires statx(2).
pub(crate) fn has_children() {
    HAS_CHILDREN.store(true, Ordering::Relaxed);
    changed();
}

/// Records that path names may differ from those of the rest of the job (chroot(2)) or between threads (unshare(2), setns(2)).
pub(crate) fn differ() {
    DIFFER.store(true, Ordering::Relaxed);
}

/// Path argument of an open call, and the directory to which the path is relative.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// Directory descriptor to which the path is relative, or AT_FDCWD.
    pub(crate) at: c_int,
    /// Path string of the program, which the kernel has read.
    pub(crate) name: *const c_char,
    /// True if the last component is no symbolic link, since the call would have failed.
    pub(crate) ends_plain: bool,
}

impl Asked {
    /// Returns the path argument of an open call with `flags` of open(2).
    #[inline(always)]
    pub(crate) const fn with_flags(at: c_int, name: *const c_char, flags: c_int) -> Self {
        const NEW: c_int = libc::O_CREAT | libc::O_EXCL;
        Self { at, name, ends_plain: flags & libc::O_NOFOLLOW != 0 || flags & NEW == NEW }
    }
}

/// Time stamp of a cached path name: the number of name changes so far, and the time of the coarse clock. Never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Moment {
    /// Returns the current time stamp. Must be called before a look-up, so that a name change during the look-up makes its result outdated.
    pub(super) fn now() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is a local variable; answered without a system call (vdso(7)).
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
        let ms = time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000;
        Self::new(CHANGES.load(Ordering::Relaxed), ms)
    }

    const fn new(changes: u32, ms: u64) -> Self {
        // 2^31 ms are 24 days. The lowest bit keeps a stamp from being 0.
        Self((changes as u64) << 32 | (ms << 1 & 0xffff_ffff) | 1)
    }

    /// True if a cached name with time stamp `then` may still be reused; false if `then` is 0 (never cached).
    pub(super) fn believes(self, then: u64) -> bool {
        let passed = (self.0 as u32).wrapping_sub(then as u32) >> 1;
        then != 0 && self.0 >> 32 == then >> 32 && u64::from(passed) <= BELIEVED_MS
    }

    pub(super) fn raw(self) -> u64 {
        self.0
    }
}

/// Result of the search for the file record of a file just opened.
pub(super) enum Answer {
    /// The file was found; with its type.
    File(&'static File, FileKind),
    NotRecorded,
    /// The name is unknown: the caller must ask the kernel, and then call [`Later::learn`].
    Ask(Stat, Later),
}

/// Entry of the name cache to fill in once the caller has asked the kernel for the name.
pub(super) struct Later {
    moment: Moment,
    /// Hash of the absolute form of the path name; `None` if the name must not be cached.
    hash: Option<u64>,
}

/// Returns the file that the program opened as descriptor `number` with the path argument `asked`. May change errno.
pub(super) fn file(number: c_int, asked: Asked) -> Answer {
    let moment = Moment::now();
    if DIFFER.load(Ordering::Relaxed) {
        return ask(number, Later { moment, hash: None });
    }
    // SAFETY: the kernel has read the string.
    let name = unsafe { CStr::from_ptr(asked.name) }.to_bytes();
    match paths::is_normal(name) {
        true => by_path(number, asked, name, false, moment),
        false => relative(number, asked, name, moment),
    }
}

fn ask(number: c_int, later: Later) -> Answer {
    stat(number).map_or(Answer::NotRecorded, |stat| Answer::Ask(stat, later))
}

/// Finds the file like [`file`], for a name that is relative or not normalized; limited to paths of common length to save stack.
#[inline(never)]
fn relative(number: c_int, asked: Asked, name: &[u8], moment: Moment) -> Answer {
    let mut buffer = [0; paths::COMMON_BYTES];
    match paths::absolute(asked.at, name, &mut buffer, moment) {
        // After a symbolic link, `..` leads elsewhere: the lexical name alone does not identify the file.
        Some((length, goes_back)) => by_path(number, asked, &buffer[..length], goes_back, moment),
        None => ask(number, Later { moment, hash: None }),
    }
}

fn by_path(number: c_int, asked: Asked, path: &[u8], goes_back: bool, moment: Moment) -> Answer {
    let hash = path_hash(path);
    let known = if goes_back { None } else { plain(path, hash, moment) };
    if let Some(file) = known.filter(|_| is_alone()) {
        return Answer::File(file, file.identity.get().kind);
    }
    let Some(stat) = stat(number) else { return Answer::NotRecorded };
    // The file was removed meanwhile: only the kernel knows its name.
    if stat.links == 0 {
        return Answer::Ask(stat, Later { moment, hash: None });
    }
    if !goes_back {
        let file = known.filter(|file| file.plain.leads_to(&stat)).or_else(|| linked(hash, &stat, moment));
        if let Some(file) = file {
            return Answer::File(file, stat.identity.kind);
        }
    }
    let directory = PlainDirectory::of(path);
    let is_in_plain = asked.ends_plain && !goes_back && is_alone() && directory.is_known(moment);
    if !is_in_plain {
        if !is_plain(asked, stat.identity.device) {
            return Answer::Ask(stat, Later { moment, hash: (!goes_back).then_some(hash) });
        }
        directory.put(moment);
    }
    let Some(file) = file_of(path, stat.identity) else { return Answer::NotRecorded };
    if file.real_path == path {
        file.plain.put(&stat, moment);
    }
    Answer::File(file, stat.identity.kind)
}

/// Returns the file whose plain path is `path`, if that is cached and may be reused at time stamp `now`.
fn plain(path: &[u8], hash: u64, now: Moment) -> Option<&'static File> {
    registry::find_file_by(path, hash).filter(|file| now.believes(file.plain.moment.load(Ordering::Acquire)))
}

/// True if this process has no children that may just have changed names.
pub(super) fn is_alone() -> bool {
    !HAS_CHILDREN.load(Ordering::Relaxed) && !process::is_shared()
}

/// Writes the path of a file that the program has opened by `name` to `out`, without a request to the file system, and returns its length.
/// `None` if no cached name can be reused.
pub(super) fn known_path(name: &[u8], out: &mut [u8]) -> Option<usize> {
    let now = Moment::now();
    if DIFFER.load(Ordering::Relaxed) || !is_alone() {
        return None;
    }
    let (length, goes_back) = paths::absolute(libc::AT_FDCWD, name, out, now)?;
    let path = &out[..length];
    (!goes_back && plain(path, path_hash(path), now).is_some()).then_some(length)
}

/// Number of consecutive times that the kernel's cache of names did not suffice, by device. From [`MOST_MISSES`] on, [`is_plain`] does not
/// look there.
static MISSES: [AtomicU8; 64] = [const { AtomicU8::new(0) }; 64];
const MOST_MISSES: u8 = 4;

/// Flags of openat2(2) for a directory that is not opened for I/O.
const DIRECTORY: u64 = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64;

/// Returns RESOLVE_CACHED of openat2(2), or 0 for a kernel that lacks it (before Linux 5.12), or with which no directory can be opened so (until
/// 6.5, unless fixed). Asks the kernel once.
fn cached_only() -> u64 {
    const CACHED: u64 = 0x20;
    static KNOWN: AtomicU64 = AtomicU64::new(u64::MAX);
    let known = KNOWN.load(Ordering::Relaxed);
    if known != u64::MAX {
        return known;
    }
    let how = [DIRECTORY, 0, CACHED];
    // SAFETY: a name that ends in NUL, and a local structure with its size.
    let number = unsafe {
        crate::sys::syscall!(libc::SYS_openat2, libc::AT_FDCWD, c"/".as_ptr(), how.as_ptr(), size_of_val(&how))
    };
    let found = match crate::errno::save().value() {
        _ if number >= 0 => CACHED,
        libc::EAGAIN | libc::EINVAL => 0,
        _ => return CACHED,
    };
    if number >= 0 {
        close(number);
    }
    KNOWN.store(found, Ordering::Relaxed);
    found
}

/// True if no component of the name `asked` is a symbolic link, according to the kernel's cache of names. `device`: of the file.
fn is_plain(asked: Asked, device: u64) -> bool {
    /// Value of RESOLVE_NO_SYMLINKS of openat2(2).
    const NO_LINKS: u64 = 4;
    let misses = &MISSES[(device ^ device >> 8) as usize % MISSES.len()];
    if WITHOUT_OPENAT2.load(Ordering::Relaxed) || misses.load(Ordering::Relaxed) >= MOST_MISSES {
        return false;
    }
    // Fields of `struct open_how`: flags, mode, resolve.
    let how = [DIRECTORY, 0, NO_LINKS | cached_only()];
    // SAFETY: passes the program's string, which the kernel has read before, and a local structure with its size.
    let number =
        unsafe { crate::sys::syscall!(libc::SYS_openat2, asked.at, asked.name, how.as_ptr(), size_of_val(&how)) };
    if number >= 0 {
        // A directory has replaced the file.
        close(number);
        return false;
    }
    match crate::errno::save().value() {
        libc::ENOTDIR => {
            misses.store(0, Ordering::Relaxed);
            true
        }
        libc::EAGAIN => {
            misses.fetch_add(1, Ordering::Relaxed);
            false
        }
        // EINVAL: Linux before 5.12.
        libc::ENOSYS | libc::EPERM | libc::EINVAL => {
            WITHOUT_OPENAT2.store(true, Ordering::Relaxed);
            false
        }
        _ => false,
    }
}

fn close(number: c_long) {
    // SAFETY: closes a descriptor that was just opened and that no other code knows.
    unsafe { crate::sys::syscall!(libc::SYS_close, number) };
}

impl Plain {
    fn leads_to(&self, stat: &Stat) -> bool {
        self.inode.load(Ordering::Relaxed) == stat.identity.inode
            && self.device.load(Ordering::Relaxed) == stat.identity.device
    }

    /// Marks the path as plain (free of symbolic links) at time stamp `moment`. Threads may race: any result is correct, since each thread
    /// has just found the path plain.
    fn put(&self, stat: &Stat, moment: Moment) {
        self.device.store(stat.identity.device, Ordering::Relaxed);
        self.inode.store(stat.identity.inode, Ordering::Relaxed);
        self.moment.store(moment.raw(), Ordering::Release);
    }
}

/// Plain paths of directories: checksum of path and time stamp, and time stamp, by hash of the path; a new entry replaces an old one. A new
/// file in such a directory has a plain path.
static PLAIN_DIRECTORIES: [[AtomicU64; 2]; 64] = [const { [const { AtomicU64::new(0) }; 2] }; 64];

/// Entry of [`PLAIN_DIRECTORIES`] for the directory with this hash of its path.
struct PlainDirectory {
    hash: u64,
    entry: &'static [AtomicU64; 2],
}

impl PlainDirectory {
    /// Returns the entry for the directory of the file at `path`.
    fn of(path: &[u8]) -> Self {
        let hash = path_hash(&path[..path.iter().rposition(|&byte| byte == b'/').unwrap_or(0)]);
        Self { hash, entry: &PLAIN_DIRECTORIES[(hash ^ hash >> 32) as usize % PLAIN_DIRECTORIES.len()] }
    }

    fn sum(&self, moment: u64) -> u64 {
        self.hash ^ moment.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn is_known(&self, now: Moment) -> bool {
        let [sum, moment] = self.entry.each_ref().map(|word| word.load(Ordering::Relaxed));
        now.believes(moment) && sum == self.sum(moment)
    }

    fn put(&self, now: Moment) {
        self.entry[0].store(self.sum(now.raw()), Ordering::Relaxed);
        self.entry[1].store(now.raw(), Ordering::Relaxed);
    }
}

/// Cache of path names that contain symbolic links, with their files, by hash of the name; a new entry replaces an old one.
static LINKED: [Linked; 512] = [const { Linked::nothing() }; 512];

/// Cached path name that contains a symbolic link. A wrong answer would need two names with the same hash that lead to the same inode.
struct Linked {
    /// Checksum of name hash, file status and the fields below; a half-written entry does not match.
    sum: AtomicU64,
    moment: AtomicU64,
    file: AtomicPtr<File>,
}

impl Linked {
    const fn nothing() -> Self {
        Self { sum: AtomicU64::new(0), moment: AtomicU64::new(0), file: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn of(hash: u64) -> &'static Self {
        &LINKED[(hash ^ hash >> 32) as usize % LINKED.len()]
    }
}

/// Returns the checksum of all values that must be unchanged for the name of a cached `file` to be reused.
fn sum(hash: u64, stat: &Stat, moment: u64, file: *mut File) -> u64 {
    let words =
        [stat.identity.device, stat.identity.inode, stat.changed[0], stat.changed[1], moment, file.addr() as u64];
    words.iter().fold(hash, |sum, word| (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn linked(hash: u64, stat: &Stat, now: Moment) -> Option<&'static File> {
    if stat.links != 1 {
        return None;
    }
    let linked = Linked::of(hash);
    let (file, moment) = (linked.file.load(Ordering::Acquire), linked.moment.load(Ordering::Relaxed));
    let same = now.believes(moment) && linked.sum.load(Ordering::Relaxed) == sum(hash, stat, moment, file);
    // SAFETY: a record that `learn` stored and that is never freed: the checksum matches this address.
    if same { unsafe { file.as_ref() } } else { None }
}

impl Later {
    /// Caches the kernel's answer that this path name leads to `file`.
    pub(super) fn learn(&self, stat: &Stat, file: &'static File) {
        let Some(hash) = self.hash.filter(|_| stat.links == 1) else { return };
        let (linked, file) = (Linked::of(hash), std::ptr::from_ref(file).cast_mut());
        linked.sum.store(sum(hash, stat, self.moment.raw(), file), Ordering::Relaxed);
        linked.moment.store(self.moment.raw(), Ordering::Relaxed);
        linked.file.store(file, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_believed_for_a_while_and_until_something_changes() {
        let then = Moment::new(7, 1000).raw();
        assert!(Moment::new(7, 1000).believes(then) && Moment::new(7, 1000 + BELIEVED_MS).believes(then));
        assert!(!Moment::new(7, 1001 + BELIEVED_MS).believes(then) && !Moment::new(8, 1000).believes(then));
        assert!(!Moment::new(0, 0).believes(0) && !Moment::new(7, 999).believes(then));
        // The milliseconds wrap around.
        let then = Moment::new(7, (1 << 31) - 2).raw();
        assert!(
            Moment::new(7, (1 << 31) + 3).believes(then) && !Moment::new(7, (1 << 31) + BELIEVED_MS).believes(then)
        );
    }
}
