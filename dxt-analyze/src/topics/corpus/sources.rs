//! What jobs in a corpus that grows were read from.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Source {
    #[serde(with = "super::path_text")]
    pub(super) path: PathBuf,
    bytes: u64,
    modified_ns: i128,
    /// User id of its owner.
    pub(super) owner: u32,
}

/// A job that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its key in the tables.
    pub(super) job: String,
    /// The key that its traces have; `None` of a Darshan log, which is a job by itself.
    pub(super) key: Option<String>,
    pub(super) sources: Vec<Source>,
}

impl Source {
    /// Whether it has the name of the other, or is the same file under another: a trace may be moved.
    pub(super) fn is(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.bytes, one.modified_ns, one.owner);
        self.path == other.path || of(self) == of(other)
    }

    /// The file as it is now.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let about = std::fs::metadata(path)?;
        crate::input::note(&about);
        let modified_ns = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
        Ok(Self { path: std::path::absolute(path)?, bytes: about.len(), modified_ns, owner: about.uid() })
    }
}
