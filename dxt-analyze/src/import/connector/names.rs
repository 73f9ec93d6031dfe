//! Which file a record is of: rows of opens name it, the others have its number only. Nothing is guessed: a number that stands for
//! several files, as those do that a spreadsheet rounded, stands for none.

use super::numbers::RecordId;
use super::row::Row;
use crate::import::budget::Budget;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Bytes that a record takes beside its name.
const ENTRY_BYTES: u64 = 96;

/// The files of all records.
#[derive(Debug)]
pub(super) struct Names {
    /// By job and number; `None` where several files have it.
    files: FxHashMap<(usize, RecordId), Option<Box<[u8]>>>,
    room: Budget,
}

/// The file of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// Its path.
    Known(&'a [u8]),
    /// What stands for it where the path is not known.
    Unknown(Cow<'static, str>),
}

impl Named<'_> {
    /// What the file is called.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Known(path) => path,
            Self::Unknown(name) => name.as_bytes(),
        }
    }
}

impl Names {
    /// None yet; they may take so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        Self { files: FxHashMap::default(), room: Budget::new("names of files", bytes) }
    }

    /// Takes the name that a row of `job` has, if it has one.
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

    /// The file of a row of `job`.
    pub(super) fn of<'a>(&'a self, job: usize, row: &Row<'a>) -> Named<'a> {
        if let Some(file) = row.file {
            return Named::Known(file);
        }
        let known = row.record.and_then(|id| self.files.get(&(job, id))?.as_deref());
        match (known, row.record) {
            (Some(file), _) => Named::Known(file),
            // As in a log without the name of a record.
            (None, Some(RecordId::Exact(id))) => Named::Unknown(format!("Darshan record {id}").into()),
            (None, Some(RecordId::Rounded(bits))) => {
                Named::Unknown(format!("unknown files (record_id {:E})", f64::from_bits(bits)).into())
            }
            (None, None) => Named::Unknown("unknown files".into()),
        }
    }

    /// What they took.
    pub(super) const fn room(&self) -> &Budget {
        &self.room
    }
}
