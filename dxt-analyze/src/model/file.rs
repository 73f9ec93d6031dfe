//! Properties of a file: its file system, its alignment, and the origin of its layout.

use super::file_entry::{File, FileLayout, LayoutOrigin};
use super::run::Run;

/// Returns the index in `mounts` (path, type) of the file system that holds the file named `name`: the longest path that contains it. `None`
/// if mounts are unknown.
fn mount_at(mounts: &[(String, String)], name: &str) -> Option<usize> {
    let holds = |mount: &str| match name.strip_prefix(mount) {
        Some(rest) => mount.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
        None => false,
    };
    let all = mounts.iter().enumerate().filter(|(_, (path, _))| holds(path));
    all.max_by_key(|(_, (path, _))| path.len()).map(|(at, _)| at)
}

/// Returns the number of the file system that holds `file`, from 1 on; `mounts`: path and type of each. Without mounts, 1 is memory and 0 all
/// else.
#[must_use]
pub(crate) fn mount_number(mounts: &[(String, String)], file: &File) -> u16 {
    match mount_at(mounts, &file.name) {
        Some(at) => u16::try_from(at + 1).unwrap_or(u16::MAX),
        None => u16::from(file.name.starts_with("/dev/shm/")),
    }
}

impl Run {
    /// Returns mount point and type of the file system that holds `file`; `None` if mounts are unknown.
    #[must_use]
    pub fn mount_of(&self, file: &File) -> Option<&(String, String)> {
        self.mounts.get(mount_at(&self.mounts, &file.name)?)
    }

    /// Returns mount point and type of the file system that holds `file`; if mounts are unknown, the first directory of the file's path.
    #[must_use]
    pub fn place_of(&self, file: &File) -> String {
        match self.mount_of(file) {
            Some((path, kind)) => format!("{path} ({kind})"),
            None if file.name.starts_with('/') => {
                let end = file.name.get(1..).and_then(|rest| rest.find('/')).map_or(file.name.len(), |at| at + 1);
                file.name.get(..end).unwrap_or("/").to_owned()
            }
            None => "elsewhere".into(),
        }
    }
}

impl File {
    /// Returns the alignment of file offsets, in bytes, that access profiles use: the stripe size of a known layout, else the preferred I/O
    /// size; 0 if both are unknown.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        let own = self.layout.as_ref().filter(|layout| !layout.is_guess());
        let components = own.into_iter().flat_map(|layout| &layout.layout.components);
        let stripe = components.filter(|component| component.active && !component.on_metadata).map(|c| c.stripe_size);
        stripe.into_iter().next().unwrap_or(u64::from(self.block_size))
    }
}

impl FileLayout {
    /// Returns true if the layout is a guess based on the file's preferred I/O size.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.origin == LayoutOrigin::Guess
    }
}
