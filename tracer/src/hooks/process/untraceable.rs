//! Whether a program can be traced once it is started: one that is linked statically, or that takes on another user, loads no library
//! that LD_PRELOAD names (ld.so(8)). Nothing can be done but to say so.
#![expect(unsafe_code, reason = "open(2), read(2), fstat(2); environ(7)")]

use crate::memory::Loan;
use crate::notes::Note;
use crate::real::LINKED_NOTE;
use crate::{errno, record, sys};
use libc::{c_char, c_int};
use std::ffi::CStr;

/// Most program headers that are looked at; linkers make about a dozen.
const MOST_HEADERS: usize = 16;
const HEADER_BYTES: usize = size_of::<libc::Elf64_Phdr>();
const HEAD_BYTES: usize = size_of::<libc::Elf64_Ehdr>();

/// What is about to run.
#[derive(Clone, Copy)]
pub(super) enum Program {
    /// The file of this name, below this directory if the name is relative; null if it is not known.
    At(c_int, *const c_char),
    /// What execvp(3) finds by this name.
    Searched(*const c_char),
    /// The file of this descriptor.
    Open(c_int),
}

/// The program is about to run: counts it if it cannot be traced. True if it did. In a child of vfork(2) too, which counts for its
/// parent. Keeps errno.
pub(super) fn note(program: Program) -> bool {
    if !record::is_on() {
        return false;
    }
    let errno = errno::save();
    let found = match program {
        Program::At(_, path) | Program::Searched(path) if path.is_null() => false,
        Program::At(directory, path) => {
            // SAFETY: a path of the program's, which is about to pass it to the kernel.
            is_untraceable_at(directory, unsafe { CStr::from_ptr(path) })
        }
        Program::Searched(name) => {
            // SAFETY: likewise.
            is_untraceable_in_path(unsafe { CStr::from_ptr(name) })
        }
        Program::Open(number) => is_untraceable_open(number),
    };
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

fn is_untraceable_at(directory: c_int, path: &CStr) -> bool {
    !is_dynamic_linker(path.to_bytes()) && is_untraceable(directory, path)
}

/// Where execvp(3) looks if the environment does not say (execvp(3), glibc 2.24 and later).
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";

/// As execvp(3) looks for it: a name without a slash in each directory of PATH, until one is found that may be executed.
fn is_untraceable_in_path(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    if bytes.contains(&b'/') {
        return is_untraceable_at(libc::AT_FDCWD, name);
    }
    let Some(mut place) = Loan::take().filter(|_| !bytes.is_empty()) else { return false };
    for directory in search_path().split(|byte| *byte == b':') {
        // An empty one is the working directory.
        let directory = if directory.is_empty() { b".".as_slice() } else { directory };
        let length = directory.len() + 1 + bytes.len();
        let Some(path) = place.get_mut(..=length) else { continue };
        path[..directory.len()].copy_from_slice(directory);
        path[directory.len()] = b'/';
        path[directory.len() + 1..length].copy_from_slice(bytes);
        path[length] = 0;
        let Ok(path) = CStr::from_bytes_with_nul(path) else { continue };
        if may_be_executed(path) {
            // `is_static` needs a loan too: there is more than one.
            return is_untraceable_at(libc::AT_FDCWD, path);
        }
    }
    false
}

/// The value of PATH now, as execvp(3) is about to read it; as unsafe towards other threads that change it as that is.
fn search_path() -> &'static [u8] {
    // SAFETY: the C library's variable, read by value.
    let mut entry = unsafe { environ };
    while !entry.is_null() {
        // SAFETY: an array of strings that ends in null (environ(7)).
        let variable = unsafe { entry.read() };
        if variable.is_null() {
            break;
        }
        // SAFETY: likewise.
        if let Some(value) = unsafe { CStr::from_ptr(variable) }.to_bytes().strip_prefix(b"PATH=") {
            return value;
        }
        // SAFETY: the array goes on behind what is not null.
        entry = unsafe { entry.add(1) };
    }
    USUAL_PATH
}

unsafe extern "C" {
    /// environ(7).
    static environ: *const *const c_char;
}

fn may_be_executed(path: &CStr) -> bool {
    // SAFETY: the path ends in NUL.
    unsafe { sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, path.as_ptr(), libc::X_OK) == 0 }
}

/// The file of a descriptor, by the name that proc(5) has for it: it may have been opened with O_PATH.
fn is_untraceable_open(number: c_int) -> bool {
    let Ok(digits) = u32::try_from(number) else { return false };
    let mut path = *b"/proc/self/fd/0000000000\0";
    let (mut rest, mut at) = (digits, path.len() - 1);
    while at > b"/proc/self/fd/".len() {
        at -= 1;
        path[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Names there have no zeros in front.
    let zeros = path[14..23].iter().take_while(|digit| **digit == b'0').count();
    path.copy_within(14 + zeros.., 14);
    let Ok(path) = CStr::from_bytes_until_nul(&path) else { return false };
    let Some(mut place) = Loan::take() else { return false };
    // SAFETY: the path ends in NUL; the buffer is ours.
    let length =
        unsafe { sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), place.as_mut_ptr(), place.len()) };
    let name = usize::try_from(length).ok().and_then(|length| place.get(..length)).unwrap_or_default();
    !is_dynamic_linker(name) && is_untraceable(libc::AT_FDCWD, path)
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

/// Whether it is a program of this processor's size that asks for no dynamic linker (ELF, chapter 5), and has no tracer linked in.
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
    read(file, at, headers)
        && !headers.chunks(HEADER_BYTES).any(asks)
        && !headers.chunks(HEADER_BYTES).any(|header| is_note_of_tracer(file, header))
}

/// Whether a program header is of notes among which is the one of a tracer that was linked in. Linkers make notes of some hundred bytes.
fn is_note_of_tracer(file: c_int, header: &[u8]) -> bool {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let (offset, bytes) = (word(8), usize::try_from(word(32)).unwrap_or(usize::MAX));
    if header[..4] != libc::PT_NOTE.to_le_bytes() {
        return false;
    }
    let Some(mut place) = Loan::take() else { return false };
    let Some(notes) = place.get_mut(..bytes) else { return false };
    read(file, offset, notes) && notes.windows(LINKED_NOTE.len()).any(|part| part == LINKED_NOTE)
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
        assert!(
            !is_untraceable_in_path(c"sh")
                && !is_untraceable_in_path(c"no-such-program")
                && !is_untraceable_in_path(c"")
        );
        for (number, file) in (0..40).map(|_| std::fs::File::open("/bin/sh").unwrap()).enumerate() {
            assert!(!is_untraceable_open(std::os::fd::AsRawFd::as_raw_fd(&file)), "{number}");
        }
        assert!(!is_untraceable_open(-1) && !is_untraceable_open(i32::MAX));
        assert!(is_dynamic_linker(b"/lib64/ld-linux-x86-64.so.2") && !is_dynamic_linker(b"/lib64/program"));
    }
}
