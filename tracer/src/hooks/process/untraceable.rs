//! Detects programs that cannot be traced once they are started. A statically linked or set-user-ID program loads no library from
//! LD_PRELOAD (ld.so(8)), so it can only be counted. A program with another dynamic linker than this process (musl's, another C library's,
//! a 32-bit one) would fail to start or complain if the tracer's library were preloaded, so it is started without the library.
#![expect(unsafe_code, reason = "open(2), read(2), stat(2); environ(7)")]

use crate::environment::strings;
use crate::memory::Loan;
use crate::notes::Note;
use crate::real::LINKED_NOTE;
use crate::{errno, record, seccomp, sys};
use libc::{c_char, c_int};
use std::ffi::CStr;

/// Maximum number of ELF program headers that are read of a program; linkers write about a dozen.
const MOST_HEADERS: usize = 16;
const HEADER_BYTES: usize = size_of::<libc::Elf64_Phdr>();
const HEAD_BYTES: usize = size_of::<libc::Elf64_Ehdr>();

/// Null-terminated array of strings, as in exec(3).
pub(super) type Strings = *const *const c_char;

/// Program that is about to run, as the call names it.
#[derive(Clone, Copy)]
pub(super) enum Program {
    /// Program file given by a path relative to this directory descriptor; the path is null if unknown.
    At(c_int, *const c_char),
    /// Name of a program for which execvp(3) searches in PATH.
    Searched(*const c_char),
    /// Program file given by an open descriptor.
    Open(c_int),
}

impl Program {
    pub(super) fn name(self) -> &'static [u8] {
        match self {
            // SAFETY: null, or a path that the program is about to pass to the kernel and keeps meanwhile.
            Self::At(_, path) | Self::Searched(path) if !path.is_null() => unsafe { CStr::from_ptr(path) }.to_bytes(),
            _ => b"a program",
        }
    }
}

/// Effect that preloading the tracer into a program would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The program can be traced, judging by its file.
    Traced,
    /// The program ignores LD_PRELOAD.
    Untraceable,
    /// The program would fail or complain if the tracer's library were preloaded.
    Foreign,
}

impl Fate {
    /// Counts the program if it cannot be traced; returns true if counted. Works in a vfork(2) child too, which counts for its parent.
    pub(super) fn note(self) -> bool {
        let counts = self != Self::Traced && record::is_on();
        if counts {
            Note::Untraceable.count();
        }
        counts
    }
}

/// Determines from its file if a program that is about to run can be traced. Preserves errno.
pub(super) fn look(program: Program) -> Fate {
    if !seccomp::inspects_programs() {
        return Fate::Traced;
    }
    let errno = errno::save();
    let fate = match program {
        Program::At(_, path) | Program::Searched(path) if path.is_null() => Fate::Traced,
        Program::At(directory, path) => {
            // SAFETY: a path that the program is about to pass to the kernel.
            look_at(directory, unsafe { CStr::from_ptr(path) })
        }
        Program::Searched(name) => {
            // SAFETY: a name that the program is about to pass to the C library.
            with_found(unsafe { CStr::from_ptr(name) }, |path| look_at(libc::AT_FDCWD, path)).unwrap_or(Fate::Traced)
        }
        Program::Open(number) => look_at_open(number),
    };
    errno.restore();
    fate
}

/// True if the program exists and is executable, so that exec(3) will most likely succeed. Preserves errno.
pub(super) fn will_run(program: Program) -> bool {
    let errno = errno::save();
    let will = match program {
        Program::At(_, path) | Program::Searched(path) if path.is_null() => false,
        // SAFETY: a path that the program is about to pass to the kernel.
        Program::At(directory, path) => may_be_executed(directory, unsafe { CStr::from_ptr(path) }),
        Program::Searched(name) => {
            // SAFETY: a name that the program is about to pass to the C library.
            with_found(unsafe { CStr::from_ptr(name) }, |path| may_be_executed(libc::AT_FDCWD, path)) == Some(true)
        }
        Program::Open(_) => true,
    };
    errno.restore();
    will
}

/// True if `path` is a dynamic linker that is run as a program, which has no interpreter but obeys LD_PRELOAD.
fn is_dynamic_linker(path: &[u8]) -> bool {
    let name = crate::job::basename(path);
    name.starts_with(b"ld-") || name.starts_with(b"ld.so") || name.starts_with(b"ld64.so")
}

fn look_at(directory: c_int, path: &CStr) -> Fate {
    if is_dynamic_linker(path.to_bytes()) { Fate::Traced } else { fate_of(directory, path, MOST_SCRIPTS) }
}

/// Search path of execvp(3) if PATH is not set (glibc 2.24 and later).
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";

/// Runs `work` with the path that execvp(3) would find for `name`, and returns its result. A name without a slash is searched in each PATH
/// directory until an executable file is found. `None` if no file is found.
fn with_found<T>(name: &CStr, work: impl FnOnce(&CStr) -> T) -> Option<T> {
    let bytes = name.to_bytes();
    if bytes.contains(&b'/') {
        return Some(work(name));
    }
    let mut place = Loan::take().filter(|_| !bytes.is_empty())?;
    for directory in search_path().split(|byte| *byte == b':') {
        // An empty entry means the working directory.
        let directory = if directory.is_empty() { b".".as_slice() } else { directory };
        let length = directory.len() + 1 + bytes.len();
        let Some(path) = place.get_mut(..=length) else { continue };
        path[..directory.len()].copy_from_slice(directory);
        path[directory.len()] = b'/';
        path[directory.len() + 1..length].copy_from_slice(bytes);
        path[length] = 0;
        let Ok(path) = CStr::from_bytes_with_nul(path) else { continue };
        if may_be_executed(libc::AT_FDCWD, path) {
            // `fate_of` needs a second loan of a buffer; more than one is available.
            return Some(work(path));
        }
    }
    None
}

/// Returns the current value of PATH, as execvp(3) is about to read it; like execvp(3), racy if other threads change the environment.
fn search_path() -> &'static [u8] {
    variables(current()).find_map(|variable| variable.to_bytes().strip_prefix(b"PATH=")).unwrap_or(USUAL_PATH)
}

pub(super) fn current() -> Strings {
    // SAFETY: the C library's variable, read by value.
    unsafe { environ }
}

/// Iterates over the variables (`NAME=value`) of `environment`, which may be null.
pub(super) fn variables(environment: Strings) -> impl Iterator<Item = &'static CStr> {
    (!environment.is_null()).then(|| strings(environment)).into_iter().flatten()
}

unsafe extern "C" {
    /// Environment of the process: the C library's variable (environ(7)).
    static environ: Strings;
}

fn may_be_executed(directory: c_int, path: &CStr) -> bool {
    // SAFETY: the path ends in NUL.
    unsafe { sys::syscall!(libc::SYS_faccessat, directory, path.as_ptr(), libc::X_OK) == 0 }
}

/// Determines if the program file open as `number` can be traced. Uses the file's name in proc(5), since the file may have been opened with
/// O_PATH.
fn look_at_open(number: c_int) -> Fate {
    let Ok(digits) = u32::try_from(number) else { return Fate::Traced };
    let mut path = *b"/proc/self/fd/0000000000\0";
    let (mut rest, mut at) = (digits, path.len() - 1);
    while at > b"/proc/self/fd/".len() {
        at -= 1;
        path[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Remove leading zeros, which the names in proc(5) do not have.
    let zeros = path[14..23].iter().take_while(|digit| **digit == b'0').count();
    path.copy_within(14 + zeros.., 14);
    let Ok(path) = CStr::from_bytes_until_nul(&path) else { return Fate::Traced };
    let Some(mut place) = Loan::take() else { return Fate::Traced };
    // SAFETY: the path ends in NUL, and the buffer is on loan to this call.
    let length =
        unsafe { sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), place.as_mut_ptr(), place.len()) };
    let name = usize::try_from(length).ok().and_then(|length| place.get(..length)).unwrap_or_default();
    if is_dynamic_linker(name) { Fate::Traced } else { fate_of(libc::AT_FDCWD, path, MOST_SCRIPTS) }
}

/// Maximum number of nested script interpreters that the kernel follows (fs/exec.c).
const MOST_SCRIPTS: u32 = 4;

/// Determines if the program at `path` can be traced; for a script, its interpreter decides. `scripts`: maximum number of interpreters.
fn fate_of(directory: c_int, path: &CStr, scripts: u32) -> Fate {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the path ends in NUL.
    let file = unsafe { sys::syscall!(libc::SYS_openat, directory, path.as_ptr(), flags) };
    let Ok(file) = c_int::try_from(file) else { return Fate::Traced };
    if file < 0 {
        return Fate::Traced;
    }
    let mut head = [0_u8; HEAD_BYTES];
    // SAFETY: the buffer is a local variable.
    let length = unsafe { sys::syscall!(libc::SYS_pread64, file, head.as_mut_ptr(), head.len(), 0_u64) };
    let is_script = length > 2 && head.starts_with(b"#!");
    let fate = match usize::try_from(length) == Ok(HEAD_BYTES) && !is_script {
        _ if is_script => Fate::Traced,
        _ if takes_another_user(file) => Fate::Untraceable,
        true => fate_of_program(file, &head),
        false => Fate::Traced,
    };
    let interpreter = if is_script && scripts > 0 { interpreter_of(file) } else { None };
    // SAFETY: closes the descriptor opened above.
    unsafe { sys::syscall!(libc::SYS_close, file) };
    let path = interpreter.as_ref().and_then(|place| CStr::from_bytes_until_nul(&place[..]).ok());
    // The set-user-ID bit of a script has no effect: the script runs as the user who starts it.
    path.map_or(fate, |path| fate_of(libc::AT_FDCWD, path, scripts - 1))
}

/// Returns the path of a script's interpreter, NUL-terminated (execve(2), "Interpreter scripts").
fn interpreter_of(script: c_int) -> Option<Loan> {
    let mut place = Loan::take()?;
    // SAFETY: the buffer is on loan to this call; its last byte stays free.
    let length = unsafe { sys::syscall!(libc::SYS_pread64, script, place.as_mut_ptr(), place.len() - 1, 2_u64) };
    let text = place.get(..usize::try_from(length).ok()?)?;
    let from = text.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let bytes =
        text[from..].iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\n' | 0)).unwrap_or(text.len() - from);
    place.copy_within(from..from + bytes, 0);
    place[bytes] = 0;
    Some(place)
}

/// True if the file is set-user-ID or set-group-ID to a user or group other than the current one.
fn takes_another_user(file: c_int) -> bool {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is a local variable.
    if unsafe { sys::syscall!(libc::SYS_fstat, file, &raw mut stat) } != 0
        || stat.st_mode & libc::S_IFMT != libc::S_IFREG
    {
        return false;
    }
    // SAFETY: no preconditions.
    let user = unsafe { sys::syscall!(libc::SYS_getuid) };
    // SAFETY: no preconditions.
    let group = unsafe { sys::syscall!(libc::SYS_getgid) };
    stat.st_mode & libc::S_ISUID != 0 && i64::from(stat.st_uid) != user
        || stat.st_mode & libc::S_ISGID != 0 && i64::from(stat.st_gid) != group
}

/// Determines from the ELF header `head` if a program can be traced (ELF, chapter 5).
fn fate_of_program(file: c_int, head: &[u8; HEAD_BYTES]) -> Fate {
    // Check the magic number and the class: 1 for 32 bits, 2 for 64 bits.
    match (&head[..5], IS_LOADED) {
        (b"\x7fELF\x02", _) => {}
        // A 32-bit program without a dynamic linker ignores LD_PRELOAD anyway.
        (b"\x7fELF\x01", true) => return Fate::Foreign,
        _ => return Fate::Traced,
    }
    let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let at = u64::from_le_bytes(std::array::from_fn(|i| head[32 + i]));
    let (size, count) = (number(54), number(56));
    if size != HEADER_BYTES || count == 0 || count > MOST_HEADERS {
        return Fate::Traced;
    }
    let Some(mut headers) = Loan::take() else { return Fate::Traced };
    let headers = &mut headers[..count * HEADER_BYTES];
    if !read(file, at, headers) {
        return Fate::Traced;
    }
    let asks = |header: &&[u8]| header[..4] == libc::PT_INTERP.to_le_bytes();
    match headers.chunks(HEADER_BYTES).find(asks) {
        Some(header) if IS_LOADED && asks_for_another_linker(file, header) => Fate::Foreign,
        Some(_) => Fate::Traced,
        None if headers.chunks(HEADER_BYTES).any(|header| is_note_of_tracer(file, header)) => Fate::Traced,
        None => Fate::Untraceable,
    }
}

/// True if this tracer is a preloaded library; false if it is linked into the program.
const IS_LOADED: bool = cfg!(not(dxt_static));

/// True if the program header `header` of the ELF file open as `file` names an existing dynamic linker that differs from this process's.
fn asks_for_another_linker(file: c_int, header: &[u8]) -> bool {
    let Some((place, length)) = content_of(file, header) else { return false };
    let Ok(wanted) = CStr::from_bytes_with_nul(&place[..length]) else { return false };
    let Some(own) = own_linker() else { return false };
    wanted != own && matches!((identity(wanted), identity(own)), (Some(wanted), Some(own)) if wanted != own)
}

/// Returns the path of this process's dynamic linker (getauxval(3), AT_BASE); `None` if unknown.
fn own_linker() -> Option<&'static CStr> {
    #[cfg(not(dxt_static))]
    {
        // SAFETY: no preconditions.
        let base = unsafe { libc::getauxval(libc::AT_BASE) };
        let base =
            std::ptr::without_provenance::<std::ffi::c_void>(usize::try_from(base).ok().filter(|base| *base != 0)?);
        crate::real::object_path(base)
    }
    #[cfg(dxt_static)]
    None
}

fn identity(path: &CStr) -> Option<(u64, u64)> {
    // SAFETY: an all-zero stat is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends in NUL, and the structure is a local variable.
    let known = unsafe { sys::syscall!(libc::SYS_newfstatat, libc::AT_FDCWD, path.as_ptr(), &raw mut stat, 0) } == 0;
    known.then_some((stat.st_dev, stat.st_ino))
}

/// True if the program header `header` of the ELF file open as `file` holds the ELF note that marks a linked-in tracer. Linkers write notes
/// of some hundred bytes.
fn is_note_of_tracer(file: c_int, header: &[u8]) -> bool {
    header[..4] == libc::PT_NOTE.to_le_bytes()
        && content_of(file, header)
            .is_some_and(|(place, length)| place[..length].windows(LINKED_NOTE.len()).any(|part| part == LINKED_NOTE))
}

/// Returns the file content to which a program header points, and its length in bytes; `None` if the content does not fit the buffer.
fn content_of(file: c_int, header: &[u8]) -> Option<(Loan, usize)> {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let (offset, length) = (word(8), usize::try_from(word(32)).ok()?);
    let mut place = Loan::take()?;
    let bytes = place.get_mut(..length)?;
    read(file, offset, bytes).then_some((place, length))
}

/// Fills `into` with file content from offset `at`; returns false if fewer bytes are available.
fn read(file: c_int, at: u64, into: &mut [u8]) -> bool {
    // SAFETY: the buffer is a Rust slice.
    let length = unsafe { sys::syscall!(libc::SYS_pread64, file, into.as_mut_ptr(), into.len(), at) };
    usize::try_from(length) == Ok(into.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn dynamic_programs_are_traceable() {
        let here = |path: &CStr| fate_of(libc::AT_FDCWD, path, MOST_SCRIPTS);
        for path in [c"/bin/sh", c"/", c"/no/such/file"] {
            assert_eq!(here(path), Fate::Traced, "{path:?}");
        }
        let found = [c"sh", c"no-such-program", c""].map(|name| with_found(name, here));
        assert_eq!(found, [Some(Fate::Traced), None, None]);
        for (number, file) in (0..40).map(|_| std::fs::File::open("/bin/sh").unwrap()).enumerate() {
            assert_eq!(look_at_open(std::os::fd::AsRawFd::as_raw_fd(&file)), Fate::Traced, "{number}");
        }
        assert_eq!((look_at_open(-1), look_at_open(i32::MAX)), (Fate::Traced, Fate::Traced));
        assert!(is_dynamic_linker(b"/lib64/ld-linux-x86-64.so.2") && !is_dynamic_linker(b"/lib64/program"));
    }

    #[test]
    fn interpreters_of_scripts_are_followed() {
        let directory = std::env::temp_dir().join(format!("dxt-scripts-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let path = |name: &str| CString::new(directory.join(name).into_os_string().into_encoded_bytes()).unwrap();
        let mut of_32_bits = [0_u8; 64];
        of_32_bits[..5].copy_from_slice(b"\x7fELF\x01");
        std::fs::write(directory.join("foreign"), of_32_bits).unwrap();
        for (name, text) in [("a", "#! /bin/sh -e\n".to_owned()), ("loop", "#!loop".to_owned())] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        for (name, interpreter) in [("one", "foreign"), ("two", "one"), ("itself", "itself")] {
            let text = format!("#! \t{} -x\n", directory.join(interpreter).display());
            std::fs::write(directory.join(name), text).unwrap();
        }
        let fates =
            ["a", "loop", "one", "two", "itself"].map(|name| fate_of(libc::AT_FDCWD, &path(name), MOST_SCRIPTS));
        let (traced, foreign) = (Fate::Traced, Fate::Foreign);
        assert_eq!(fates, [traced, traced, foreign, foreign, traced]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
