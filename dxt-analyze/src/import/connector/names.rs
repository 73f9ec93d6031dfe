//! File names by record id: only rows of opens contain the name, all other rows have only the record id. Nothing is guessed: an id shared
//! by several files, for example because a spreadsheet rounded it, gets no name.

use super::numbers::RecordId;
use super::row::Row;
use crate::import::budget::Budget;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Estimated memory of an entry in the map from record ids to file names, without the name, in bytes.
const ENTRY_BYTES: u64 = 96;

#[derive(Debug)]
pub(super) struct Names {
    /// File path by job index and record id; `None` if several files have the same id.
    files: FxHashMap<(usize, RecordId), Option<Box<[u8]>>>,
    room: Budget,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    Known(&'a [u8]),
    /// Path is unknown; the text is shown in place of a path.
    Unknown(Cow<'static, str>),
}

impl Named<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Known(path) => path,
            Self::Unknown(name) => name.as_bytes(),
        }
    }
}

impl Names {
    /// Creates an empty map from record ids to file names, which may use up to `bytes` bytes of memory.
    pub(super) fn new(bytes: u64) -> Self {
        Self { files: FxHashMap::default(), room: Budget::new("names of files", bytes) }
    }

    /// Stores the file name in a row of `job`, if the row has one.
    pub(super) fn see(&mut self, job: usize, row: &Row<'_>) {
        let (Some(id), Some(file)) = (row.record, row.file) else { return };
        match self.files.get_mut(&(job, id)) {
            Some(known) if known.as_deref().is_some_and(|known| known != file) => *known = None,
            Some(_) => {}
            None if self.room.take(ENTRY_BYTES + file.len() as u64) => {
                self.files.insert((job, id), Some(file.into()));
            }
            None => {}
        }
    }

    /// Returns the name of the file that a row of `job` concerns.
    pub(super) fn of<'a>(&'a self, job: usize, row: &Row<'a>) -> Named<'a> {
        if let Some(file) = row.file {
            return Named::Known(file);
        }
        let known = row.record.and_then(|id| self.files.get(&(job, id))?.as_deref());
        match (known, row.record) {
            (Some(file), _) => Named::Known(file),
            // The name is the same as for a record without a name in an imported Darshan log.
            (None, Some(RecordId::Exact(id))) => Named::Unknown(format!("Darshan record {id}").into()),
            (None, Some(RecordId::Rounded(bits))) => {
                Named::Unknown(format!("unknown files (record_id {:E})", f64::from_bits(bits)).into())
            }
            (None, None) => Named::Unknown("unknown files".into()),
        }
    }

    pub(super) const fn room(&self) -> &Budget {
        &self.room
    }
}
