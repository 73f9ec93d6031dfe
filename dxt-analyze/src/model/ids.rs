//! Ids of table entries of a run, with a separate type for each table, so that the compiler rejects a file id used as a process id.

use super::{File, Process, Run, Stream};
use serde::Serialize;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Invalid id, larger than any table.
            pub const NONE: Self = Self(u32::MAX);

            /// Returns the id as a list index.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Converts a list index to an id. No table exceeds 2^32 entries, since the file format has 32-bit numbers.
            #[inline]
            #[must_use]
            pub const fn at(index: usize) -> Self {
                Self(index as u32)
            }
        }
    };
}

id! {
    /// Id of a file: index into [`Run::files`].
    FileId
}

id! {
    /// Id of a process: index into [`Run::processes`].
    ProcessId
}

id! {
    /// Index into [`Process::streams`], unlike the stream id stored in segments. The index of a segment can also be [`Self::NONE`] (the
    /// process defines no such stream), [`Self::LEFT_OUT`] (not selected), or [`Self::sync_point`] (synchronization call).
    StreamIx
}

impl StreamIx {
    /// Stream index of segments outside the user's selection, see [`crate::model::select`].
    pub const LEFT_OUT: Self = Self(u32::MAX - 1);
    /// Bit that is set in the stream index of MPI synchronization calls, which are no I/O.
    const MEETS: u32 = 1 << 31;

    /// Returns the index with the bit for synchronization calls set. It exceeds any table, so only code that calls [`Self::any`] finds the stream.
    #[inline]
    #[must_use]
    pub const fn sync_point(self) -> Self {
        Self(self.0 | Self::MEETS)
    }

    /// Returns true for a synchronization call and for [`Self::NONE`] and [`Self::LEFT_OUT`]: all indices beyond the stream table.
    #[inline]
    #[must_use]
    pub const fn may_meet(self) -> bool {
        self.0 & Self::MEETS != 0
    }

    /// Returns the index into [`Process::streams`], with the bit for synchronization calls cleared.
    #[inline]
    #[must_use]
    pub const fn any(self) -> Self {
        Self(self.0 & !Self::MEETS)
    }
}

impl Run {
    /// Returns the process with `id`; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(id.index())
    }

    /// Iterates over all processes and their ids.
    pub fn numbered_processes(&self) -> impl ExactSizeIterator<Item = (ProcessId, &Process)> {
        self.processes.iter().enumerate().map(|(index, process)| (ProcessId::at(index), process))
    }

    /// Returns the file with `id`; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id.index())
    }

    /// Returns the name of the file with `id`; empty if there is no such file.
    #[must_use]
    pub fn file_name(&self, id: FileId) -> &str {
        self.file(id).map_or("", |file| file.name.as_str())
    }

    /// Returns the id of the file called `name`; `None` if there is none.
    #[must_use]
    pub fn file_named(&self, name: &str) -> Option<FileId> {
        let at = self.files.partition_point(|file| file.name.as_str() < name);
        self.files.get(at).filter(|file| file.name == name).map(|_| FileId::at(at))
    }

    /// Iterates over all files and their ids.
    pub fn numbered_files(&self) -> impl Iterator<Item = (FileId, &File)> {
        self.files.iter().enumerate().map(|(index, file)| (FileId::at(index), file))
    }
}

impl Process {
    /// Returns the stream at `index`; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn stream(&self, index: StreamIx) -> Option<&Stream> {
        self.streams.get(index.index())
    }

    /// Returns the call site of the segments that carry stream id `id`, as a frame of [`super::Run::sites`]; `None` if it is unknown.
    #[must_use]
    pub fn site(&self, id: u32) -> Option<u32> {
        let at = self.sites.binary_search_by_key(&id, |site| site.stream).ok()?;
        self.sites.get(at).map(|site| site.frame)
    }

    /// Returns the index of the process's stream whose segments carry `id`; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn stream_index(&self, id: u32) -> Option<StreamIx> {
        // Ids are assigned from 0 up, so the index nearly always equals the id.
        match self.streams.get(id as usize) {
            Some(stream) if stream.id == id => Some(StreamIx(id)),
            _ => {
                let alias = self.aliases.binary_search_by_key(&id, |(alias, _)| *alias);
                let id = alias.ok().and_then(|at| self.aliases.get(at)).map_or(id, |(_, id)| *id);
                self.streams.binary_search_by_key(&id, |stream| stream.id).ok().map(StreamIx::at)
            }
        }
    }

    /// Returns the process's stream whose segments carry `id`; `None` if there is none.
    #[inline]
    #[must_use]
    pub fn stream_with_id(&self, id: u32) -> Option<&Stream> {
        self.stream(self.stream_index(id)?)
    }
}
