//! Searches for the trace that a process was writing when it was killed. The trace may be finished all the same: by another rank, or by the
//! process itself before it could mark its spool.

use crate::spools::files::{Bytes, Owned};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use trace_format::read::Trace;
use trace_format::spool::Cut;

/// Returns true if the trace that `cut` describes exists and contains the spool's process. The trace may have a number appended to its name
/// (if the name was taken). It must belong to `owner`, the owner of the spool: other users' files prove nothing about the spool.
pub(crate) fn is_there(cut: &Cut, owner: u32) -> bool {
    let path = PathBuf::from(OsString::from_vec(cut.path.clone()));
    let (Some(directory), Some(stem)) = (path.parent(), path.file_stem()) else { return false };
    let Ok(listed) = std::fs::read_dir(directory) else { return false };
    let is_named_so = |path: &Path| {
        let stems = path.file_name().is_some_and(|name| name.as_bytes().starts_with(stem.as_bytes()));
        stems && path.extension().is_some_and(|end| end == "dxt")
    };
    let mut found = listed.flatten().map(|entry| entry.path()).filter(|path| is_named_so(path));
    found.any(|path| {
        let Ok(trace) = Owned::open(&path) else { return false };
        trace.owner == owner && Trace::open(Bytes(trace.file)).is_ok_and(|trace| cut.is_in(&trace))
    })
}
