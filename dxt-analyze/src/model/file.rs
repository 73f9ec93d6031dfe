//! Properties of a file: its file system, its alignment, and the origin of its layout.

use super::run::{File, FileLayout, LayoutOrigin, Run};

impl Run {
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

    /// True if the file is on a memory file system (tmpfs, ramfs, hugetlbfs).
    #[must_use]
    pub fn is_in_memory(&self, file: &File) -> bool {
        match self.mount_of(file) {
            Some((_, kind)) => ["tmpfs", "ramfs", "hugetlbfs"].contains(&kind.as_str()),
            None => file.name.starts_with("/dev/shm/"),
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
