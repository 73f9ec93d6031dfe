//! Access rights of output files: those of `--mode`, else those of the input traces, reduced by the umask.

use crate::input;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;

/// Access rights given by `--mode`; unset without that option.
static ASKED: OnceLock<u32> = OnceLock::new();

/// Sets the access rights of all files that are written from now on, regardless of the umask.
pub fn ask_for(mode: u32) {
    let _ = ASKED.set(mode);
}

/// Returns the access rights with which a new file in `folder` is created, before the umask is applied.
pub(super) fn initial(folder: &Path) -> u32 {
    let inherited = folder.metadata().ok().filter(|about| about.mode() & 0o2000 != 0).map(|about| about.gid());
    let group = inherited.unwrap_or_else(|| rustix::process::getegid().as_raw());
    ASKED.get().copied().or_else(|| input::rights(group)).unwrap_or(0o666)
}

/// Returns the final access rights of a file with current metadata `about`.
pub(super) fn settled(about: &Metadata) -> u32 {
    let mode = about.mode() & 0o7777;
    ASKED.get().copied().unwrap_or_else(|| mode & input::rights(about.gid()).map_or(0o7777, |rights| rights | 0o7000))
}

/// Creates a file in a directory that only this process uses; fails if the file exists.
pub fn create_new(path: &Path) -> Result<File> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let file = OpenOptions::new().write(true).create_new(true).mode(initial(folder)).open(path)?;
    let about = file.metadata()?;
    if settled(&about) != about.mode() & 0o7777 {
        file.set_permissions(Permissions::from_mode(settled(&about)))?;
    }
    Ok(file)
}
