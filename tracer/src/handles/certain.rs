//! When the name of a file that was just opened is certain without asking for it. The trace gives the name as the kernel has
//! it, without symbolic links; to ask by proc(5) takes longer than to open the file.
//!
//! A name is *plain* if nothing on its way is a symbolic link: then it is the kernel's, since a path is made of the names of
//! directories as one passes them, and `..` leads back where one came from. Whether a name is plain, one openat2(2) tells that
//! must not follow links, and that fails at its end because the file is no directory (Linux 5.6); it opens nothing.
//!
//! What has been found out is believed again only while nothing can have changed it:
//! * this process has not called what changes names (rename, symlink, mount and their like), nor waited for a child
//!   that may have done so: [`changed`];
//! * fstat(2) tells the same device and inode, and for a name that is not plain also the same time of change and one link: an
//!   inode with one link has one name, and whatever gives it another one changes that time;
//! * it is not older than [`BELIEVED_MS`], since other processes change names too. Only one that puts a link in the place
//!   of a directory that it has moved elsewhere, within that time, can lead to the old name.
//!
//! In the same step of that clock, of some milliseconds, fstat(2) is not even asked again for a plain name, unless this process
//! has made others: then one of them may just have put a link there. So a file that is opened again and again costs no system
//! call.
//!
//! Behind chroot(2), unshare(2) and setns(2) nothing is believed: the kernel is asked for each name.
//!
//! Nothing is remembered of the working directory: getcwd(2) is as cheap as fstat(2).
#![expect(unsafe_code, reason = "openat2(2), close(2), clock_gettime(2); a string of the program")]

use super::paths;
use super::resolve::{Stat, file_of, stat};
use crate::process;
use crate::registry::{self, File};
use libc::{c_char, c_int, c_long};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{FileKind, path_hash};

/// How long a name is believed, in milliseconds of a clock that is read without a system call and steps by some of them.
const BELIEVED_MS: u64 = 10;

/// How often names may have changed.
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// Names do not mean what they meant to the rest of the job: the kernel is always asked.
static DIFFER: AtomicBool = AtomicBool::new(false);
/// This process has made others, which work beside it.
static HAS_CHILDREN: AtomicBool = AtomicBool::new(false);
/// openat2(2) is not to be had.
static WITHOUT_OPENAT2: AtomicBool = AtomicBool::new(false);

/// From now on the kernel is asked otherwise.
pub(crate) fn do_without_openat2() {
    WITHOUT_OPENAT2.store(true, Ordering::Relaxed);
}

/// This process, or a child that it waited for, may have changed what names mean.
pub(crate) fn changed() {
    CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// This process has made another one: from now on fstat(2) is asked each time.
pub(crate) fn has_children() {
    HAS_CHILDREN.store(true, Ordering::Relaxed);
    changed();
}

/// From now on names may mean other things than to the rest of the job (chroot(2)), or to each thread (unshare(2), setns(2)).
pub(crate) fn differ() {
    DIFFER.store(true, Ordering::Relaxed);
}

/// What the program asked to be opened: a name and the directory that it is relative to.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// A descriptor or AT_FDCWD.
    pub(crate) at: c_int,
    /// A string that the kernel has read.
    pub(crate) name: *const c_char,
}

/// A moment: how often names had changed, and when. Never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(u64);

impl Moment {
    /// Now. Taken before what is found out, so that a change meanwhile makes it old.
    pub(super) fn now() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure is ours; answered without a system call (vdso(7)).
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
        let ms = time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000;
        Self::new(CHANGES.load(Ordering::Relaxed), ms)
    }

    const fn new(changes: u32, ms: u64) -> Self {
        // 2^31 ms are 24 days. The lowest bit tells a moment from none.
        Self((changes as u64) << 32 | (ms << 1 & 0xffff_ffff) | 1)
    }

    /// Whether what was found out at `then` (0: never) is believed at this moment.
    pub(super) fn believes(self, then: u64) -> bool {
        let passed = (self.0 as u32).wrapping_sub(then as u32) >> 1;
        then != 0 && self.0 >> 32 == then >> 32 && u64::from(passed) <= BELIEVED_MS
    }

    /// Whether it was found out at this very moment, as far as the clock tells.
    fn is(self, then: u64) -> bool {
        self.0 == then && !HAS_CHILDREN.load(Ordering::Relaxed) && !process::is_shared()
    }

    /// As it is kept.
    pub(super) fn raw(self) -> u64 {
        self.0
    }
}

/// What is known of the file that was opened.
pub(super) enum Answer {
    /// It is this one, of this kind.
    File(&'static File, FileKind),
    /// It is not recorded.
    NotRecorded,
    /// Its name must be asked for; [`Later::learn`] remembers it.
    Ask(Stat, Later),
}

/// A question that the kernel has to answer.
pub(super) struct Later {
    moment: Moment,
    /// Hash of the name that was asked for, made absolute; `None`: the answer is not to be remembered.
    hash: Option<u64>,
}

/// The file that was opened as `number` when the program asked for `asked`. May change errno.
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

/// As [`file`], for a name that must be made absolute; of common length, so that little of the stack is needed.
#[inline(never)]
fn relative(number: c_int, asked: Asked, name: &[u8], moment: Moment) -> Answer {
    let mut buffer = [0; paths::COMMON_BYTES];
    match paths::absolute(asked.at, name, &mut buffer, moment) {
        // With a link in front, `..` leads elsewhere: such a name alone does not say which file it is.
        Some((length, goes_back)) => by_path(number, asked, &buffer[..length], goes_back, moment),
        None => ask(number, Later { moment, hash: None }),
    }
}

fn by_path(number: c_int, asked: Asked, path: &[u8], goes_back: bool, moment: Moment) -> Answer {
    let hash = path_hash(path);
    let known = if goes_back { None } else { registry::find_file_by(path, hash) };
    if let Some(file) = known.filter(|file| moment.is(file.plain.looked.load(Ordering::Relaxed))) {
        return Answer::File(file, file.identity.get().kind);
    }
    let Some(stat) = stat(number) else { return Answer::NotRecorded };
    // One that was removed meanwhile has a name that only the kernel knows.
    if stat.links == 0 {
        return Answer::Ask(stat, Later { moment, hash: None });
    }
    if !goes_back {
        let plain = known.filter(|file| file.plain.holds(&stat, moment));
        if let Some(file) = plain {
            file.plain.looked.store(moment.raw(), Ordering::Relaxed);
            return Answer::File(file, stat.identity.kind);
        }
        if let Some(file) = linked(hash, &stat, moment) {
            return Answer::File(file, stat.identity.kind);
        }
    }
    if !is_plain(asked) {
        return Answer::Ask(stat, Later { moment, hash: (!goes_back).then_some(hash) });
    }
    let Some(file) = file_of(path, stat.identity) else { return Answer::NotRecorded };
    if file.real_path == path {
        file.plain.put(&stat, moment);
    }
    Answer::File(file, stat.identity.kind)
}

/// Whether there is no link on the way to the file.
fn is_plain(asked: Asked) -> bool {
    /// RESOLVE_NO_SYMLINKS of openat2(2).
    const NO_LINKS: u64 = 4;
    if WITHOUT_OPENAT2.load(Ordering::Relaxed) {
        return false;
    }
    // `struct open_how`: flags, mode, resolve.
    let how = [(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as u64, 0, NO_LINKS];
    // SAFETY: the program's string, which the kernel has read before, and a structure of ours with its size.
    let number =
        unsafe { crate::sys::syscall!(libc::SYS_openat2, asked.at, asked.name, how.as_ptr(), size_of_val(&how)) };
    if number >= 0 {
        // A directory has come in the file's place.
        close(number);
        return false;
    }
    match crate::errno::save().value() {
        libc::ENOTDIR => true,
        libc::ENOSYS | libc::EPERM => {
            WITHOUT_OPENAT2.store(true, Ordering::Relaxed);
            false
        }
        _ => false,
    }
}

fn close(number: c_long) {
    // SAFETY: just opened, and nobody else's.
    unsafe { crate::sys::syscall!(libc::SYS_close, number) };
}

/// When a file's path was last found to be plain, and which inode it led to.
#[derive(Default)]
pub(crate) struct Plain {
    moment: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
    /// When fstat(2) was asked last, and the path believed.
    looked: AtomicU64,
}

impl Plain {
    fn holds(&self, stat: &Stat, now: Moment) -> bool {
        now.believes(self.moment.load(Ordering::Acquire))
            && self.inode.load(Ordering::Relaxed) == stat.identity.inode
            && self.device.load(Ordering::Relaxed) == stat.identity.device
    }

    /// Threads may do this at the same time: whatever comes of it, both have found the path plain just now.
    fn put(&self, stat: &Stat, moment: Moment) {
        self.device.store(stat.identity.device, Ordering::Relaxed);
        self.inode.store(stat.identity.inode, Ordering::Relaxed);
        self.moment.store(moment.raw(), Ordering::Release);
        self.looked.store(moment.raw(), Ordering::Relaxed);
    }
}

/// Names that are not plain, and the files that they led to; by hash, and the latest wins.
static LINKED: [Linked; 512] = [const { Linked::nothing() }; 512];

/// A name that is not plain. All must be as it was: two names with the same hash would have to lead to the same inode.
struct Linked {
    /// Of all that is below; what is half written does not add up.
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

/// What must be the same for the file at `file` to be believed.
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
    // SAFETY: a record that never goes away, put there by `learn`: the sum is that of this address.
    if same { unsafe { file.as_ref() } } else { None }
}

impl Later {
    /// The kernel says that it is `file`.
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
        // The milliseconds begin again.
        let then = Moment::new(7, (1 << 31) - 2).raw();
        assert!(Moment::new(7, (1 << 31) + 3).believes(then) && !Moment::new(7, (1 << 31) + 30).believes(then));
    }
}
