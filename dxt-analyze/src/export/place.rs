//! Output file of an export. An existing file is replaced only with `--force`, regardless of the program that wrote it (see `written`).

use crate::written::{Ours, Target};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Calls `fill` to write the file `path`, or to write to `out` if `path` is `-`. If `fill` fails, the partial file is removed.
pub(crate) fn file<T>(
    path: &Path,
    force: bool,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    if path.as_os_str() == "-" {
        return fill(out);
    }
    Target::new(path, Ours::Never, force).stream(fill)
}

/// Calls `fill` to write the file `path` with seeks, for formats whose beginning is written last.
pub(crate) fn seekable<T>(path: &Path, force: bool, fill: impl FnOnce(File) -> Result<T>) -> Result<T> {
    let failed = || format!("failed to write {}", path.display());
    ensure!(path.as_os_str() != "-", "{}: this format needs a file", failed());
    Target::new(path, Ours::Never, force).file(|file| fill(file.try_clone()?).with_context(failed))
}
