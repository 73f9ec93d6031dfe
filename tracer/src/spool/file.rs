//! The spool file: created, allocated piece by piece as it is used, and removed. No descriptor stays open, since descriptor numbers belong
//! to the program. On tmpfs(5) pieces are allocated by touching the mapping, without any descriptor, since a thread of the program may
//! assign any number to a file of its own at any time (dup2(2)). On other file systems the file is opened for each piece.
#![expect(unsafe_code, reason = "open(2), fallocate(2), mmap(2)")]

use super::place;
use crate::budget::Piece;
use crate::config::{self, Spool};
use crate::errno;
use crate::memory;
use crate::own_directories;
use crate::own_file::{self, Identity, close, open, unlink};
use crate::process;
use crate::random;
use crate::say::say;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use trace_format::spool::{HEADER_BYTES, MAGIC, header};

/// Spool file (recorded data that survives a kill) and its memory mapping.
struct Place {
    /// Path of the spool file; never freed.
    path: AtomicPtr<CString>,
    start: AtomicPtr<u8>,
    length: AtomicUsize,
    identity: Identity,
    /// True if file space is allocated by touching the mapping (tmpfs), false if by fallocate(2).
    in_memory: AtomicBool,
    /// Bytes allocated in the spool file for segments (records of calls).
    segments: AtomicUsize,
    /// Bytes allocated in the spool file for everything else except segments.
    others: AtomicUsize,
}

impl Place {
    const fn new() -> Self {
        Self {
            path: AtomicPtr::new(std::ptr::null_mut()),
            start: AtomicPtr::new(std::ptr::null_mut()),
            length: AtomicUsize::new(0),
            identity: Identity::new(),
            in_memory: AtomicBool::new(false),
            segments: AtomicUsize::new(0),
            others: AtomicUsize::new(0),
        }
    }

    /// Returns the counter of bytes that are allocated in the spool file for this kind of data.
    const fn backed(&self, piece: Piece) -> &AtomicUsize {
        match piece {
            Piece::Segments => &self.segments,
            Piece::Others => &self.others,
        }
    }

    /// Returns the bytes of the spool file, which was removed, to the job's byte budget (DXT_JOB_BYTES).
    fn give_back(&self) {
        for piece in [Piece::Segments, Piece::Others] {
            piece.give_back(self.backed(piece).swap(0, Ordering::Relaxed));
        }
    }

    /// Returns the offset of `address` in the spool file; `None` unless all `bytes` from `address` on lie in it.
    fn offset_of(&self, address: *mut u8, bytes: usize) -> Option<usize> {
        let offset = address.addr().checked_sub(self.start.load(Ordering::Relaxed).addr())?;
        let end = offset.checked_add(bytes)?;
        (end <= self.length.load(Ordering::Relaxed)).then_some(offset)
    }
}

/// Spool of the process (file of its recorded data), and a second spool for calls made after its trace: other threads may still hold
/// pointers into the first.
static PLACES: [Place; 2] = [Place::new(), Place::new()];
/// Index in [`PLACES`] of the spool (file of recorded data) currently in use.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

fn place_in_use() -> &'static Place {
    &PLACES[IN_USE.load(Ordering::Acquire) % PLACES.len()]
}

/// Size in bytes above which the pages of a new piece of the spool file are prefaulted when its space is allocated. Pages of smaller pieces
/// fault at first use.
const LEAST_POPULATED: usize = 64 << 10;

/// MADV_POPULATE_WRITE of madvise(2) (Linux 5.14).
const POPULATE_WRITE: libc::c_int = 23;

/// Creates and maps a spool (file of recorded data) of `length` bytes, of which only the header is allocated; returns `None` on failure.
pub(super) fn make(length: usize) -> Option<*mut u8> {
    let saved = errno::save();
    let made = place::directory().ok_or((None, libc::ENOTDIR)).and_then(|directory| make_in(&directory, length));
    saved.restore();
    match made {
        Ok(start) => Some(start),
        Err((path, error)) => {
            say_why(path.as_deref(), error);
            None
        }
    }
}

/// Prints why (`error`) there is no spool at `path` (file of recorded data), if the user asked for a spool or for verbose output.
fn say_why(path: Option<&CStr>, error: libc::c_int) {
    // A directory created by dxt-run was not requested by the user.
    let named = |config: &config::Config| matches!(config.spool, Spool::In(_)) && config.spool_made.is_none();
    let asked = |config: &config::Config| named(config) || config.verbose > 0;
    if config::current().is_some_and(asked) {
        let why = std::io::Error::from_raw_os_error(error).to_string();
        let path = path.map_or(b"can be created".as_slice(), CStr::to_bytes);
        say(&[b"no spool ", path, b" (", why.as_bytes(), b"): this process leaves no trace if it is killed"]);
    }
}

fn make_in(directory: &CStr, length: usize) -> Result<*mut u8, (Option<CString>, libc::c_int)> {
    // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ.
    if length as u64 > process::size_limit() {
        return Err((None, libc::EFBIG));
    }
    own_file::make_directory(directory).map_err(|error| (None, error))?;
    // The first spool stays mapped; a second spool is never replaced by a third.
    let used = usize::from(!PLACES[0].start.load(Ordering::Relaxed).is_null());
    let place = &PLACES[used];
    for number in 0..100 {
        // Numbers are random after the first 8, so that another user cannot take all names in advance.
        let number = if number < 8 { number } else { random::number() >> 32 };
        let path = place::name(directory, &format!("-{number}.spool")).ok_or((None, libc::EINVAL))?;
        let file = match place.identity.create(&path) {
            Ok(file) => file,
            Err(libc::EEXIST) => continue,
            Err(error) => return Err((Some(path), error)),
        };
        let mapped = map(file, length);
        if let Ok(start) = mapped {
            place.in_memory.store(is_in_memory(file) && populate(start, memory::PAGE_BYTES), Ordering::Relaxed);
        }
        close(file);
        return match mapped {
            Ok(start) => {
                place.start.store(start, Ordering::Relaxed);
                place.length.store(length, Ordering::Relaxed);
                if Piece::Others.take(HEADER_BYTES) {
                    place.others.fetch_add(HEADER_BYTES, Ordering::Relaxed);
                }
                // The path is never freed: any thread may need it at any later time.
                place.path.store(Box::into_raw(Box::new(path)), Ordering::Release);
                IN_USE.store(used, Ordering::Release);
                Ok(start)
            }
            Err(error) => {
                unlink(&path);
                Err((Some(path), error))
            }
        };
    }
    Err((None, libc::EEXIST))
}

fn map(file: libc::c_int, length: usize) -> Result<*mut u8, libc::c_int> {
    // SAFETY: sets the size of a new file of the tracer's own.
    if unsafe { crate::sys::syscall!(libc::SYS_ftruncate, file, length) } != 0 {
        return Err(errno::save().value());
    }
    allocate(file, 0, HEADER_BYTES)?;
    // Pages without file space must not be touched. PROT_NONE, so that mlock(2) has nothing to populate.
    let protection = libc::PROT_NONE;
    // SAFETY: a new mapping at an address chosen by the kernel affects no existing mapping.
    let address = unsafe {
        crate::sys::syscall!(
            libc::SYS_mmap,
            std::ptr::null_mut::<u8>(),
            length,
            protection,
            libc::MAP_SHARED,
            file,
            0_i64
        )
    };
    if address == -1 {
        return Err(errno::save().value());
    }
    // Disables readahead: the file is all zeros, and only one page of it is needed, not megabytes.
    // SAFETY: the mapping belongs to the tracer; the advice has no visible effect on its content.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, address, length, libc::MADV_RANDOM) };
    let start = address as *mut u8;
    memory::unlock(start, length);
    if !memory::commit(start, HEADER_BYTES.next_multiple_of(memory::PAGE_BYTES)) {
        memory::unmap(start, length);
        return Err(libc::ENOMEM);
    }
    Ok(start)
}

/// Allocates file space for `length` bytes from `offset` of the spool file, which have never been written.
fn allocate(file: libc::c_int, offset: usize, length: usize) -> Result<(), libc::c_int> {
    // SAFETY: allocates space in a file of the tracer's own.
    if unsafe { crate::sys::syscall!(libc::SYS_fallocate, file, 0, offset, length) } == 0 {
        return Ok(());
    }
    match errno::save().value() {
        libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM => write_zeros(file, offset, length),
        error => Err(error),
    }
}

/// Allocates file space for `length` bytes from `offset` by writing zeros, where the file system does not support fallocate(2).
fn write_zeros(file: libc::c_int, mut offset: usize, mut length: usize) -> Result<(), libc::c_int> {
    static ZEROS: [u8; 4096] = [0; 4096];
    while length > 0 {
        let now = length.min(ZEROS.len());
        // SAFETY: the buffer is a static. This range has never been written.
        let written = unsafe { crate::sys::syscall!(libc::SYS_pwrite64, file, ZEROS.as_ptr(), now, offset) };
        let written = usize::try_from(written).map_err(|_| errno::save().value())?;
        if written == 0 {
            return Err(libc::ENOSPC);
        }
        offset += written;
        length -= written;
    }
    Ok(())
}

/// Allocates file space for `bytes` of the spool from `address` on, and makes the memory accessible; returns false on failure. Preserves
/// errno. Only one thread may call this function at a time.
pub(super) fn back(address: *mut u8, bytes: usize) -> bool {
    let saved = errno::save();
    let done = back_at(address, bytes);
    saved.restore();
    done
}

fn commit(address: *mut u8, bytes: usize) -> bool {
    memory::commit(address, bytes.next_multiple_of(memory::PAGE_BYTES))
}

/// Prefaults pages of a mapped file, which allocates their file space. Returns false if there is no space, or if the kernel lacks
/// MADV_POPULATE_WRITE.
fn populate(address: *mut u8, bytes: usize) -> bool {
    // SAFETY: the range belongs to the tracer; its zeros stay zeros.
    unsafe { crate::sys::syscall!(libc::SYS_madvise, address, bytes, POPULATE_WRITE) == 0 }
}

/// True if the spool file is on tmpfs(5), where touching memory allocates file space.
fn is_in_memory(file: libc::c_int) -> bool {
    // SAFETY: an all-zero statfs is valid.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    let known = unsafe { crate::sys::syscall!(libc::SYS_fstatfs, file, &raw mut about) } == 0;
    known && about.f_type == libc::TMPFS_MAGIC
}

fn back_at(address: *mut u8, bytes: usize) -> bool {
    let found = PLACES.iter().find_map(|place| place.offset_of(address, bytes).map(|offset| (place, offset)));
    let Some((place, offset)) = found else { return false };
    // SAFETY: the pointer is null, or a leaked string.
    let Some(path) = (unsafe { place.path.load(Ordering::Acquire).as_ref() }) else { return false };
    if (offset + bytes) as u64 > process::size_limit() {
        return false;
    }
    let is_for_segments = super::header::is_for_segments(place.start.load(Ordering::Relaxed), offset);
    let piece = if is_for_segments { Piece::Segments } else { Piece::Others };
    if !piece.take(bytes) {
        return false;
    }
    // Reopening checks the file's identity, since another user may have replaced the file.
    let allocated = || {
        place.identity.reopen(path).is_ok_and(|file| {
            let done = allocate(file, offset, bytes).is_ok();
            close(file);
            done
        })
    };
    let done = if place.in_memory.load(Ordering::Relaxed) {
        commit(address, bytes) && populate(address, bytes)
    } else {
        let done = allocated() && commit(address, bytes);
        // Small pieces are not prefaulted: a short process may never touch them, and some file systems take milliseconds per page.
        if done && bytes > LEAST_POPULATED {
            // Saves page faults later. If the kernel cannot prefault, each page faults at first use.
            populate(address, bytes);
        }
        done
    };
    if done {
        place.backed(piece).fetch_add(bytes, Ordering::Relaxed);
    } else {
        piece.give_back(bytes);
    }
    done
}

/// Returns the NUL-terminated path of the spool (file of recorded data) in use.
pub(super) fn path() -> Option<&'static [u8]> {
    // SAFETY: the pointer is null, or a leaked string.
    unsafe { place_in_use().path.load(Ordering::Acquire).as_ref() }.map(|path| path.as_bytes_with_nul())
}

/// Removes the spool file; its memory mapping stays.
pub(super) fn remove() {
    let saved = errno::save();
    if let Some(Ok(path)) = path().map(CStr::from_bytes_with_nul) {
        // Another user may have replaced the file, which then stays.
        if place_in_use().identity.is_at(path) {
            unlink(path);
        }
    }
    place_in_use().path.store(std::ptr::null_mut(), Ordering::Release);
    place_in_use().give_back();
    saved.restore();
}

/// Unmaps and removes an unusable spool file, before it holds any data.
pub(super) fn abandon() {
    let saved = errno::save();
    let place = place_in_use();
    let (start, length) = (place.start.load(Ordering::Relaxed), place.length.load(Ordering::Relaxed));
    // SAFETY: the mapping belongs to the tracer, and no pointer into it exists yet.
    unsafe { crate::sys::syscall!(libc::SYS_munmap, start, length) };
    place.start.store(std::ptr::null_mut(), Ordering::Relaxed);
    place.length.store(0, Ordering::Relaxed);
    saved.restore();
    say_why(path().and_then(|path| CStr::from_bytes_with_nul(path).ok()), libc::ENOSPC);
    remove();
}

/// Renames the spool file before exec(3), once all of its content is in a trace. The next program, if traced, removes the renamed file;
/// [`take_back`] restores the name if exec(3) fails.
pub(super) fn set_aside() -> bool {
    aside().is_some_and(|(path, aside)| place_in_use().identity.is_at(&path) && rename(&path, &aside))
}

/// Restores the spool file's name, which [`set_aside`] changed.
pub(super) fn take_back() {
    if let Some((path, aside)) = aside()
        && place_in_use().identity.is_at(&aside)
    {
        rename(&aside, &path);
    }
}

/// Removes the renamed spool file that this process left in `directory` when it ran the previous program. Returns the budget reservation
/// stored in the file: job id and bytes. Any other file of that name stays.
pub(super) fn sweep(directory: Option<CString>) -> Option<(u64, u64)> {
    let saved = errno::save();
    let aside = directory.and_then(|directory| place::name(&directory, ASIDE));
    let known = aside.as_deref().and_then(|aside| known_of(aside).filter(|_| unlink(aside)));
    saved.restore();
    known
}

/// Returns the budget reservation stored in the spool file at `path`: job id and bytes. `None` if the file is no spool or belongs to another user.
fn known_of(path: &CStr) -> Option<(u64, u64)> {
    let file = open(path, 0).ok()?;
    let is_own = own_file::own(file).is_some();
    let words = |words: &mut [u64], at: usize| {
        let length = size_of_val(words);
        // SAFETY: the buffer belongs to the caller, and any bits are valid for `u64`.
        let read = unsafe { crate::sys::syscall!(libc::SYS_pread64, file, words.as_mut_ptr(), length, at) };
        read == length as i64
    };
    let (mut magic, mut known_bytes) = ([0_u64; 1], [0_u64; 2]);
    let is_read = words(&mut magic, header::MAGIC) && words(&mut known_bytes, header::BUDGET_JOB);
    close(file);
    let [job, bytes] = known_bytes;
    (is_own && is_read && magic == [MAGIC]).then_some((job, bytes))
}

/// Suffix of a spool file whose content is in a trace, and which is needed only if exec(3) fails.
const ASIDE: &str = ".done";

fn aside() -> Option<(CString, CString)> {
    let path = CStr::from_bytes_with_nul(path()?).ok()?;
    let aside = place::name(&place::directory_of(path.to_bytes())?, ASIDE)?;
    Some((path.to_owned(), aside))
}

fn rename(from: &CStr, to: &CStr) -> bool {
    // Both names are in the same directory.
    let ((here, old), (_, new), flags) = (own_directories::at(from), own_directories::at(to), libc::RENAME_NOREPLACE);
    // SAFETY: both names are NUL-terminated.
    if unsafe { crate::sys::syscall!(libc::SYS_renameat2, here, old.as_ptr(), here, new.as_ptr(), flags) == 0 } {
        return true;
    }
    // Some file systems lack RENAME_NOREPLACE, and a sandbox may deny it; link(2) never replaces a name either.
    if !matches!(errno::save().value(), libc::EINVAL | libc::ENOSYS | libc::EPERM) {
        return false;
    }
    // SAFETY: both names are NUL-terminated.
    let linked = unsafe { crate::sys::syscall!(libc::SYS_linkat, here, old.as_ptr(), here, new.as_ptr(), 0) } == 0;
    if linked {
        unlink(from);
    }
    linked
}

/// Detaches a forked child from the spool files, which belong to the parent.
pub(super) fn forget() {
    for place in &PLACES {
        place.path.store(std::ptr::null_mut(), Ordering::Release);
        place.start.store(std::ptr::null_mut(), Ordering::Relaxed);
        place.length.store(0, Ordering::Relaxed);
        for piece in [Piece::Segments, Piece::Others] {
            place.backed(piece).store(0, Ordering::Relaxed);
        }
    }
    IN_USE.store(0, Ordering::Release);
}
