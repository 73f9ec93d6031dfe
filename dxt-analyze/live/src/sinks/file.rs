//! Output files of destinations. An agent locks its files, since two agents on one file would truncate each other's lines.

use crate::shown;
use anyhow::{Context, Result, bail, ensure};
use dxt_base::written::growing;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Output file or standard output. Writes are all or nothing, so the file never ends with part of a record.
pub(super) struct Output {
    path: Option<PathBuf>,
    /// Header text with which each nonempty file of this destination begins.
    head: &'static str,
    file: Option<File>,
    /// Length of the complete records in the file, in bytes.
    length: u64,
}

impl Output {
    pub(super) fn new(path: Option<PathBuf>, head: &'static str) -> Self {
        Self { path, head, file: None, length: 0 }
    }

    #[cfg(feature = "parquet")]
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Truncates the output file to `length` bytes.
    pub(super) fn cut(&mut self, length: u64) -> Result<()> {
        // Only regular files can be truncated: devices and pipes have no length.
        if let Some(file) = self.file.as_mut().filter(|file| file.metadata().is_ok_and(|about| about.is_file())) {
            file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length))).context("failed to truncate it")?;
        }
        self.length = length;
        Ok(())
    }

    /// True if the output has no data yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Opens the file, which must be new or empty. With the `position` of an earlier agent, opens that agent's file and truncates it to the
    /// position. Fails if the file has content but `position` is `None`, if another agent has locked it, if no destination of this kind
    /// wrote it, or if it cannot be created.
    pub(super) fn begin(&mut self, position: Option<u64>) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let file = locked(path)?;
        let failed = || format!("failed to open {}", shown::path(path));
        if position.is_none() && file.metadata().with_context(failed)?.len() > 0 {
            bail!("{} exists: give another file name, or give the --state file that belongs to it", shown::path(path));
        }
        let length = position.unwrap_or(0).min(file.metadata().with_context(failed)?.len());
        self.check(&file, length).with_context(failed)?;
        self.file = Some(file);
        self.cut(length)
    }

    /// Opens a file of any earlier agent for appending, and removes an incomplete last line. Fails if the file cannot be created or read,
    /// or if no destination of this kind wrote it.
    #[cfg(feature = "parquet")]
    pub(super) fn take_up(&mut self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let failed = || format!("failed to open {}", shown::path(path));
        let file = locked(path)?;
        let length = whole_lines(&file).with_context(failed)?;
        self.check(&file, length).with_context(failed)?;
        self.file = Some(file);
        self.cut(length)
    }

    /// Fails if the file, which is to be truncated to `length` bytes, was not written by this destination. Protects other programs' data.
    fn check(&self, file: &File, length: u64) -> Result<()> {
        let about = file.metadata()?;
        if !about.is_file() || about.len() == 0 {
            return Ok(());
        }
        let mut head = vec![0; self.head.len().min(usize::try_from(about.len()).unwrap_or(usize::MAX))];
        file.read_exact_at(&mut head, 0)?;
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        let is_own = self.head.as_bytes().starts_with(&head) && last == [b'\n'];
        ensure!(
            is_own,
            "it was not written by `dxt-analyze live` for this destination: give another file name, or remove it"
        );
        Ok(())
    }

    /// Appends `piece`, which is one or more complete records. Fails if the write fails; no part of `piece` then remains in the file.
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

    /// Makes the written data durable by fdatasync(2). Returns the file's length; `None` for a pipe or device.
    pub(super) fn settle(&mut self) -> Result<Option<u64>> {
        if let Some(file) = &self.file {
            match file.sync_data() {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
                done => done.context("failed to flush it to the disk")?,
            }
        }
        Ok(self.file.is_some().then_some(self.length))
    }
}

/// Returns the length of a file up to its last line feed.
#[cfg(feature = "parquet")]
fn whole_lines(file: &File) -> std::io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut buffer = vec![0; 1 << 16];
    while end > 0 {
        let begin = end.saturating_sub(1 << 16);
        let piece = buffer.get_mut(..usize::try_from(end - begin).unwrap_or(0)).unwrap_or_default();
        file.read_exact_at(piece, begin)?;
        if let Some(at) = piece.iter().rposition(|&byte| byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// Opens a file for writing, without truncating it, and locks it against other agents.
fn locked(path: &Path) -> Result<File> {
    let failed = || format!("failed to open {}", shown::path(path));
    loop {
        let file = growing(path).with_context(failed)?;
        let about = file.metadata().with_context(failed)?;
        // Several agents may share a device or pipe, so it is not locked.
        if !about.is_file() {
            return Ok(file);
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => bail!(
                "another `dxt-analyze live` writes {}: give another file name (%h in the name stands for the node, %p for the process id)",
                shown::path(path)
            ),
            // Continues without a lock on file systems that have none, such as Lustre mounted without locks.
            Err(_) => return Ok(file),
        }
        // If the earlier holder of the lock removed the file, this file has no name any more, so opens it again.
        if path.metadata().is_ok_and(|there| (there.dev(), there.ino()) == (about.dev(), about.ino())) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_agent_on_a_file_is_refused_and_takes_nothing_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let output = || Output::new(Some(path.clone()), "a line");
        let mut first = output();
        first.begin(None).unwrap();
        for position in [None, Some(0)] {
            let why = output().begin(position).unwrap_err().to_string();
            assert!(why.contains("another `dxt-analyze live` writes"), "{why}");
            first.write(b"a line\n").unwrap();
        }
        drop(first);
        assert_eq!(std::fs::read(&path).unwrap(), b"a line\na line\n");
        // A second agent resumes at the first agent's position.
        output().begin(Some(7)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a line\n");
    }

    #[test]
    fn what_no_agent_wrote_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let [other, link, pipe] = ["other", "link", "pipe"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Socket, rustix::fs::Mode::RWXU, 0).unwrap();
        for text in ["mine\nand more\n", "a line without an end", "a"] {
            std::fs::write(&other, text).unwrap();
            for (path, position) in
                [(&other, None), (&other, Some(0)), (&other, Some(7)), (&link, None), (&link, Some(7)), (&pipe, None)]
            {
                let done = Output::new(Some(path.clone()), "a line").begin(position);
                // Truncation to 0 is allowed, since an agent killed before it saved a position resumes at 0.
                let may = path == &other && position == Some(0) && text.starts_with("a");
                assert_eq!(done.is_ok(), may, "{path:?} {position:?} {text}");
                assert_eq!(std::fs::read_to_string(&other).unwrap().is_empty(), may);
                std::fs::write(&other, text).unwrap();
            }
        }
        std::fs::remove_file(&other).unwrap();
        assert!(Output::new(Some(link), "a line").begin(None).is_err() && !other.exists());
    }
}
