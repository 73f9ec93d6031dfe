//! The file of packed blocks beside a spool: whether it is that, and what is in it.

use crate::spools::files::{self, Bytes, Owned};
use anyhow::{Context, Result, bail};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace_format::spool::{Head, spill_name};

/// A file system may keep so much of a file elsewhere than in its blocks.
const SLACK_BYTES: u64 = 64 << 10;

/// What the spool's process had no room for in memory.
pub(super) enum Spill {
    /// It is this, which is read when it is needed: it may be larger than memory.
    There(Bytes),
    /// There is none.
    None,
    /// It is not to be had, and why: others can put a file of its name beside the spool, or take it away.
    Gone(String),
}

/// What lies beside a spool with this head, of this owner.
///
/// # Errors
/// If it is the spool's, and cannot be read or is damaged.
pub(super) fn read(spool: &Path, head: &Head, owner: u32) -> Result<Spill> {
    let about = path(spool).map(|path| (path.symlink_metadata(), path));
    let Some((Ok(about), path)) = about else {
        let gone = || Spill::Gone("calls are missing: the file is not there any more".to_owned());
        return Ok(head.spill().map_or(Spill::None, |_| gone()));
    };
    let is_its = |about: &Metadata| files::is_spill_of(about, owner, || Some(head.clone()));
    let others = || format!("left out: it belongs to user {}, and is not the file that the spool names", about.uid());
    if !is_its(&about) {
        return Ok(Spill::Gone(others()));
    }
    let spill = Owned::open(&path).context("failed to read the spill beside it")?;
    let about = spill.file.metadata().context("failed to look at the spill beside it")?;
    if !is_its(&about) {
        return Ok(Spill::Gone(others()));
    }
    // Blocks are written one after another. A file with holes, which costs who makes it nothing, is none of the tracer's.
    let most = about.blocks().saturating_mul(512).saturating_add(SLACK_BYTES);
    if about.len() > most {
        bail!(
            "the spill beside it has {} of its {} bytes on the disk: it is damaged, or was not written by the tracer",
            about.blocks().saturating_mul(512),
            about.len()
        );
    }
    Ok(Spill::There(Bytes(spill.file)))
}

/// Where it would lie.
pub(super) fn path(spool: &Path) -> Option<PathBuf> {
    Some(spool.with_file_name(spill_name(spool.file_name()?.to_str()?)?))
}
