//! Opens all input files of the analyzer. Only regular files are opened: opening a FIFO blocks until its other end is opened, and reading a
//! device may never end. Sparse files may have holes of terabytes, so only bytes outside holes are counted.

use rustix::fs::{Mode, OFlags, SeekFrom, open as open_as, seek};
use rustix::io::Errno;
use std::fs::{File, FileType, Metadata};
use std::io::{Error, ErrorKind, Read, Result};
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use trace_format::read::Source;

/// Opens the regular file `path`, without blocking.
///
/// Returns the system's error, or an error that states the type of `path` if it is not a regular file.
pub fn open(path: &Path) -> Result<File> {
    opened(path, OFlags::empty())
}

/// Opens a file like [`open`], but does not follow a symbolic link (`ELOOP`).
pub fn open_no_link(path: &Path) -> Result<File> {
    opened(path, OFlags::NOFOLLOW)
}

/// Opens a trace like [`open`] and notes its access rights: files derived from the trace get no further rights, see [`rights`].
pub fn open_trace(path: &Path) -> Result<File> {
    let file = open(path)?;
    note(&file.metadata()?);
    Ok(file)
}

fn opened(path: &Path, more: OFlags) -> Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let file: File = match open_as(path, flags, Mode::empty()) {
        Ok(file) => file.into(),
        // Sockets, and devices without a driver.
        Err(error @ (Errno::NXIO | Errno::NODEV)) => {
            return Err(path.metadata().map_or(error.into(), |about| no_file(about.file_type())));
        }
        Err(error) => return Err(error.into()),
    };
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(no_file(kind)) }
}

fn no_file(kind: FileType) -> Error {
    let (what, help) = match kind {
        kind if kind.is_fifo() => ("a FIFO", "; read its data with `-` or <(...)"),
        kind if kind.is_socket() => ("a socket", ""),
        kind if kind.is_char_device() => ("a character device", ""),
        kind if kind.is_block_device() => ("a block device", ""),
        kind if kind.is_dir() => ("a directory", ""),
        _ => ("something else", ""),
    };
    Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a regular file{help}"))
}

/// Access rights for derived files: the rights that all traces read so far have in common, excluding execute permission.
static RIGHTS: Mutex<Option<Rights>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Rights {
    mode: u32,
    /// Group that owns all files read so far; `None` if the files have different groups.
    group: Option<u32>,
}

/// Restricts [`RIGHTS`] to the access rights of an input file with the metadata `about`.
pub fn note(about: &Metadata) {
    // A file without links is a copy of a pipe; the access rights of the original are unknown.
    if about.nlink() == 0 {
        return;
    }
    let mut rights = RIGHTS.lock().unwrap_or_else(PoisonError::into_inner);
    let (mode, group) = (about.mode() & 0o666, about.gid());
    *rights = Some(match *rights {
        None => Rights { mode, group: Some(group) },
        Some(known) => Rights { mode: mode & known.mode, group: known.group.filter(|known| *known == group) },
    });
}

/// Makes all files that this process writes from now on accessible to its user only.
pub fn keep_private() {
    *RIGHTS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Rights { mode: 0o600, group: None });
}

/// Returns the permission bits for a derived file that `group` owns; `None` if no trace was read.
pub fn rights(group: u32) -> Option<u32> {
    let rights = (*RIGHTS.lock().unwrap_or_else(PoisonError::into_inner))?;
    // A group other than that of the traces gets the rights that the traces give to other users.
    let of_group = if rights.group == Some(group) { 0o060 } else { (rights.mode & 0o006) << 3 };
    // The owner can always read and write.
    Some(0o600 | rights.mode & (0o006 | of_group))
}

/// Maximum number of data extents (ranges between holes) of a file that are counted; all bytes after them count as data, including holes.
const PIECES: usize = 1 << 12;

/// Returns the number of bytes of a file outside holes.
pub fn data_bytes(file: &File) -> Result<u64> {
    let size = file.metadata()?.len();
    let (mut at, mut bytes) = (0, 0_u64);
    for _ in 0..PIECES {
        let Some(next) = stored(file, at)? else { return Ok(bytes) };
        bytes += next.end - next.start.max(at);
        at = next.end;
    }
    Ok(bytes + size.saturating_sub(at))
}

/// Returns the byte range of the first data extent of `file` at or after `offset`; `None` if only a hole follows.
pub fn stored(file: &File, offset: u64) -> Result<Option<Range<u64>>> {
    let size = file.metadata()?.len();
    match seek(file, SeekFrom::Data(offset)) {
        Ok(from) => Ok(Some(from..seek(file, SeekFrom::Hole(from)).unwrap_or(size))),
        Err(Errno::NXIO) => Ok(None),
        // The file system does not support SEEK_DATA, so the whole file counts as data.
        Err(_) => Ok((offset < size).then_some(offset..size)),
    }
}

/// File whose bytes several threads can read at explicit offsets (`pread`).
#[derive(Debug)]
pub struct Bytes(pub File);

impl Source for Bytes {
    fn size(&self) -> Result<u64> {
        self.0.metadata().map(|about| about.len())
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn allocated(&self) -> Result<u64> {
        self.0.metadata().map(|about| about.blocks().saturating_mul(512))
    }

    fn stored(&self, offset: u64) -> Result<Option<Range<u64>>> {
        stored(&self.0, offset)
    }
}

/// Sequential reader of a file's data that skips holes.
pub struct Data {
    file: File,
    at: u64,
    until: u64,
}

impl Data {
    /// Creates a reader that starts at the beginning of `file`.
    pub const fn new(file: File) -> Self {
        Self { file, at: 0, until: 0 }
    }
}

impl Read for Data {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.at >= self.until {
            let Some(next) = stored(&self.file, self.at)? else { return Ok(0) };
            (self.at, self.until) = (next.start.max(self.at), next.end);
        }
        let most = buffer.len().min(usize::try_from(self.until - self.at).unwrap_or(usize::MAX));
        let read = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType as Kind, mknodat};
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_regular_files_are_opened_and_nobody_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        mknodat(CWD, at("pipe"), Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("link-to-pipe")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(open(&at("file")).is_ok() && open(&at("link")).is_ok() && open_no_link(&at("link")).is_err());
        let devices = ["/dev/null", "/dev/zero", "/dev/tty"].map(|path| (path.into(), "character device"));
        let others = [("pipe", "FIFO"), ("link-to-pipe", "FIFO"), ("socket", "socket"), (".", "directory")];
        for (path, what) in others.map(|(name, what)| (at(name), what)).into_iter().chain(devices) {
            // Without a controlling terminal, opening /dev/tty fails with another error.
            let why = open(&path).unwrap_err();
            assert!(why.to_string().contains(what) || path.ends_with("tty"), "{path:?}: {why}");
        }
    }

    #[test]
    fn holes_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("file")).unwrap();
        file.set_len(1 << 40).unwrap();
        file.write_all_at(b"one", 0).unwrap();
        file.write_all_at(b"two", 1 << 39).unwrap();
        assert!(data_bytes(&file).unwrap() <= 1 << 20);
        let mut all = Vec::new();
        Data::new(open(&folder.path().join("file")).unwrap()).read_to_end(&mut all).unwrap();
        all.retain(|byte| *byte != 0);
        assert_eq!(all, b"onetwo");
    }
}
