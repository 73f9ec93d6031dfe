//! A spool that its process has not made whole: without its magic, which is stored last, or without any byte, as each is for a moment.

use super::Held;
use crate::spools::files::Bytes;
use crate::spools::owner;
use anyhow::{Context, Result, bail};
use std::path::Path;
use trace_format::read::Source;

/// What it is. Whether its process runs, only the file's name can say.
///
/// # Errors
/// If it does: it is about to use the spool.
pub(super) fn look(path: &Path, source: &Bytes) -> Result<Held> {
    if let Some((pid, _)) = named(path).filter(|(pid, started)| owner::runs(*pid, *started)) {
        bail!("its process {pid} runs and has recorded nothing");
    }
    // The process that makes it gives it its whole length at once: so it was killed between two system calls, or this is what a file
    // system that went down or somebody's > has left of it.
    Ok(match source.size().context("failed to look at it")? {
        0 => Held::Cut(
            "it has no bytes: its file was cut to nothing, or its process was killed while it made it".to_owned(),
        ),
        _ => Held::Nothing,
    })
}

/// The process that a spool's name tells, and when it was started: `dxt-<user>-<pid>-<started>-<number>.spool`.
fn named(path: &Path) -> Option<(u32, u64)> {
    let stem = path.file_name()?.to_str()?.strip_prefix("dxt-")?.strip_suffix(".spool")?;
    let mut numbers = stem.split('-').skip(1);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
