//! The spill file (`DXT_OVERFLOW=spill`): packed blocks that do not fit into the buffer, in a file beside the spool. The file is opened
//! once per block (some two thousand calls), and no descriptor stays open.
#![expect(unsafe_code, reason = "pwrite(2), mmap(2)")]

use super::{file, place};
use crate::budget::Piece;
use crate::errno;
use crate::own_file::{self, Identity, close};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Path of the spill file (compressed segments that do not fit into memory); null while there is no file. Never freed.
static PATH: AtomicPtr<CString> = AtomicPtr::new(std::ptr::null_mut());
/// Device and inode of the spill file. A file that already exists under its name belongs to another user or process, and is not touched.
static IDENTITY: Identity = Identity::new();
/// Total size of the complete packed blocks (encoded segments) in the spill file, in bytes.
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the spill file, from its start, that are in a trace or in the trace being written.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// Bytes of the spill file, from its start, that are in a finished trace.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);
/// True while a thread is adding a packed block (encoded segments) to the spill file.
static ADDING: AtomicBool = AtomicBool::new(false);

const END: &str = ".spill";

/// Appends a packed block (encoded segments) to the spill file. Returns false if there is no space or no directory, or if another thread
/// takes too long.
pub(crate) fn add(block: &[u8]) -> bool {
    // Bytes are reserved first: segments beyond the byte budget must not fill the disk. Reserved outside the lock, since it may take long.
    if !Piece::Segments.take(block.len()) {
        return false;
    }
    let done = add_taken(block);
    if !done {
        Piece::Segments.give_back(block.len());
    }
    done
}

fn add_taken(block: &[u8]) -> bool {
    let saved = errno::save();
    let mut waited = 0;
    while ADDING.swap(true, Ordering::Acquire) {
        waited += 1;
        if waited > 1000 {
            saved.restore();
            return false;
        }
        crate::threads::give_way();
    }
    let length = LENGTH.load(Ordering::Relaxed);
    let done = write(block, length).is_some();
    if done {
        LENGTH.store(length + block.len(), Ordering::Release);
    }
    ADDING.store(false, Ordering::Release);
    saved.restore();
    done
}

/// Writes `block` at offset `at` of the spill file. If space runs out, the next block overwrites the partial block.
fn write(block: &[u8], at: usize) -> Option<()> {
    if (at + block.len()) as u64 > crate::process::size_limit() {
        return None;
    }
    // SAFETY: the pointer is null, or a leaked string.
    let opened = match unsafe { PATH.load(Ordering::Acquire).as_ref() } {
        Some(path) => IDENTITY.reopen(path).ok()?,
        None => {
            // Runs as work of its own: if lack of memory abandoned the caller's work, `ADDING` would stay set, and no thread could add a block.
            let name = || Some(Box::into_raw(Box::new(place::name(&place::spill_directory(file::path())?, END)?)));
            let kept = crate::stack::attempt(name).flatten()?;
            // SAFETY: the string was just created, and is never freed.
            let opened = IDENTITY.create(unsafe { &*kept }).ok()?;
            PATH.store(kept, Ordering::Release);
            super::header::set_spill_file(IDENTITY.numbers());
            opened
        }
    };
    let mut rest = block;
    while !rest.is_empty() {
        let offset = at + block.len() - rest.len();
        // SAFETY: the bytes belong to the caller.
        let written = unsafe { crate::sys::syscall!(libc::SYS_pwrite64, opened, rest.as_ptr(), rest.len(), offset) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = rest.get(written..)?,
            _ => break,
        }
    }
    close(opened);
    rest.is_empty().then_some(())
}

/// Marks all packed blocks (encoded segments) of the spill file that are in no trace as taken for the trace about to be written.
pub(crate) fn take() {
    TAKEN.store(LENGTH.load(Ordering::Acquire), Ordering::Release);
    show();
}

/// Ends writing of a trace: marks the taken blocks as written, or (if `written` is false) returns them for the next trace.
pub(crate) fn settle(written: bool) {
    let (from, to) = if written { (&TAKEN, &WRITTEN) } else { (&WRITTEN, &TAKEN) };
    to.store(from.load(Ordering::Acquire), Ordering::Release);
    show();
}

fn show() {
    super::header::set_spill(TAKEN.load(Ordering::Acquire), WRITTEN.load(Ordering::Acquire));
}

/// Returns the packed blocks (encoded segments) of the spill file that are taken for the trace being written.
pub(crate) fn taken() -> &'static [u8] {
    let (from, to) = (WRITTEN.load(Ordering::Acquire), TAKEN.load(Ordering::Acquire));
    blocks(to).get(from..).unwrap_or_default()
}

/// Maps the spill file into memory and returns its first `length` bytes.
fn blocks(length: usize) -> &'static [u8] {
    // SAFETY: the pointer is null, or a leaked string.
    let Some(path) = unsafe { PATH.load(Ordering::Acquire).as_ref() }.filter(|_| length > 0) else { return &[] };
    let Ok(opened) = IDENTITY.reopen(path) else { return unreadable() };
    let flags = libc::MAP_SHARED;
    // SAFETY: a new mapping at an address chosen by the kernel affects no existing mapping.
    let address = unsafe {
        crate::sys::syscall!(libc::SYS_mmap, std::ptr::null_mut::<u8>(), length, libc::PROT_READ, flags, opened, 0_i64)
    };
    close(opened);
    if address == -1 {
        return unreadable();
    }
    // SAFETY: the mapping is never removed and at least this long, and the file only grows after these bytes.
    unsafe { std::slice::from_raw_parts(address as *const u8, length) }
}

/// Abandons writing of the trace, because the spill file has blocks but cannot be read: no trace may be written without them. Returns no
/// blocks if no work is in progress that could be abandoned.
fn unreadable() -> &'static [u8] {
    crate::stack::abandon();
    &[]
}

/// Removes the spill file (packed blocks beside the spool) once all of its content is in a trace.
pub(crate) fn remove() {
    // The identity in the header is cleared first, so that a reader in between does not miss the file.
    super::header::set_spill_file((0, 0));
    // SAFETY: the pointer is null, or a leaked string.
    if let Some(path) = unsafe { PATH.load(Ordering::Acquire).as_ref() } {
        let saved = errno::save();
        own_file::unlink(path);
        saved.restore();
    }
    Piece::Segments.give_back(LENGTH.load(Ordering::Relaxed));
    forget();
}

/// Detaches a forked child from the spill file, which belongs to the parent.
pub(crate) fn forget() {
    LENGTH.store(0, Ordering::Relaxed);
    TAKEN.store(0, Ordering::Relaxed);
    WRITTEN.store(0, Ordering::Relaxed);
    show();
    PATH.store(std::ptr::null_mut(), Ordering::Release);
    ADDING.store(false, Ordering::Release);
}
