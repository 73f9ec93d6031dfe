//! Numbers of what a run has in its tables, each kind with a type of its own: what is a file's cannot be taken for a process's.

use super::{File, Run};
use serde::Serialize;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Stands where there is none: no table is as long.
            pub const NONE: Self = Self(u32::MAX);

            /// The place in a list that has one of each.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Of the place in a list. No table is longer than 32 bits count, since a file's numbers are no wider.
            #[inline]
            #[must_use]
            pub const fn at(index: usize) -> Self {
                Self(index as u32)
            }
        }
    };
}

id! {
    /// Index into [`Run::files`].
    FileId
}

impl Run {
    /// The file with this number.
    #[inline]
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id.index())
    }

    /// The name of the file with this number; nothing if there is none.
    #[must_use]
    pub fn file_name(&self, id: FileId) -> &str {
        self.file(id).map_or("", |file| file.name.as_str())
    }

    /// The number of the file with this name.
    #[must_use]
    pub fn file_named(&self, name: &str) -> Option<FileId> {
        self.files.iter().position(|file| file.name == name).map(FileId::at)
    }

    /// All files, with their numbers.
    pub fn numbered_files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId::at(index), file))
    }
}
