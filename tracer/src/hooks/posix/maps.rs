//! Wraps memory mappings of files (mmap(2), ...). An allocator may call mmap(2) while dlsym(3) runs, so the wrappers do not resolve the
//! real functions at their first call. Until the constructor has resolved them, the wrappers make the system calls directly.
#![expect(unsafe_code, reason = "C functions")]

use crate::clock;
use crate::errno;
use crate::handles::mappings::{self, Mapping};
use crate::handles::{self, Placed, Used};
use crate::hooks::admission;
use crate::notes::Note;
use crate::ops::{POSIX_MMAP, POSIX_MREMAP, POSIX_MSYNC, POSIX_MUNMAP};
use crate::real::{Slot, slot};
use crate::record::{Call, End};
use libc::{c_int, c_long, c_void, off_t, size_t};

static MMAP: Slot = slot!("mmap");
static MUNMAP: Slot = slot!("munmap");
static MSYNC: Slot = slot!("msync");
static MREMAP: Slot = slot!("mremap");

pub(crate) static MAPS: &[&Slot] = &[&MMAP, &MUNMAP, &MSYNC, &MREMAP];

/// Converts the result of a system call such as mmap(2) to an address. An error needs no conversion, since syscall(2) has set errno.
fn mapped(result: c_long) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(result as usize)
}

/// Rounds a length in bytes up to whole pages, as the kernel does for mappings.
fn whole_pages(length: size_t) -> size_t {
    length.checked_next_multiple_of(mappings::page_bytes()).unwrap_or(length)
}

/// Makes the record of the end of a call at time `at` (clock ticks) on the mapped range `part`.
fn end_of(part: &Mapping, at: u64) -> End {
    End { at, placed: Placed::at(part.offset), length: part.length as u64 }
}

type Mmap = unsafe extern "C" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;
type Munmap = unsafe extern "C" fn(*mut c_void, size_t) -> c_int;
type Mremap = unsafe extern "C" fn(*mut c_void, size_t, size_t, c_int, *mut c_void) -> *mut c_void;
type Msync = unsafe extern "C" fn(*mut c_void, size_t, c_int) -> c_int;

/// Runs and records `call`, which maps `length` bytes of the file open as `number` from `offset`, with `flags` of mmap(2).
#[inline(always)]
fn mapping(
    number: c_int,
    flags: c_int,
    length: size_t,
    offset: off_t,
    call: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    let of_file = number >= 0 && flags & libc::MAP_ANONYMOUS == 0;
    let Some(thread) = admission::thread_of_program() else { return call() };
    let target = if of_file { handles::descriptor(number) } else { None };
    let timer = Call::begin_anywhere(thread);
    let address = call();
    let failed = address == libc::MAP_FAILED;
    if !failed {
        // The new mapping replaces older mappings in its range, without munmap(2).
        mappings::take(address as usize, whole_pages(length));
    }
    match target.map(|target| target.used().map(Used::file)) {
        Some(None) => {
            let length = if failed { -1 } else { length as i64 };
            timer.end_uncertain(clock::of_call(), &POSIX_MMAP, length);
        }
        Some(Some(file)) if failed => timer.failed(file, &POSIX_MMAP, offset),
        Some(Some(file)) => {
            timer.finish(
                file,
                &POSIX_MMAP,
                End { at: clock::of_call(), placed: Placed::at(offset), length: length as u64 },
            );
            if !mappings::add(address as usize, length, offset, file) {
                Note::Map.count();
            }
        }
        None => {}
    }
    address
}

/// Wraps mmap(2), recorded with the requested file range.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_mmap"))]
pub(crate) unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    number: c_int,
    offset: off_t,
) -> *mut c_void {
    let real = MMAP.known_address();
    mapping(number, flags, length, offset, || {
        if real.is_null() {
            // SAFETY: passes the caller's own arguments.
            return mapped(unsafe {
                crate::sys::pass_on!(libc::SYS_mmap, address, length, protection, flags, number, offset)
            });
        }
        // SAFETY: the symbol has this C type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Mmap>(real) };
        // SAFETY: passes the caller's own arguments.
        unsafe { function(address, length, protection, flags, number, offset) }
    })
}

/// Wraps mmap(2) under its 64-bit name.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_mmap64"))]
pub(crate) unsafe extern "C" fn mmap64(
    address: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    number: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: mmap64 is mmap on every 64-bit system; passes the caller's own arguments.
    unsafe { mmap(address, length, protection, flags, number, offset) }
}

/// Wraps munmap(2), recorded as one segment per unmapped range of a recorded file.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_munmap"))]
pub(crate) unsafe extern "C" fn munmap(address: *mut c_void, length: size_t) -> c_int {
    let real = MUNMAP.known_address();
    let call = || {
        if real.is_null() {
            // SAFETY: passes the caller's own arguments.
            return unsafe { crate::sys::pass_on!(libc::SYS_munmap, address, length) } as c_int;
        }
        // SAFETY: the symbol has this C type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Munmap>(real) };
        // SAFETY: passes the caller's own arguments.
        unsafe { function(address, length) }
    };
    let Some(thread) = admission::thread_of_program() else { return call() };
    // Before the call: once the range is free, another thread may get it. An address that is not page-aligned is an error.
    let aligned = whole_pages(address as usize) == address as usize;
    let search = if aligned { mappings::take } else { mappings::find };
    let Some(found) = search(address as usize, whole_pages(length)) else { return call() };
    let timer = Call::begin_anywhere(thread);
    let result = call();
    let (end, errno) = (crate::clock::of_call(), errno::save());
    if result == 0 {
        for part in found.iter() {
            timer.again().finish(part.file, &POSIX_MUNMAP, end_of(part, end));
        }
    } else {
        if aligned {
            found.put_back();
        }
        found.iter().for_each(|part| timer.again().failed(part.file, &POSIX_MUNMAP, part.offset));
    }
    errno.restore();
    result
}

/// Wraps msync(2), recorded as one segment per synchronized range of a recorded file.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_msync"))]
pub(crate) unsafe extern "C" fn msync(address: *mut c_void, length: size_t, flags: c_int) -> c_int {
    let real = MSYNC.known_address();
    let call = || {
        if real.is_null() {
            // SAFETY: passes the caller's own arguments.
            return unsafe { crate::sys::pass_on!(libc::SYS_msync, address, length, flags) } as c_int;
        }
        // SAFETY: the symbol has this C type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Msync>(real) };
        // SAFETY: passes the caller's own arguments.
        unsafe { function(address, length, flags) }
    };
    let Some(thread) = admission::thread_of_program() else { return call() };
    let Some(found) = mappings::find(address as usize, length) else { return call() };
    let timer = Call::begin_anywhere(thread);
    let result = call();
    let (end, errno) = (crate::clock::of_call(), errno::save());
    for part in found.iter() {
        match result {
            0 => timer.again().finish(part.file, &POSIX_MSYNC, end_of(part, end)),
            _ => timer.again().failed(part.file, &POSIX_MSYNC, part.offset),
        }
    }
    errno.restore();
    result
}

/// Wraps mremap(2), recorded as one segment per range of a recorded file, at its new mapping. The last argument exists only with
/// MREMAP_FIXED or MREMAP_DONTUNMAP; otherwise its register is passed on unread.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_mremap"))]
pub(crate) unsafe extern "C" fn mremap(
    old: *mut c_void,
    bytes: size_t,
    now: size_t,
    flags: c_int,
    new: *mut c_void,
) -> *mut c_void {
    let real = MREMAP.known_address();
    let call = || {
        if real.is_null() {
            // SAFETY: passes the caller's own arguments.
            return mapped(unsafe { crate::sys::pass_on!(libc::SYS_mremap, old, bytes, now, flags, new) });
        }
        // SAFETY: the symbol has this C type.
        let function = unsafe { std::mem::transmute::<*mut c_void, Mremap>(real) };
        // SAFETY: passes the caller's own arguments.
        unsafe { function(old, bytes, now, flags, new) }
    };
    let Some(thread) = admission::thread() else { return call() };
    // With an old size of 0 or MREMAP_DONTUNMAP the old mapping stays, and the range is mapped a second time.
    let again = bytes == 0 || flags & libc::MREMAP_DONTUNMAP != 0;
    let (start, range, now) = (old as usize, whole_pages(bytes), whole_pages(now));
    let search = if again { mappings::find } else { mappings::take };
    let found = if bytes == 0 { mappings::find(start, now.max(1)) } else { search(start, range) };
    let timer = Call::begin_anywhere(thread);
    let address = call();
    let (end, errno) = (crate::clock::of_call(), errno::save());
    if address != libc::MAP_FAILED {
        if address as usize != start || again {
            // The new mapping replaces older mappings in its range.
            mappings::take(address as usize, now);
        }
        let range = if bytes == 0 { now } else { range };
        let followed = found.as_ref().is_none_or(|found| {
            found.moved((start, range), (address as usize, now), |part| {
                timer.again().finish(part.file, &POSIX_MREMAP, end_of(part, end));
            })
        });
        if !followed {
            Note::Map.count();
        }
    } else if let Some(found) = found {
        if !again {
            found.put_back();
        }
        found.iter().for_each(|part| timer.again().failed(part.file, &POSIX_MREMAP, part.offset));
    }
    errno.restore();
    address
}
