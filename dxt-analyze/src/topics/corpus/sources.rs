//! Source files of jobs in an incremental corpus.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// State of a source file when it was read: path, size, modification time and owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    #[serde(with = "super::path_text")]
    pub(super) path: PathBuf,
    bytes: u64,
    modified_ns: i128,
    /// User id of the owner of the source file.
    pub(super) owner: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Key of the job in the tables of the corpus.
    pub(super) job: String,
    /// Key of the job in its traces; `None` for a Darshan log, which is a job of its own.
    pub(super) key: Option<String>,
    pub(super) sources: Vec<Source>,
}

impl Source {
    /// True if `self` and `other` have the same path, or are the same file under two paths (traces may be moved).
    pub(super) fn is(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.bytes, one.modified_ns, one.owner);
        self.path == other.path || of(self) == of(other)
    }

    /// Returns the current state (size, modification time, owner) of the file at `path`.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let about = std::fs::metadata(path)?;
        crate::input::note(&about);
        let modified_ns = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
        Ok(Self { path: std::path::absolute(path)?, bytes: about.len(), modified_ns, owner: about.uid() })
    }
}
