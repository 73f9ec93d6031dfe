//! Whether a program can be traced once it is started: one that is linked statically, or that takes on another user, loads no library
//! that LD_PRELOAD names (ld.so(8)). Nothing can be done but to say so.
#![expect(unsafe_code, reason = "open(2), read(2), fstat(2)")]

use crate::memory::Loan;
use crate::notes::Note;
use crate::{errno, record, sys};
use libc::{c_char, c_int};
use std::ffi::CStr;

/// Most program headers that are looked at; linkers make about a dozen.
const MOST_HEADERS: usize = 16;
const HEADER_BYTES: usize = size_of::<libc::Elf64_Phdr>();
const HEAD_BYTES: usize = size_of::<libc::Elf64_Ehdr>();

/// The program at `path`, below `directory` if that is relative, is about to run: counts it if it cannot be traced. True if it did.
/// In a child of vfork(2) too, which counts for its parent. Keeps errno.
pub(super) fn note(directory: c_int, path: *const c_char) -> bool {
    if !record::is_on() || path.is_null() {
        return false;
    }
    let errno = errno::save();
    // SAFETY: a path of the program's, which is about to pass it to the kernel.
    let path = unsafe { CStr::from_ptr(path) };
    let found = !is_dynamic_linker(path.to_bytes()) && is_untraceable(directory, path);
    if found {
        Note::Untraceable.count();
    }
    errno.restore();
    found
}

/// The dynamic linker is a program without one, and does as LD_PRELOAD says.
fn is_dynamic_linker(path: &[u8]) -> bool {
    let name = crate::job::basename(path);
    name.starts_with(b"ld-") || name.starts_with(b"ld.so") || name.starts_with(b"ld64.so")
}

fn is_untraceable(directory: c_int, path: &CStr) -> bool {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the path ends in NUL.
    let file = unsafe { sys::syscall!(libc::SYS_openat, directory, path.as_ptr(), flags) };
    let Ok(file) = c_int::try_from(file) else { return false };
    if file < 0 {
        return false;
    }
    let found = takes_another_user(file) || is_static(file);
    // SAFETY: opened above.
    unsafe { sys::syscall!(libc::SYS_close, file) };
    found
}

/// Set-user-ID or set-group-ID, of somebody else.
fn takes_another_user(file: c_int) -> bool {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    if unsafe { sys::syscall!(libc::SYS_fstat, file, &raw mut stat) } != 0
        || stat.st_mode & libc::S_IFMT != libc::S_IFREG
    {
        return false;
    }
    // SAFETY: no preconditions.
    let user = unsafe { sys::syscall!(libc::SYS_getuid) };
    // SAFETY: as above.
    let group = unsafe { sys::syscall!(libc::SYS_getgid) };
    stat.st_mode & libc::S_ISUID != 0 && i64::from(stat.st_uid) != user
        || stat.st_mode & libc::S_ISGID != 0 && i64::from(stat.st_gid) != group
}

/// Whether it is a program of this processor's size that asks for no dynamic linker (ELF, chapter 5).
fn is_static(file: c_int) -> bool {
    let mut head = [0_u8; HEAD_BYTES];
    if !read(file, 0, &mut head) || head[..5] != *b"\x7fELF\x02" {
        return false;
    }
    let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let at = u64::from_le_bytes(std::array::from_fn(|i| head[32 + i]));
    let (size, count) = (number(54), number(56));
    if size != HEADER_BYTES || count == 0 || count > MOST_HEADERS {
        return false;
    }
    let Some(mut headers) = Loan::take() else { return false };
    let headers = &mut headers[..count * HEADER_BYTES];
    let asks = |header: &[u8]| header[..4] == libc::PT_INTERP.to_le_bytes();
    read(file, at, headers) && !headers.chunks(HEADER_BYTES).any(asks)
}

/// Fills `into` with the bytes from `at` on.
fn read(file: c_int, at: u64, into: &mut [u8]) -> bool {
    // SAFETY: the buffer is ours.
    let length = unsafe { sys::syscall!(libc::SYS_pread64, file, into.as_mut_ptr(), into.len(), at) };
    usize::try_from(length) == Ok(into.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_programs_are_traceable() {
        assert!(!is_untraceable(libc::AT_FDCWD, c"/bin/sh"));
        assert!(!is_untraceable(libc::AT_FDCWD, c"/") && !is_untraceable(libc::AT_FDCWD, c"/no/such/file"));
        assert!(is_dynamic_linker(b"/lib64/ld-linux-x86-64.so.2") && !is_dynamic_linker(b"/lib64/program"));
    }
}
