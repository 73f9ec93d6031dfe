//! Files of spools. Spools lie where everybody may put files, so what is read has to be what it seems: a
//! regular file, not a link to one, of the user who asks (root may read everybody's).

use anyhow::{Context, Result, bail};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use trace_format::read::Source;

/// A file that may be trusted as far as its owner may.
pub(crate) struct Owned {
    pub(crate) file: File,
    /// User id of the owner.
    pub(crate) owner: u32,
}

impl Owned {
    /// Opens it. No link is followed, nobody at the other end of a pipe is waited for.
    ///
    /// # Errors
    /// If it cannot be opened, is no regular file, or belongs to another user.
    pub(crate) fn open(path: &Path) -> Result<Self> {
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

/// A file that is read at offsets.
#[derive(Debug)]
pub(crate) struct Bytes(pub(crate) File);

impl Source for Bytes {
    fn size(&self) -> std::io::Result<u64> {
        self.0.metadata().map(|about| about.len())
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

/// User id of this process.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
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
}
