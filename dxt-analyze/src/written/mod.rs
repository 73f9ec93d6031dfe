//! Where results go that a user names a file for: the only place that creates or replaces such a file.
//!
//! * What is there already is replaced if it is empty or was made for the same purpose ([`Ours`]), else with `--force` only.
//! * A file is written beside its place, under a name that nobody can foresee, and renamed when it is whole.
//! * Nothing is written through a symbolic link: it is refused, and `--force` replaces the link, not what it points to.
//! * Standard output, pipes and character devices are written as they are; block devices and sockets are refused.

mod ours;

pub(crate) use ours::{ADVICE, Ours, is_partition};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{File, Metadata, Permissions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use tempfile::{Builder, TempDir};

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 20;

/// A place that the user named.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    path: &'a Path,
    ours: Ours,
    force: bool,
    rights: u32,
    /// Whether the umask takes nothing of them.
    is_given: bool,
}

/// What is at a place where a file may be written.
enum Standing {
    Nothing,
    /// A file or link that may be replaced; the access rights of a file stay.
    Replaceable(Option<Permissions>),
}

impl<'a> Target<'a> {
    /// `path`, at which what is `ours` may be replaced, and with `force` any file.
    pub(crate) fn new(path: &'a Path, ours: Ours, force: bool) -> Self {
        Self { path, ours, force, rights: 0o666, is_given: false }
    }

    /// The permissions of a new file, whatever the umask.
    pub(crate) const fn with_rights(self, rights: u32) -> Self {
        Self { rights, is_given: true, ..self }
    }

    /// Lets `fill` write what goes there, from its beginning to its end.
    pub(crate) fn stream<T>(&self, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
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

    /// Lets `fill` write a file in which it may go back: for forms whose beginning is written last.
    pub(crate) fn file<T>(&self, fill: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
        // Before anything is read or written: an answer that comes after minutes helps nobody.
        self.check()?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let made = named().permissions(Permissions::from_mode(self.rights)).tempfile_in(folder);
        let mut made = made.with_context(|| self.failed())?;
        if self.is_given {
            made.as_file().set_permissions(Permissions::from_mode(self.rights)).with_context(|| self.failed())?;
        }
        let done = fill(made.as_file_mut())?;
        made.as_file().sync_all().with_context(|| self.failed())?;
        self.take(made.path())?;
        Ok(done)
    }

    /// [`Self::check`] before the work whose result goes into [`Self::stream`].
    pub(crate) fn check_early(&self) -> Result<()> {
        if self.flows() { Ok(()) } else { self.check() }
    }

    /// Fails if what is at the place must stay.
    pub(crate) fn check(&self) -> Result<()> {
        self.standing().map(|_| ()).with_context(|| self.failed())
    }

    /// Gives the whole file `from` its name.
    pub(crate) fn take(&self, from: &Path) -> Result<()> {
        let moved = || match self.standing()? {
            Standing::Nothing => rename_to_nothing(from, self.path),
            Standing::Replaceable(rights) => {
                rights.map_or(Ok(()), |rights| std::fs::set_permissions(from, rights))?;
                Ok(std::fs::rename(from, self.path)?)
            }
        };
        moved().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("failed to write {}", self.path.display())
    }

    /// The place, if it is no file but something that bytes flow through.
    fn channel(&self) -> Result<Option<File>> {
        // The descriptor itself, with its position: opened anew, a file behind it would be written from its beginning.
        match own_descriptor(self.path) {
            Some(1) => return Ok(Some(File::from(std::io::stdout().as_fd().try_clone_to_owned()?))),
            Some(_) => return Ok(Some(File::from(std::io::stderr().as_fd().try_clone_to_owned()?))),
            None => {}
        }
        if !self.flows() {
            return Ok(None);
        }
        let file = File::options().write(true).open(self.path)?;
        ensure!(flows(&file.metadata()?), "it has become something else meanwhile");
        Ok(Some(file))
    }

    fn flows(&self) -> bool {
        own_descriptor(self.path).is_some() || std::fs::metadata(self.path).is_ok_and(|about| flows(&about))
    }

    fn standing(&self) -> Result<Standing> {
        ensure!(
            self.path != Path::new("-"),
            "- is no standard output here: name /dev/stdout, or ./- for a file of that name"
        );
        let about = match std::fs::symlink_metadata(self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Standing::Nothing),
            Err(error) => return Err(error.into()),
        };
        ensure!(!std::fs::metadata(self.path).is_ok_and(|about| about.is_dir()), "it is a directory");
        ensure!(!self.flows(), "this form needs a file, in which it can go back");
        if about.is_symlink() {
            // Names of descriptors, as /dev/stdin: not even with --force may they become files.
            let is_descriptor = std::fs::read_link(self.path).is_ok_and(|behind| behind.starts_with("/proc"));
            ensure!(!is_descriptor, "it stands for an open file");
            ensure!(self.force, "it is a symbolic link; --force replaces the link, not the file behind it");
            return Ok(Standing::Replaceable(None));
        }
        ensure!(about.is_file(), "it is no regular file");
        let replaceable = self.force || about.len() == 0 && self.ours != Ours::Never || self.ours.recognises(self.path);
        if !replaceable {
            bail!("it exists{}; --force replaces it", self.ours.otherwise());
        }
        Ok(Standing::Replaceable(Some(about.permissions())))
    }
}

/// 1 or 2, if `path` is a name of that descriptor.
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

/// A directory in `place` for files that will be moved out of it; it vanishes with what is left in it.
pub(crate) fn workshop(place: &Path) -> std::io::Result<TempDir> {
    named().permissions(Permissions::from_mode(0o700)).tempdir_in(place)
}

/// Has all files of a directory on the disk, and their names.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            File::open(path)?.sync_all()?;
        }
    }
    Ok(File::open(folder)?.sync_all()?)
}

fn named() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".dxt-").suffix(".partial").rand_bytes(12);
    builder
}

/// As rename(2), but nothing that has come to be at `to` is replaced.
fn rename_to_nothing(from: &Path, to: &Path) -> Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::EXIST) => bail!("another file has taken that name meanwhile; --force replaces it"),
        // File systems without that flag: what comes to be in this very moment is lost there.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            ensure!(std::fs::symlink_metadata(to).is_err(), "another file has taken that name; --force replaces it");
            Ok(std::fs::rename(from, to)?)
        }
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}

#[cfg(test)]
mod tests;
