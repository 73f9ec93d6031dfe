//! Where an export goes. A file has a name of its own until it is whole, so that nobody takes half of one for an export; what is
//! no regular file (a pipe, a device) and standard output are written as they are.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 20;

/// Lets `fill` write the file `path`; `-` is `out`. What it made of the file is removed if it fails.
pub(super) fn file<T>(
    path: &Path,
    force: bool,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let failed = || format!("failed to write {}", path.display());
    if path.as_os_str() == "-" {
        return fill(out);
    }
    let found = std::fs::metadata(path).ok();
    if found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir()) {
        let mut writer = BufWriter::with_capacity(BUFFER, File::options().write(true).open(path).with_context(failed)?);
        let done = fill(&mut writer).with_context(failed)?;
        writer.flush().with_context(failed)?;
        return Ok(done);
    }
    anyhow::ensure!(!found.as_ref().is_some_and(std::fs::Metadata::is_dir), "{}: it is a directory", failed());
    anyhow::ensure!(found.is_none() || force, "{}: it exists; --force replaces it", failed());
    let partial = Partial::new(beside(path, "partial"));
    let mut writer = BufWriter::with_capacity(BUFFER, File::create(&partial.0).with_context(failed)?);
    let done = fill(&mut writer).with_context(failed)?;
    writer.flush().with_context(failed)?;
    drop(writer);
    std::fs::rename(&partial.0, path).with_context(failed)?;
    Ok(done)
}

/// Lets `fill` write a file in which it may go back: for forms whose beginning is written last.
pub(super) fn seekable<T>(path: &Path, force: bool, fill: impl FnOnce(File) -> Result<T>) -> Result<T> {
    let failed = || format!("failed to write {}", path.display());
    let found = std::fs::metadata(path).ok();
    let is_file = found.as_ref().is_none_or(std::fs::Metadata::is_file) && path.as_os_str() != "-";
    anyhow::ensure!(is_file, "{}: this form needs a file", failed());
    anyhow::ensure!(found.is_none() || force, "{}: it exists; --force replaces it", failed());
    let partial = Partial::new(beside(path, "partial"));
    let file = File::create(&partial.0).with_context(failed)?;
    let done = fill(file.try_clone().with_context(failed)?).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    std::fs::rename(&partial.0, path).with_context(failed)?;
    Ok(done)
}

/// `path` with an extension more.
fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// A file or directory that is removed with all in it, unless it was given another name.
pub(in crate::verbs) struct Partial(pub(in crate::verbs) PathBuf);

impl Partial {
    /// What will be made at `path`; what an earlier run left there is removed.
    pub(in crate::verbs) fn new(path: PathBuf) -> Self {
        let partial = Self(path);
        partial.remove();
        partial
    }

    fn remove(&self) {
        // One of them fails always, both if there is nothing: whoever writes there meets what cannot be removed.
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.remove();
    }
}
