//! Files that destinations write.

use crate::live::shown;
use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file, or standard output. It holds whole pieces only.
pub(super) struct Output {
    path: Option<PathBuf>,
    file: Option<File>,
    /// Bytes of whole pieces in it.
    length: u64,
}

impl Output {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, file: None, length: 0 }
    }

    /// Bytes of it.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Leaves so many bytes of it.
    ///
    /// # Errors
    /// If the system does not.
    pub(super) fn cut(&mut self, length: u64) -> Result<()> {
        // Devices and pipes have no length.
        if let Some(file) = self.file.as_mut().filter(|file| file.metadata().is_ok_and(|about| about.is_file())) {
            file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length))).context("failed to cut it")?;
        }
        self.length = length;
        Ok(())
    }

    /// Whether nothing was written yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Opens it: one that is new or empty, or, for an agent that goes on, the one that the agent before it wrote, cut to where that one
    /// had come. Nothing else that was there is written over.
    ///
    /// # Errors
    /// If there is one with something in it, or it cannot be made.
    pub(super) fn begin(&mut self, position: Option<u64>) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = open(path, position)?;
        let failed = || format!("failed to open {}", shown::path(path));
        let length = position.unwrap_or(0).min(file.metadata().with_context(failed)?.len());
        self.file = Some(file);
        self.cut(length)
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// If it is not taken; no part of it stays.
    pub(super) fn write(&mut self, piece: &[u8]) -> Result<()> {
        let Some(file) = &mut self.file else {
            let mut out = std::io::stdout().lock();
            return out.write_all(piece).and_then(|()| out.flush()).context("failed to write to standard output");
        };
        let written = file.write_all(piece).context("failed to write");
        if written.is_ok() {
            self.length += piece.len() as u64;
        } else {
            let _ = file.set_len(self.length);
            let _ = file.seek(SeekFrom::Start(self.length));
        }
        written
    }

    /// What was written is durable; how much that is, of a file.
    ///
    /// # Errors
    /// If the system says that it is not.
    pub(super) fn settle(&mut self) -> Result<Option<u64>> {
        if let Some(file) = &self.file {
            match file.sync_data() {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
                done => done.context("failed to make it durable")?,
            }
        }
        Ok(self.file.is_some().then_some(self.length))
    }
}

fn open(path: &Path, position: Option<u64>) -> Result<File> {
    let failed = || format!("failed to open {}", shown::path(path));
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).with_context(failed)?;
    if position.is_none() && file.metadata().with_context(failed)?.len() > 0 {
        bail!("{} is there already: name another file, or give the --state that goes with it", shown::path(path));
    }
    Ok(file)
}
