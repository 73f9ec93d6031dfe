//! Spools whose creation was not finished: empty, or without the magic number, which is written last. Every new spool is in these states
//! for an instant.

use super::Held;
use crate::spools::owner;
use crate::text::units::agree;
use anyhow::{Result, bail};
use std::path::Path;
use trace_format::spool::HEADER_BYTES;

/// Determines the contents of an unfinished spool. Only the file name tells if the spool's process is running; if it is, fails, since the
/// process will use the spool.
pub(super) fn look(path: &Path) -> Result<Held> {
    match named(path).filter(|(pid, started)| owner::runs(*pid, *started)) {
        Some((pid, _)) => bail!("its process {pid} runs and has recorded nothing"),
        None => Ok(Held::Nothing),
    }
}

/// Determines the contents of a file of `bytes` bytes, too short for a header; `None` if it does not have a spool's name and is not empty.
pub(super) fn without_header(path: &Path, bytes: u64) -> Result<Option<Held>> {
    if bytes >= HEADER_BYTES as u64 || bytes > 0 && named(path).is_none() {
        return Ok(None);
    }
    look(path)?;
    // The tracer sets the file's full length at once. Therefore either the process was killed between two system calls, or a crash or a
    // shell redirection truncated the file.
    let unit = agree(bytes, "byte", "bytes");
    let has = if bytes == 0 { "no bytes".to_owned() } else { format!("{bytes} {unit}, which is less than a header") };
    let why = format!("it has {has}: the file was truncated, or its process was killed while creating it");
    Ok(Some(Held::NoHeader(why)))
}

/// Parses process id and start time from a spool's name: `dxt-<user>-<pid>-<started>-<number>.spool`; `None` for other names.
fn named(path: &Path) -> Option<(u32, u64)> {
    let stem = path.file_name()?.to_str()?.strip_prefix("dxt-")?.strip_suffix(".spool")?;
    let mut numbers = stem.split('-').skip(1);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
