//! Files that recovery reads and writes. Spools lie where everybody may put files, so what is read has to be what it seems: a
//! regular file, not a link to one, of the user who asks (root may read everybody's). And what is written is new.

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, open, renameat_with};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file that may be trusted as far as its owner may.
pub(super) struct Owned {
    pub(super) file: File,
    /// User id of the owner.
    pub(super) owner: u32,
}

impl Owned {
    /// Opens it. No link is followed, nobody at the other end of a pipe is waited for.
    ///
    /// # Errors
    /// If it cannot be opened, is no regular file, or belongs to another user.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = match open(path, flags, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::LOOP) => bail!("it is a symbolic link: name the file itself"),
            Err(error) => return Err(anyhow::Error::new(error).context("failed to open it")),
        };
        let about = file.metadata().context("failed to look at it")?;
        if !about.is_file() {
            bail!("it is no regular file");
        }
        let (owner, user) = (about.uid(), own_user());
        if owner != user && user != 0 {
            bail!("it belongs to user {owner}: only that user, or root, can say whether it is to be trusted");
        }
        Ok(Self { file, owner })
    }
}

/// User id of this process.
pub(super) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Writes a new file that appears whole under the name `path`. If that is taken, `replaces` says whether what is there may
/// be replaced; else the first of `others` that is free is taken. Returns the name taken.
///
/// # Errors
/// If it cannot be written, or no name is free.
pub(super) fn write_new(
    path: &Path,
    bytes: &[u8],
    replaces: impl Fn(&Path) -> bool,
    others: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf> {
    let (partial, mut file) = unfinished(path)?;
    let named = file.write_all(bytes).map_err(anyhow::Error::new).and_then(|()| {
        drop(file);
        if replaces(path) {
            std::fs::rename(&partial, path)?;
            return Ok(path.to_owned());
        }
        for name in std::iter::once(path.to_owned()).chain(others) {
            match rename_unless_there(&partial, &name) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| name).map_err(anyhow::Error::new),
            }
        }
        bail!("there is another file of that name")
    });
    if named.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    named
}

/// A new file beside `path`, with a name that nobody can guess.
fn unfinished(path: &Path) -> Result<(PathBuf, File)> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let partial = path.with_extension(format!("{:016x}.dxt.partial", u64::from_ne_bytes(random)));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(&partial, flags, Mode::RUSR | Mode::WUSR)?;
    Ok((partial, file.into()))
}

fn rename_unless_there(from: &Path, to: &Path) -> std::io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        result => result.map_err(std::io::Error::from),
    }
}

/// Whether `path` is a trace of this user's own.
pub(super) fn is_own_trace(path: &Path) -> bool {
    let mut magic = [0; trace_format::frame::MAGIC.len()];
    let own = Owned::open(path).ok().filter(|file| file.owner == own_user());
    own.is_some_and(|own| own.file.read_exact_at(&mut magic, 0).is_ok() && magic == trace_format::frame::MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_not_what_it_seems_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        symlink(at("file"), at("link")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(Owned::open(&at("file")).unwrap().owner, own_user());
        let why = |name: &str| format!("{:#}", Owned::open(&at(name)).err().unwrap());
        assert!(why("link").contains("symbolic link"));
        assert!(why("pipe").contains("no regular file"));
        assert!(why(".").contains("no regular file"));
        assert!(why("nothing").contains("No such file"));
    }

    #[test]
    fn what_is_written_replaces_nothing_that_is_not_a_trace_of_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str| write_new(&at(name), b"new", is_own_trace, [at("second"), at("third")].into_iter());
        std::fs::write(at("precious"), "precious").unwrap();
        std::fs::write(at("second"), "other").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        assert_eq!(write("link").unwrap(), at("third"));
        assert!(write("precious").is_err());
        assert_eq!(std::fs::read(at("precious")).unwrap(), b"precious");
        std::fs::write(at("own"), trace_format::frame::MAGIC).unwrap();
        assert_eq!(write("own").unwrap(), at("own"));
        assert_eq!(write("free").unwrap(), at("free"));
        assert_eq!(std::fs::read(at("own")).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6, "nothing unfinished is left");
    }
}
