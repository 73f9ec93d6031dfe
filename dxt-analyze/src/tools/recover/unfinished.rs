//! A spool that its process has not made whole: without its magic, which is stored last, or without any byte, as each is for a moment.

use super::Held;
use crate::spools::owner;
use anyhow::{Result, bail};
use std::path::Path;
use trace_format::spool::HEADER_BYTES;

/// What it is. Whether its process runs, only the file's name can say.
///
/// # Errors
/// If it does: it is about to use the spool.
pub(super) fn look(path: &Path) -> Result<Held> {
    match named(path).filter(|(pid, started)| owner::runs(*pid, *started)) {
        Some((pid, _)) => bail!("its process {pid} runs and has recorded nothing"),
        None => Ok(Held::Nothing),
    }
}

/// The same of a file of so many bytes that has a spool's name, if it has no room for a header.
///
/// # Errors
/// As above.
pub(super) fn without_header(path: &Path, bytes: u64) -> Result<Option<Held>> {
    if bytes >= HEADER_BYTES as u64 || bytes > 0 && named(path).is_none() {
        return Ok(None);
    }
    look(path)?;
    // The process that makes it gives it its whole length at once: so it was killed between two system calls, or this is what a file
    // system that went down or somebody's > has left of it.
    let has = if bytes == 0 { "no bytes".to_owned() } else { format!("{bytes} bytes, which is less than a header") };
    let why = format!("it has {has}: its file was cut, or its process was killed while it made it");
    Ok(Some(Held::NoHeader(why)))
}

/// The process that a spool's name tells, and when it was started: `dxt-<user>-<pid>-<started>-<number>.spool`.
fn named(path: &Path) -> Option<(u32, u64)> {
    let stem = path.file_name()?.to_str()?.strip_prefix("dxt-")?.strip_suffix(".spool")?;
    let mut numbers = stem.split('-').skip(1);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
