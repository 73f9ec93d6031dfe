//! Output files that the user names. No other code creates or replaces such files.
//!
//! * An existing file is replaced if it is empty or was written for the same purpose ([`Ours`]), otherwise only with `--force`.
//! * A file is written in its destination's directory, under an unpredictable name, and renamed when complete.
//! * Nothing is written through a symbolic link: links are refused, and `--force` replaces the link, not its target.
//! * A file gets the access rights of the traces that it is derived from ([`access`]).
//! * Standard output, pipes and character devices are written directly; block devices and sockets are refused.

mod access;
mod own_files;

pub use access::{ask_for, create_new};
pub use own_files::{ADVICE, Ours, is_partition};

use crate::input;
use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, open, renameat_with};
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::{Builder, TempDir};

const BUFFER: usize = 1 << 20;

/// Output path given by the user, with the rules for replacing an existing file.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    path: &'a Path,
    ours: Ours,
    force: bool,
    /// Access rights of a new file, regardless of the umask; `None` for the default rights.
    rights: Option<u32>,
}

/// State of an output path: nothing exists there, or a file or link that may be replaced.
enum Standing {
    Nothing,
    /// File or link that may be replaced; for a file with its access rights, which the new file gets.
    Replaceable(Option<Permissions>),
}

impl<'a> Target<'a> {
    /// Creates a target at `path`. An existing file may be replaced if this program wrote it for the purpose `ours`, or with `force`.
    pub fn new(path: &'a Path, ours: Ours, force: bool) -> Self {
        Self { path, ours, force, rights: None }
    }

    /// Returns the target with fixed access rights for a new file, regardless of the umask.
    pub const fn with_rights(self, rights: u32) -> Self {
        Self { rights: Some(rights), ..self }
    }

    /// Writes the output by `fill`, sequentially. Existing files are replaced only if `fill` succeeds.
    pub fn stream<T>(&self, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
        let buffered = |file: &mut File| {
            let mut writer = BufWriter::with_capacity(BUFFER, file);
            let done = fill(&mut writer).with_context(|| self.failed())?;
            writer.flush().with_context(|| self.failed())?;
            Ok(done)
        };
        match self.channel().with_context(|| self.failed())? {
            Some(mut file) => buffered(&mut file),
            None => self.file(buffered),
        }
    }

    /// Writes the output by `fill`, which may seek, as for formats whose beginning is written last. Existing files are replaced only if
    /// `fill` succeeds.
    pub fn file<T>(&self, fill: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
        // Checked before `fill` runs, so that the user does not wait minutes for a refusal.
        self.check()?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let rights = self.rights.unwrap_or_else(|| access::initial(folder));
        let made = named().permissions(Permissions::from_mode(rights)).tempfile_in(folder);
        let mut made = made.with_context(|| self.failed())?;
        if let Some(rights) = self.rights {
            made.as_file().set_permissions(Permissions::from_mode(rights)).with_context(|| self.failed())?;
        }
        let done = fill(made.as_file_mut())?;
        made.as_file().sync_all().with_context(|| self.failed())?;
        self.take(made.path())?;
        Ok(done)
    }

    /// Fails if [`Self::stream`] would refuse to replace a file at the output path; called before long computations.
    pub fn check_early(&self) -> Result<()> {
        if self.flows() { Ok(()) } else { self.check() }
    }

    /// Fails if something at the path must not be replaced.
    pub fn check(&self) -> Result<()> {
        self.standing().map(|_| ()).with_context(|| self.failed())
    }

    /// Renames the complete file `from` to the output path.
    pub fn take(&self, from: &Path) -> Result<()> {
        let moved = || {
            let standing = self.standing()?;
            if let Standing::Replaceable(Some(rights)) = &standing {
                std::fs::set_permissions(from, rights.clone())?;
            }
            let settled = access::settled(&std::fs::symlink_metadata(from)?);
            std::fs::set_permissions(from, Permissions::from_mode(settled))?;
            match standing {
                Standing::Nothing => rename_to_nothing(from, self.path),
                Standing::Replaceable(_) => Ok(std::fs::rename(from, self.path)?),
            }
        };
        moved().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.path.display())
    }

    /// Opens the path if it is a stream (standard output, pipe, character device); returns `None` if it is a file.
    fn channel(&self) -> Result<Option<File>> {
        // Duplicates the descriptor, which keeps its file position: a file opened again by name would be overwritten from its start.
        match own_descriptor(self.path) {
            Some(1) => return Ok(Some(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))),
            Some(_) => return Ok(Some(File::from(std::io::stderr().as_fd().try_clone_to_owned()?))),
            None => {}
        }
        if !self.flows() {
            return Ok(None);
        }
        let file = File::options().write(true).open(self.path)?;
        ensure!(flows(&file.metadata()?), "another kind of file has replaced it");
        Ok(Some(file))
    }

    fn flows(&self) -> bool {
        own_descriptor(self.path).is_some() || std::fs::metadata(self.path).is_ok_and(|about| flows(&about))
    }

    fn standing(&self) -> Result<Standing> {
        ensure!(
            self.path != Path::new("-"),
            "- does not mean standard output here: name /dev/stdout, or ./- for a file of that name"
        );
        let about = match std::fs::symlink_metadata(self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Standing::Nothing),
            Err(error) => return Err(error.into()),
        };
        ensure!(!std::fs::metadata(self.path).is_ok_and(|about| about.is_dir()), "it is a directory");
        ensure!(!self.flows(), "this format needs a seekable file");
        if about.is_symlink() {
            // Names of descriptors, such as /dev/stdin, must not be replaced by files, even with --force.
            let is_descriptor = std::fs::read_link(self.path).is_ok_and(|behind| behind.starts_with("/proc"));
            ensure!(!is_descriptor, "it is the name of an open file descriptor");
            ensure!(self.force, "it is a symbolic link; --force replaces the link, not the file behind it");
            return Ok(Standing::Replaceable(None));
        }
        ensure!(about.is_file(), "it is not a regular file");
        let replaceable = self.force || about.len() == 0 && self.ours != Ours::Never || self.ours.recognises(self.path);
        if !replaceable {
            bail!("it exists{}; --force replaces it", self.ours.otherwise());
        }
        Ok(Standing::Replaceable(Some(about.permissions())))
    }
}

/// Returns 1 if `path` is a name of standard output, 2 if `path` is a name of standard error, else `None`.
fn own_descriptor(path: &Path) -> Option<u8> {
    match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(1),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(2),
        _ => None,
    }
}

fn flows(about: &Metadata) -> bool {
    about.file_type().is_char_device() || about.file_type().is_fifo()
}

/// Opens a file to which a process appends, also after a restart. The file must be new, or a regular file of this user and not a link; it
/// is not truncated. Standard output, pipes and character devices are opened unchanged.
pub fn growing(path: &Path) -> Result<File> {
    if let Some(file) = Target::new(path, Ours::Never, false).channel()? {
        return Ok(file);
    }
    let (file, about) = own_file(path)?;
    let (owner, user) = (about.uid(), rustix::process::geteuid().as_raw());
    ensure!(owner == user, "it belongs to user {owner}: name another file");
    Ok(file)
}

/// Opens a file that is used only for locking and may belong to another user; creates the file if missing.
pub fn lock_file(path: &Path) -> Result<File> {
    own_file(path).map(|(file, _)| file)
}

fn own_file(path: &Path) -> Result<(File, Metadata)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file: File = match open(path, flags, Mode::from_raw_mode(access::initial(folder))) {
        Ok(file) => file.into(),
        Err(Errno::LOOP) => bail!("it is a symbolic link: name the file itself"),
        Err(error) => return Err(std::io::Error::from(error).into()),
    };
    let about = file.metadata()?;
    ensure!(about.is_file(), "it is not a regular file");
    Ok((file, about))
}

/// Creates a temporary directory in `place` for files that will be moved elsewhere. Dropping the result removes the directory and its files.
pub fn workshop(place: &Path) -> std::io::Result<TempDir> {
    named().permissions(Permissions::from_mode(0o700)).tempdir_in(place)
}

/// Flushes all files of a directory and the directory itself to disk.
pub fn sync_folder(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            input::open_no_link(&entry.path())?.sync_all()?;
        }
    }
    Ok(File::open(folder)?.sync_all()?)
}

fn named() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".dxt-").suffix(".partial").rand_bytes(12);
    builder
}

/// Renames like rename(2), but never replaces a file at `to`.
pub fn rename_to_nothing(from: &Path, to: &Path) -> Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => bail!("another file has been created under that name; --force replaces it"),
        // The file system does not support RENAME_NOREPLACE. A file created at `to` between check and rename is lost.
        Err(Errno::INVAL | Errno::NOSYS) => {
            ensure!(
                std::fs::symlink_metadata(to).is_err(),
                "another file has been created under that name; --force replaces it"
            );
            Ok(std::fs::rename(from, to)?)
        }
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

#[cfg(test)]
mod tests;
