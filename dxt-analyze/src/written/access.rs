//! Access rights of what is written: those that `--mode` names, else those of the traces that it is made of, less what the umask takes.

use crate::input;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// What `--mode` says.
static ASKED: OnceLock<u32> = OnceLock::new();

/// From now on files get these access rights, whatever the umask.
pub(crate) fn ask_for(mode: u32) {
    let _ = ASKED.set(mode);
}

/// Access rights that a new file in `folder` is opened with, of which the umask takes its part.
pub(super) fn initial(folder: &Path) -> u32 {
    let inherited = folder.metadata().ok().filter(|about| about.mode() & 0o2000 != 0).map(|about| about.gid());
    let group = inherited.unwrap_or_else(|| rustix::process::getegid().as_raw());
    ASKED.get().copied().or_else(|| input::rights(group)).unwrap_or(0o666)
}

/// Access rights that a file ends with that has those of `about`.
pub(super) fn settled(about: &Metadata) -> u32 {
    let mode = about.mode() & 0o7777;
    ASKED.get().copied().unwrap_or_else(|| mode & input::rights(about.gid()).map_or(0o7777, |rights| rights | 0o7000))
}

/// Makes a file, which nothing may be in the place of: in a directory of this process alone.
pub(crate) fn create_new(path: &Path) -> Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = OpenOptions::new().write(true).create_new(true).mode(initial(folder)).open(path)?;
    let about = file.metadata()?;
    if settled(&about) != about.mode() & 0o7777 {
        file.set_permissions(Permissions::from_mode(settled(&about)))?;
    }
    Ok(file)
}
