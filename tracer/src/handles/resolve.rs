//! Resolves a descriptor or a path to a file record: decides which files are recorded, under which canonical path, and counts the others.
#![expect(unsafe_code, reason = "readlink(2), lseek(2), fcntl(2), getcwd(2)")]

use super::canonical_name::{self, Answer, Asked};
use super::description::{self, Description, Position};
use super::descriptors::{self, Known, Unasked};
use super::manner::Manner;
use super::tables;
use super::target::Target;
use crate::file_status::{self, FileStatus};
use crate::memory::Loan;
use crate::notes::Note;
use crate::registry::{self, File, Identity, Verdict};
use crate::{errno, threads, tls};
use trace_format::meta::{FileKind, LayoutMoment};

/// Maximum length of a path that the kernel returns (PATH_MAX), in bytes.
pub(crate) const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// Finds or creates the file record for `number`, a descriptor that the program has just opened with the flags `manner`, and enters the
/// descriptor in the table; `None` if the file is not recorded. `asked` has the arguments of the open call, if known. May change errno.
pub(crate) fn opened(number: libc::c_int, asked: Option<Asked>, manner: Manner) -> Option<Opened> {
    let made = descriptors::made(number);
    let found = opened_file(number, asked);
    let position = found.map_or(Position::None, |(_, kind)| position_kind(kind));
    let description = descriptors::open(number, made, found.map(|(file, _)| file), position, manner, 0)?;
    let (file, _) = found?;
    registry::read_layout(file, number, LayoutMoment::Open);
    Some(Opened { file, description })
}

/// File that a call has just opened, and its open file description.
#[derive(Clone, Copy)]
pub(crate) struct Opened {
    pub(crate) file: &'static File,
    pub(crate) description: &'static Description,
}

/// Returns the recorded file to which the descriptor `number` refers, and its type (regular file, device).
fn opened_file(number: libc::c_int, asked: Option<Asked>) -> Option<(&'static File, FileKind)> {
    if crate::sys::is_shut() {
        // System calls are forbidden here, so the type of file cannot be queried. The descriptor was just opened: most are regular files.
        let unknown = Identity { kind: FileKind::Regular, ..Identity::default() };
        return file_of(&nameless(0, 0), unknown).map(|file| (file, unknown.kind));
    }
    let (stat, later) = match asked.filter(|asked| !asked.name.is_null()) {
        None => (stat(number)?, None),
        Some(asked) => match canonical_name::file(number, asked) {
            Answer::File(file, kind) => return Some((file, kind)),
            Answer::NotRecorded => return None,
            Answer::Ask(stat, later) => (stat, Some(later)),
        },
    };
    let file = asked_of_kernel(number, &stat)?;
    if let Some(later) = later {
        later.learn(&stat, file);
    }
    Some((file, stat.identity.kind))
}

/// Reads the layouts (striping) of recorded files that are still open, just before the trace is written. Changes errno.
pub(crate) fn read_layouts_again() {
    descriptors::each_open(|number, file| {
        if !file.has_layouts() {
            return;
        }
        // The number may refer to another file by now.
        let known = file.identity.get();
        if stat(number)
            .is_some_and(|found| (found.identity.device, found.identity.inode) == (known.device, known.inode))
        {
            registry::read_layout(file, number, LayoutMoment::Close);
        }
    });
}

fn position_kind(kind: FileKind) -> Position {
    if kind == FileKind::Character { Position::None } else { Position::Followed }
}

/// Returns the target (file and file position) of calls on descriptor `number`; `None` if its file is not recorded. An unknown number is
/// looked up in the kernel.
#[inline(always)]
pub(crate) fn descriptor(number: libc::c_int) -> Option<Target> {
    let seen = descriptors::changes();
    match descriptors::known(number) {
        Known::Recorded(description) => Some(Target::new(description, number, seen)),
        Known::NotRecorded => None,
        Known::Nothing => inherited(number, seen),
        Known::Elsewhere => elsewhere(number),
    }
}

/// Returns the target of a call in a thread with a descriptor table of its own: its file is unknown, since the tracer follows only the
/// process's table. Preserves errno.
#[cold]
fn elsewhere(number: libc::c_int) -> Option<Target> {
    tables::file_elsewhere(number).map(|_| Target::uncertain(number))
}

/// Maximum number of look-ups of a number that another thread is changing. The change takes less than a microsecond unless the other thread
/// waits for this processor. So this thread sleeps after every [`LOOKS_AT_ONCE`] look-ups: some 0.2 ms in all, since the kernel extends
/// each sleep by 50 µs (timer slack, prctl(2)).
const LOOKS: u32 = 40;
const LOOKS_AT_ONCE: u32 = 10;

/// Looks up descriptor `number`, whose opening the tracer did not see, in the kernel. `seen`: number of descriptor changes before the
/// look-up. Preserves errno.
#[cold]
fn inherited(number: libc::c_int, mut seen: u64) -> Option<Target> {
    if crate::sys::is_shut() {
        Note::BehindFilter.count();
        return None;
    }
    for look in 1..=LOOKS {
        let errno = errno::save();
        let asked = descriptors::ask(number).map(|before| tls::current().while_busy(|| look_at(number, before)));
        errno.restore();
        match asked {
            Some(Looked::Recorded(description)) => return Some(Target::new(description, number, seen)),
            Some(Looked::NotRecorded) => return None,
            Some(Looked::NotOpen) => return Some(Target::not_open()),
            // Other threads change or look up the number at the same time.
            Some(Looked::Changed) | None => {}
        }
        seen = descriptors::changes();
        match descriptors::known(number) {
            Known::Recorded(description) => return Some(Target::new(description, number, seen)),
            Known::NotRecorded => return None,
            Known::Elsewhere => break,
            Known::Nothing if look % LOOKS_AT_ONCE == 0 => threads::pause(1_000),
            Known::Nothing => std::hint::spin_loop(),
        }
    }
    Some(Target::uncertain(number))
}

/// Result of asking the kernel to which file an unknown descriptor number refers.
enum Looked {
    Recorded(&'static Description),
    NotRecorded,
    NotOpen,
    /// The descriptor number was changed by another thread while the kernel was asked.
    Changed,
}

/// Asks the kernel about the descriptor `number` and enters the answer in the table. Changes errno.
fn look_at(number: libc::c_int, before: Unasked) -> Looked {
    // SAFETY: asks for flags; fails on a number that is not open.
    let flags = unsafe { crate::sys::syscall!(libc::SYS_fcntl, number, libc::F_GETFL) };
    if flags < 0 {
        return Looked::NotOpen;
    }
    let found = opened_file(number, None);
    // SAFETY: asks for the position; moves nothing.
    let at = unsafe { crate::sys::syscall!(libc::SYS_lseek, number, 0_i64, libc::SEEK_CUR) };
    let manner = Manner::of_opening(flags as i32);
    let description = found.and_then(|(file, kind)| description::new(file, position_kind(kind), manner, at.max(0)));
    // The creator of the descriptor may have passed it to other processes or duplicated it.
    description.into_iter().for_each(Description::share_with_others);
    match (descriptors::book(number, before, description), description.zip(found)) {
        (false, _) => Looked::Changed,
        (true, None) => Looked::NotRecorded,
        (true, Some((description, (file, _)))) => {
            registry::read_layout(file, number, LayoutMoment::Open);
            Looked::Recorded(description)
        }
    }
}

/// Returns the file record for this path; `None` if the filters leave the file out, which is then counted.
pub(crate) fn file_of(path: &[u8], identity: Identity) -> Option<&'static File> {
    let why_not = match registry::judge(path) {
        Verdict::Recorded => None,
        Verdict::System => Some(Note::SystemFile),
        Verdict::MpiInternal => Some(Note::MpiFile),
        Verdict::Excluded => Some(Note::Excluded),
        Verdict::NotIncluded => Some(Note::NotIncluded),
    };
    if let Some(why_not) = why_not {
        why_not.count();
        return None;
    }
    let file = registry::find_or_add(path, identity);
    if file.is_none() {
        Note::FileTableFull.count();
    }
    file
}

/// Properties of an open file that the tracer uses.
pub(super) struct Stat {
    pub(super) identity: Identity,
    pub(super) links: u64,
    /// Time of the file's last inode change (ctime): [seconds, nanoseconds].
    pub(super) changed: [u64; 2],
}

/// Returns the properties of `number`; `None` unless it is a regular file or a device (directories, pipes and sockets are not recorded).
pub(super) fn stat(number: libc::c_int) -> Option<Stat> {
    let FileStatus { device, inode, mode, links, block_size, changed, .. } = file_status::of(number)?;
    let kind = match mode & libc::S_IFMT {
        libc::S_IFREG => FileKind::Regular,
        libc::S_IFBLK => FileKind::Block,
        libc::S_IFCHR => FileKind::Character,
        _ => return None,
    };
    Some(Stat { identity: Identity { kind, device, inode, block_size }, links, changed })
}

/// Returns the recorded file to which `number` refers, by the name that the kernel reports. Changes errno.
#[cold]
#[inline(never)]
fn asked_of_kernel(number: libc::c_int, stat: &Stat) -> Option<&'static File> {
    let mut link = [0_u8; 40];
    let name = link_of(number, &mut link);
    let Some(mut path) = Loan::take() else {
        Note::FileTableFull.count();
        return None;
    };
    // SAFETY: the name ends in NUL, and the buffer is on loan to this call.
    let length =
        unsafe { crate::sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, name, path.as_mut_ptr(), PATH_BYTES) };
    let length = usize::try_from(length).ok().filter(|length| *length < PATH_BYTES && path[0] == b'/');
    match length {
        Some(length) => file_of(&path[..length], stat.identity),
        // The name is unknown without proc(5), in a changed root directory, or beyond PATH_MAX. The file is still recorded, by its inode.
        None => file_of(&nameless(stat.identity.device, stat.identity.inode), stat.identity),
    }
}

/// Length in bytes of a path that [`nameless`] makes.
const NAMELESS_BYTES: usize = 45;

/// Returns a substitute path for a file whose name is unknown: `/.dev/<device>/inode/<number>`, both in hexadecimal.
fn nameless(device: u64, inode: u64) -> [u8; NAMELESS_BYTES] {
    let mut path = [0; NAMELESS_BYTES];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"/.dev/");
    put(&hexadecimal(device));
    put(b"/inode/");
    put(&hexadecimal(inode));
    path
}

fn hexadecimal(number: u64) -> [u8; 16] {
    std::array::from_fn(|i| b"0123456789abcdef"[(number >> (60 - 4 * i)) as usize & 15])
}

/// Writes `/proc/thread-self/fd/<number>`, NUL-terminated, to `buffer`. `/proc/self` is empty once the main thread has called pthread_exit(3).
pub(super) fn link_of(number: libc::c_int, buffer: &mut [u8; 40]) -> *const u8 {
    let prefix = b"/proc/thread-self/fd/";
    buffer[..prefix.len()].copy_from_slice(prefix);
    let mut digits = [0_u8; 10];
    let (mut rest, mut count) = (number.unsigned_abs(), 0);
    loop {
        digits[count] = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    for (i, digit) in digits[..count].iter().rev().enumerate() {
        buffer[prefix.len() + i] = *digit;
    }
    buffer.as_ptr()
}

/// Returns the canonical form of `path`; `None` if the path does not exist. Called by the library's constructor.
pub(crate) fn real_path(path: &[u8]) -> Option<Vec<u8>> {
    let path = std::ffi::CString::new(path).ok()?;
    let mut out = [0_u8; PATH_BYTES];
    // SAFETY: `out` has PATH_MAX bytes, as realpath(3) requires.
    let found = unsafe { libc::realpath(path.as_ptr(), out.as_mut_ptr().cast()) };
    let end = out.iter().position(|&byte| byte == 0).filter(|_| !found.is_null())?;
    Some(out[..end].to_vec())
}

/// Writes the canonical absolute path of `name`, a file known only by name (MPI_File_open), to `out` and returns its length. Opens nothing:
/// uses the name under which the program has just opened the file, else realpath(3) if the file exists, else appends the name to the working
/// directory.
pub(crate) fn canonical_path(name: &std::ffi::CStr, out: &mut [u8; PATH_BYTES]) -> usize {
    if let Some(length) = canonical_name::known_path(name.to_bytes(), out) {
        return length;
    }
    out.fill(0);
    // SAFETY: `out` has PATH_MAX bytes, as realpath(3) requires.
    let found = unsafe { libc::realpath(name.as_ptr(), out.as_mut_ptr().cast()) };
    let mut length = 0;
    if found.is_null() {
        out.fill(0);
        if !name.to_bytes().starts_with(b"/") {
            // SAFETY: the buffer has `PATH_BYTES` bytes; the system call's result counts the NUL.
            let cwd = unsafe { crate::sys::syscall!(libc::SYS_getcwd, out.as_mut_ptr(), PATH_BYTES) };
            length = usize::try_from(cwd - 1).unwrap_or(0).min(PATH_BYTES - 1);
            out[length] = b'/';
            length += 1;
        }
        let room = PATH_BYTES - length;
        let taken = name.to_bytes().len().min(room);
        out[length..length + taken].copy_from_slice(&name.to_bytes()[..taken]);
        length += taken;
    } else {
        length += out.iter().position(|&byte| byte == 0).unwrap_or(0);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_name_have_a_number() {
        let path = nameless(0x801, u64::MAX);
        let text = std::str::from_utf8(&path).unwrap();
        assert_eq!(text, "/.dev/0000000000000801/inode/ffffffffffffffff");
    }

    #[test]
    fn descriptors_are_named() {
        for number in [0, 7, 10, 1_048_575] {
            let mut buffer = [0; 40];
            link_of(number, &mut buffer);
            let text = std::str::from_utf8(&buffer).unwrap().trim_end_matches('\0');
            assert_eq!(text, format!("/proc/thread-self/fd/{number}"));
        }
    }
}
