//! The spill (`DXT_OVERFLOW=spill`): packed blocks that the buffer has no room for, in a file beside the spool. The file is
//! opened for each block, some two thousand calls, and no descriptor stays open.
#![expect(unsafe_code, reason = "pwrite(2), mmap(2)")]

use super::identity::{Identity, close};
use super::{file, place};
use crate::budget::Piece;
use crate::errno;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The file's path; null while there is none. Kept for good.
static PATH: AtomicPtr<CString> = AtomicPtr::new(std::ptr::null_mut());
/// Which file that was. One that is there before is somebody else's, whatever its name says, and is left alone.
static IDENTITY: Identity = Identity::new();
/// Bytes of whole blocks in it.
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Bytes of those that belong to the trace that is being written or are in one, and of those that are in one.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static WRITTEN: AtomicUsize = AtomicUsize::new(0);
/// A thread is adding a block.
static ADDING: AtomicBool = AtomicBool::new(false);

/// End of the file's name.
const END: &str = ".spill";

/// Adds a block; false if that cannot be: no space, no directory, or another thread takes long.
pub(crate) fn add(block: &[u8]) -> bool {
    // What the trace has no room for need not fill the node's disk. Before others wait for this thread: the budget may be slow.
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

/// Writes `block` at `at`. A part of it that was written before space ran out is written over by the next one.
fn write(block: &[u8], at: usize) -> Option<()> {
    if (at + block.len()) as u64 > file::size_limit() {
        return None;
    }
    // SAFETY: null, or a leaked string.
    let opened = match unsafe { PATH.load(Ordering::Acquire).as_ref() } {
        Some(path) => IDENTITY.reopen(path).ok()?,
        None => {
            // Not to be abandoned with the work that has the block: others would wait for this thread.
            let name = || Some(Box::into_raw(Box::new(place::name(&place::spill_directory(file::path())?, END)?)));
            let kept = crate::stack::attempt(name).flatten()?;
            // SAFETY: just made, never freed.
            let opened = IDENTITY.create(unsafe { &*kept }).ok()?;
            PATH.store(kept, Ordering::Release);
            super::header::set_spill_file(IDENTITY.numbers());
            opened
        }
    };
    let mut rest = block;
    while !rest.is_empty() {
        let offset = at + block.len() - rest.len();
        // SAFETY: the bytes are ours.
        let written = unsafe { crate::sys::syscall!(libc::SYS_pwrite64, opened, rest.as_ptr(), rest.len(), offset) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = rest.get(written..)?,
            _ => break,
        }
    }
    close(opened);
    rest.is_empty().then_some(())
}

/// All blocks added so far belong to the trace that is about to be written, but for those that are in one.
pub(crate) fn take() {
    TAKEN.store(LENGTH.load(Ordering::Acquire), Ordering::Release);
    show();
}

/// Those that were taken are in a trace now, or (`written` is false) are not.
pub(crate) fn settle(written: bool) {
    let (from, to) = if written { (&TAKEN, &WRITTEN) } else { (&WRITTEN, &TAKEN) };
    to.store(from.load(Ordering::Acquire), Ordering::Release);
    show();
}

fn show() {
    super::header::set_spill(TAKEN.load(Ordering::Acquire), WRITTEN.load(Ordering::Acquire));
}

/// The blocks that belong to the trace that is being written.
pub(crate) fn taken() -> &'static [u8] {
    let (from, to) = (WRITTEN.load(Ordering::Acquire), TAKEN.load(Ordering::Acquire));
    blocks(to).get(from..).unwrap_or_default()
}

/// The first `length` bytes, as they were added.
fn blocks(length: usize) -> &'static [u8] {
    // SAFETY: null, or a leaked string.
    let Some(path) = unsafe { PATH.load(Ordering::Acquire).as_ref() }.filter(|_| length > 0) else { return &[] };
    let Ok(opened) = IDENTITY.reopen(path) else { return unreadable() };
    let flags = libc::MAP_SHARED;
    // SAFETY: a new mapping touches nothing that exists.
    let address = unsafe {
        crate::sys::syscall!(libc::SYS_mmap, std::ptr::null_mut::<u8>(), length, libc::PROT_READ, flags, opened, 0_i64)
    };
    close(opened);
    if address == -1 {
        return unreadable();
    }
    // SAFETY: mapped for good, at least this long, and only added to behind it.
    unsafe { std::slice::from_raw_parts(address as *const u8, length) }
}

/// There are blocks, and they cannot be had: no trace may be made that does not have them.
fn unreadable() -> &'static [u8] {
    crate::stack::abandon();
    &[]
}

/// All that is in it is in a trace: takes the file away.
pub(crate) fn remove() {
    // First, so that nobody misses it who comes in between.
    super::header::set_spill_file((0, 0));
    // SAFETY: null, or a leaked string.
    if let Some(path) = unsafe { PATH.load(Ordering::Acquire).as_ref() } {
        let saved = errno::save();
        file::unlink(path);
        saved.restore();
    }
    Piece::Segments.give_back(LENGTH.load(Ordering::Relaxed));
    forget();
}

/// In a forked child: the file is its parent's.
pub(crate) fn forget() {
    LENGTH.store(0, Ordering::Relaxed);
    TAKEN.store(0, Ordering::Relaxed);
    WRITTEN.store(0, Ordering::Relaxed);
    show();
    PATH.store(std::ptr::null_mut(), Ordering::Release);
    ADDING.store(false, Ordering::Release);
}
