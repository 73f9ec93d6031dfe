//! `-`: a trace from standard input, for what comes through a pipe: `ssh node cat job.dxt | dxt-analyze report -`.

use crate::exit::UsageError;
use crate::text::paths::WITHOUT_NAME;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;

/// What came, in a file without a name, open as long as the process lives: a trace is read in many places at once, a pipe is not.
static COPY: Mutex<Option<File>> = Mutex::new(None);

/// The path that `name` stands for.
///
/// # Errors
/// If it is `-`, and standard input is a terminal or cannot be copied.
pub(super) fn or_path(name: &Path) -> Result<PathBuf> {
    if name != Path::new("-") {
        return Ok(name.to_owned());
    }
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Err(UsageError("- reads a trace from standard input, which is a terminal here".into()).into());
    }
    let mut copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match copy.as_ref() {
        Some(file) => file,
        None => {
            let failed = || format!("failed to copy standard input to {}", std::env::temp_dir().display());
            let mut file = tempfile::tempfile().with_context(failed)?;
            std::io::copy(&mut stdin, &mut file).with_context(failed)?;
            copy.insert(file)
        }
    };
    // proc(5): opened anew from its beginning each time.
    Ok(PathBuf::from(format!("{WITHOUT_NAME}{}", file.as_raw_fd())))
}
