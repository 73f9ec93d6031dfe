//! `-`, and pipes by name: a trace from what can be read once only, as in `ssh node cat job.dxt | dxt-analyze report -` or
//! `dxt-analyze summary <(unzstd <job.dxt.zst)`.

use crate::exit::UsageError;
use crate::text::paths::{WITHOUT_NAME, call};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;

/// What came, each in a file without a name, open as long as the process lives: a trace is read in many places at once, a pipe is not.
static COPIES: Mutex<Vec<(String, File)>> = Mutex::new(Vec::new());

/// The path that `name` stands for.
///
/// # Errors
/// If it is `-`, and standard input is a terminal; if standard input, or a pipe, cannot be copied.
pub(crate) fn or_path(name: &Path) -> Result<PathBuf> {
    if name == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Err(UsageError("- reads a trace from standard input, which is a terminal here".into()).into());
        }
        return copied("standard input", || Ok(Box::new(std::io::stdin().lock())));
    }
    // Of what is no pipe it is said elsewhere that it is not there, or what it is.
    let flows = std::fs::metadata(name).is_ok_and(|about| {
        let kind = about.file_type();
        kind.is_fifo() || kind.is_socket()
    });
    if !flows {
        return Ok(name.to_owned());
    }
    copied(&name.display().to_string(), || Ok(Box::new(File::open(name)?)))
}

/// A path to a copy of what can be read from `open`, once for each name.
fn copied(name: &str, open: impl FnOnce() -> std::io::Result<Box<dyn Read>>) -> Result<PathBuf> {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    // proc(5): opened anew from its beginning each time.
    let path = |file: &File| PathBuf::from(format!("{WITHOUT_NAME}{}", file.as_raw_fd()));
    if let Some((_, file)) = copies.iter().find(|(known, _)| known == name) {
        return Ok(path(file));
    }
    let failed = || format!("failed to copy {name} to {}", std::env::temp_dir().display());
    let mut file = tempfile::tempfile().with_context(failed)?;
    std::io::copy(&mut open().with_context(failed)?, &mut file).with_context(failed)?;
    let path = path(&file);
    call(&path, name.to_owned());
    copies.push((name.to_owned(), file));
    Ok(path)
}
