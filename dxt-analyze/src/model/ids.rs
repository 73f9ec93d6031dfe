//! Numbers of what a run has in its tables, each kind with a type of its own: what is a file's cannot be taken for a process's.

use super::{File, Process, Run, Stream};
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

id! {
    /// Index into [`Run::processes`].
    ProcessId
}

id! {
    /// Index into [`Process::streams`]; ids, which segments carry, are others. Of a segment it may be none of the table: [`Self::NONE`] if the
    /// table lacks its stream, [`Self::LEFT_OUT`], or [`Self::meeting`].
    StreamIx
}

impl StreamIx {
    /// Of a segment that is not looked at: see [`crate::model::select`].
    pub const LEFT_OUT: Self = Self(u32::MAX - 1);
    /// Set where the calls are MPI's.
    const MEETS: u32 = 1 << 31;

    /// Of a stream whose calls are MPI's, and no I/O: since no table has such a number, only who asks for [`Self::any`] finds them.
    #[inline]
    #[must_use]
    pub const fn meeting(self) -> Self {
        Self(self.0 | Self::MEETS)
    }

    /// Whether it is of a call of MPI's, or none of the table.
    #[inline]
    #[must_use]
    pub const fn may_meet(self) -> bool {
        self.0 & Self::MEETS != 0
    }

    /// The index in the table, whether the calls meet or not.
    #[inline]
    #[must_use]
    pub const fn any(self) -> Self {
        Self(self.0 & !Self::MEETS)
    }
}

impl Run {
    /// The process with this number.
    #[inline]
    #[must_use]
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(id.index())
    }

    /// All processes, with their numbers.
    pub fn numbered_processes(&self) -> impl ExactSizeIterator<Item = (ProcessId, &Process)> {
        self.processes.iter().enumerate().map(|(index, process)| (ProcessId::at(index), process))
    }

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

impl Process {
    /// The stream at this place of its table.
    #[inline]
    #[must_use]
    pub fn stream(&self, index: StreamIx) -> Option<&Stream> {
        self.streams.get(index.index())
    }

    /// The place in its table of the stream whose segments carry `id`.
    #[inline]
    #[must_use]
    pub fn stream_index(&self, id: u32) -> Option<StreamIx> {
        // Ids are given from 0 up, so nearly always the index is the id.
        match self.streams.get(id as usize) {
            Some(stream) if stream.id == id => Some(StreamIx(id)),
            _ => self.streams.binary_search_by_key(&id, |stream| stream.id).ok().map(StreamIx::at),
        }
    }

    /// The stream whose segments carry `id`.
    #[inline]
    #[must_use]
    pub fn stream_with_id(&self, id: u32) -> Option<&Stream> {
        self.stream(self.stream_index(id)?)
    }
}
