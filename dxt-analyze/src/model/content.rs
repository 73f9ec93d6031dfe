//! Byte sources of a trace: a file, opened on demand and shared by all threads, or memory (tests). Jobs with thousands of trace files need
//! only a bounded number of file descriptors.

use crate::input;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use trace_format::read::Source;

/// Maximum trace files open at once, well below the usual limit of 1,024 file descriptors.
pub const MAX_OPEN_FILES: usize = 128;

/// Pool of open trace files, by file number. At the limit, the file opened first is closed first. Runs loaded at the same time can share a pool.
#[derive(Debug, Default)]
pub struct Pool {
    state: Mutex<PoolState>,
    numbers: AtomicUsize,
}

#[derive(Debug, Default)]
struct PoolState {
    files: FxHashMap<usize, Arc<File>>,
    order: VecDeque<usize>,
}

impl Pool {
    fn get(&self, number: usize, path: &Path) -> std::io::Result<Arc<File>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = state.files.get(&number) {
            return Ok(Arc::clone(file));
        }
        while state.order.len() >= MAX_OPEN_FILES {
            if let Some(oldest) = state.order.pop_front() {
                state.files.remove(&oldest);
            }
        }
        let file = Arc::new(input::open_trace(path)?);
        state.files.insert(number, Arc::clone(&file));
        state.order.push_back(number);
        Ok(file)
    }
}

/// Bytes of one trace file.
#[derive(Debug)]
pub enum Content {
    /// Trace file on disk, opened on demand.
    File {
        /// Path of the trace file.
        path: PathBuf,
        /// Size of the trace file in bytes when first opened.
        size: u64,
        /// Number that identifies the file in the pool.
        number: usize,
        /// Pool of open files that the file is taken from.
        pool: Arc<Pool>,
    },
    /// Unnamed temporary file that holds a trace converted from another tool's log.
    Unnamed {
        /// Handle of the temporary file.
        file: File,
        /// Size of the temporary file, in bytes.
        size: u64,
    },
    /// Trace held in memory.
    Memory(Vec<u8>),
}

impl Content {
    /// Adds the file at `path` to `pool`.
    ///
    /// # Errors
    /// Returns the system's error if the file cannot be opened.
    pub fn file(path: &Path, pool: &Arc<Pool>) -> std::io::Result<Self> {
        let number = pool.numbers.fetch_add(1, Ordering::Relaxed);
        let size = pool.get(number, path)?.metadata()?.len();
        Ok(Self::File { path: path.to_owned(), size, number, pool: Arc::clone(pool) })
    }
}

impl Source for Content {
    fn size(&self) -> std::io::Result<u64> {
        match self {
            Self::File { size, .. } | Self::Unnamed { size, .. } => Ok(*size),
            Self::Memory(bytes) => bytes.size(),
        }
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::File { path, number, pool, .. } => pool.get(*number, path)?.read_exact_at(buffer, offset),
            Self::Unnamed { file, .. } => file.read_exact_at(buffer, offset),
            Self::Memory(bytes) => bytes.read_exact_at(offset, buffer),
        }
    }

    fn stored(&self, offset: u64) -> std::io::Result<Option<Range<u64>>> {
        match self {
            Self::File { path, number, pool, .. } => input::stored(pool.get(*number, path)?.as_ref(), offset),
            Self::Unnamed { file, .. } => input::stored(file, offset),
            Self::Memory(bytes) => bytes.stored(offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_descriptors_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Arc::new(Pool::default());
        let contents: Vec<Content> = (0..MAX_OPEN_FILES * 3)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, number.to_string()).unwrap();
                Content::file(&path, &pool).unwrap()
            })
            .collect();
        for (number, content) in contents.iter().enumerate() {
            let mut bytes = vec![0; number.to_string().len()];
            content.read_exact_at(0, &mut bytes).unwrap();
            assert_eq!(bytes, number.to_string().into_bytes());
        }
        assert!(pool.state.lock().unwrap().files.len() <= MAX_OPEN_FILES);
    }
}
