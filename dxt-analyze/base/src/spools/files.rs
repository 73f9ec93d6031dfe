//! Opens spool files. Anybody can write to the directories of spools (files with recorded calls), so each file is verified: it must be a
//! regular file, not a link, and owned by the current user (root may read all users' files).

pub use crate::input::Bytes;

use crate::input::open_no_link;
use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trace_format::spool::Head;

/// Open file, with its owner: its content is trusted only if the owner is.
pub struct Owned {
    /// Open and verified file.
    pub file: File,
    /// User id of the file's owner.
    pub owner: u32,
}

impl Owned {
    /// Opens a file, without following symbolic links and without waiting for the other end of a pipe. Fails if the file cannot be opened,
    /// is not a regular file, or belongs to another user (root may open all users' files).
    pub fn open(path: &Path) -> Result<Self> {
        let file = match open_no_link(path) {
            Ok(file) => file,
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
                bail!("it is a symbolic link: name the file itself")
            }
            Err(error) if error.raw_os_error().is_none() => return Err(error.into()),
            Err(error) => return Err(anyhow::Error::new(error).context("failed to open it")),
        };
        let about = file.metadata().context("failed to read its metadata")?;
        let (owner, user) = (about.uid(), own_user());
        if owner != user && user != 0 {
            bail!("it belongs to user {owner}: only that user or root may use it");
        }
        Ok(Self { file, owner })
    }
}

/// Device and inode number of a file.
pub type Identity = (u64, u64);

/// True if a file at the path of a spool's spill really is that spill. Anybody can create a file with that name, so the file must belong to
/// the spool's `owner`. A root process may have changed its user before it created the spill, so root's spools may instead identify the
/// spill by device and inode. Spools of other users must not: they could trick root into reading another user's file.
pub fn is_spill_of(about: &Metadata, owner: u32, head: impl FnOnce() -> Option<Head>) -> bool {
    about.uid() == owner || owner == 0 && head().and_then(|head| head.spill()) == Some(identity(about))
}

/// Returns the device and inode numbers of a file.
pub fn identity(about: &Metadata) -> Identity {
    (about.dev(), about.ino())
}

/// Returns the effective user id of this process.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode};
    use std::os::unix::fs::symlink;
    use trace_format::spool::{HEADER_BYTES, MAGIC, VERSION, header};

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
        assert!(why("pipe").contains("not a regular file"));
        assert!(why(".").contains("not a regular file"));
        assert!(why("nothing").contains("No such file"));
    }

    #[test]
    fn a_spill_of_another_user_is_the_one_that_the_spool_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("spill"), "x").unwrap();
        std::fs::write(at("other"), "x").unwrap();
        let about = |name: &str| at(name).metadata().unwrap();
        let head = |named: Option<&str>| {
            let mut bytes = vec![0; HEADER_BYTES];
            let mut put = |offset: usize, value: &[u8]| bytes[offset..offset + value.len()].copy_from_slice(value);
            put(header::MAGIC, &MAGIC.to_le_bytes());
            put(header::VERSION, &VERSION.to_le_bytes());
            if let Some(about) = named.map(about) {
                put(header::SPILL_DEVICE, &about.dev().to_le_bytes());
                put(header::SPILL_INODE, &about.ino().to_le_bytes());
            }
            std::fs::write(at("spool"), bytes).unwrap();
            Head::read(&Bytes(File::open(at("spool")).unwrap())).unwrap()
        };
        let (own, another) = (own_user(), own_user() + 1);
        for (name, named, owner, expected) in [
            ("spill", None, own, true),
            ("spill", None, another, false),
            ("spill", Some("spill"), another, false),
            ("spill", Some("spill"), 0, true),
            ("spill", Some("other"), another, false),
            // Spill that was copied to another place, with another inode.
            ("spill", Some("other"), own, true),
        ] {
            assert_eq!(is_spill_of(&about(name), owner, || head(named)), expected, "{named:?} {owner}");
        }
    }
}
