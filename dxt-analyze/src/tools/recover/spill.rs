//! Spill file beside a spool, to which the process moved compressed segment blocks when memory was full. Checks that the spill file belongs
//! to the spool, and opens it.

use crate::spools::files::{self, Bytes, Owned};
use anyhow::{Context, Result, bail};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace_format::spool::{Head, spill_name};

/// Allowed difference between file size and allocated blocks, in bytes: some file systems store a part of a file outside of its blocks.
const SLACK_BYTES: u64 = 64 << 10;

/// Spill file of a spool: data for which the process had no room in memory.
pub(super) enum Spill {
    /// Valid spill file, read on demand since it may be larger than memory.
    There(Bytes),
    /// The process has no spill file.
    None,
    /// Missing or unusable spill file, with the reason: other users can create or remove a file of that name beside the spool.
    Gone(String),
}

/// Opens the spill file of the spool with header `head` and owner `owner` (user id). Fails if the spool's file is unreadable or damaged.
pub(super) fn read(spool: &Path, head: &Head, owner: u32) -> Result<Spill> {
    let about = path(spool).map(|path| (path.symlink_metadata(), path));
    let Some((Ok(about), path)) = about else {
        let gone = || Spill::Gone("its calls are missing, since the file no longer exists".to_owned());
        return Ok(head.spill().map_or(Spill::None, |_| gone()));
    };
    let is_its = |about: &Metadata| files::is_spill_of(about, owner, || Some(head.clone()));
    let others = || {
        format!(
            "its calls are missing in the recovered trace: the file belongs to user {}, and is not the one that the spool names",
            about.uid()
        )
    };
    if !is_its(&about) {
        return Ok(Spill::Gone(others()));
    }
    let spill = Owned::open(&path)
        .context("failed to read the spill file beside the spool (calls that the spool had no room for)")?;
    let about = spill.file.metadata().context(
        "failed to read owner and size of the spill file beside the spool (calls that the spool had no room for)",
    )?;
    if !is_its(&about) {
        return Ok(Spill::Gone(others()));
    }
    // The tracer writes all blocks in sequence, so its files are not sparse. A sparse file can claim any size, and was not written by the tracer.
    let most = about.blocks().saturating_mul(512).saturating_add(SLACK_BYTES);
    if about.len() > most {
        bail!(
            "the spill file beside the spool has only {} of its {} bytes on the disk: the spill file is damaged, or was not written by the tracer",
            about.blocks().saturating_mul(512),
            about.len()
        );
    }
    Ok(Spill::There(Bytes(spill.file)))
}

pub(super) fn path(spool: &Path) -> Option<PathBuf> {
    Some(spool.with_file_name(spill_name(spool.file_name()?.to_str()?)?))
}
