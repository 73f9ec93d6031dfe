//! Unfinished spools: without the magic, which is written last, or empty. Every spool is in these states for an instant.

use super::Held;
use crate::spools::owner;
use anyhow::{Result, bail};
use std::path::Path;
use trace_format::spool::HEADER_BYTES;

/// Classifies an unfinished spool. Only its file name tells if its process is running.
///
/// # Errors
/// If the process is running: it is about to use the spool.
pub(super) fn look(path: &Path) -> Result<Held> {
    match named(path).filter(|(pid, started)| owner::runs(*pid, *started)) {
        Some((pid, _)) => bail!("its process {pid} runs and has recorded nothing"),
        None => Ok(Held::Nothing),
    }
}

/// Classifies a file of `bytes` bytes that is too short for a header, if it has a spool's name or is empty.
///
/// # Errors
/// As [`look`].
pub(super) fn without_header(path: &Path, bytes: u64) -> Result<Option<Held>> {
    if bytes >= HEADER_BYTES as u64 || bytes > 0 && named(path).is_none() {
        return Ok(None);
    }
    look(path)?;
    // The tracer sets the full length at once: it was killed between two system calls, or a crash or shell redirection truncated the
    // file.
    let has = if bytes == 0 { "no bytes".to_owned() } else { format!("{bytes} bytes, which is less than a header") };
    let why = format!("it has {has}: its file was cut, or its process was killed while it made it");
    Ok(Some(Held::NoHeader(why)))
}

/// Parses process id and start time from a spool's name: `dxt-<user>-<pid>-<started>-<number>.spool`.
fn named(path: &Path) -> Option<(u32, u64)> {
    let stem = path.file_name()?.to_str()?.strip_prefix("dxt-")?.strip_suffix(".spool")?;
    let mut numbers = stem.split('-').skip(1);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
