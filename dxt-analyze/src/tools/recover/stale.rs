//! Option `recover --stale`: recovers and removes the spools of processes that ended long ago, so that they do not fill a node's disk. Root
//! cleans up for all users: each user's traces go to a directory that only root can change, and are given to the user.

use super::Recovery;
use crate::exit::UsageError;
use crate::spools::files::own_user;
use crate::spools::stale::{Left, SpoolDirectory};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a clean-up of stale spools (recorded calls of processes that ended long ago).
#[derive(Clone, Copy, Debug)]
pub struct Stale {
    /// Minimum time since the last write to a file for the file to count as stale.
    pub older_than: Duration,
    /// True to delete stale files without making traces.
    pub delete: bool,
}

/// Cleans up the directories `places`, by default the directories where the tracer puts spools. Traces go to the directory `output`. Spools
/// that cannot be read, or whose trace cannot be written, are kept.
///
/// # Errors
/// Fails if no directory can be listed; fails with [`UsageError`] if root would write to a directory in which others can write.
pub fn stale(places: &[PathBuf], output: &Path, which: &Stale) -> Result<Recovery> {
    if own_user() == 0 && !which.delete && output.symlink_metadata().is_ok() {
        make(output)?;
    }
    let named = !places.is_empty();
    let usual = || {
        let own = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
        own.into_iter().chain([PathBuf::from("/tmp"), PathBuf::from("/dev/shm")]).collect()
    };
    let mut paths: Vec<PathBuf> = if named { places.to_vec() } else { usual() };
    paths.sort();
    paths.dedup();
    let mut result = Recovery { older_than: which.older_than, ..Recovery::default() };
    let mut looked = false;
    for path in &paths {
        match SpoolDirectory::look(path, which.older_than) {
            Ok(place) => {
                looked = true;
                clean(&place, output, which, &mut result);
            }
            Err(error) if named => result.failed.push(format!("{error:#}")),
            // A default directory may be absent on this machine.
            Err(_) => {}
        }
    }
    if !looked {
        bail!("failed to look for spools: {}", result.failed.join("; "));
    }
    Ok(result)
}

fn clean(place: &SpoolDirectory, output: &Path, which: &Stale, result: &mut Recovery) {
    result.not_stale += place.kept;
    // Budget files hold no recorded data.
    for budget in &place.budgets {
        place.remove(budget);
    }
    if which.delete {
        result.deleted.extend(place.left.iter().filter(|file| place.remove(file)).map(|file| file.path.clone()));
        return;
    }
    let mut by_owner: BTreeMap<u32, Vec<&Left>> = BTreeMap::new();
    place.left.iter().for_each(|file| by_owner.entry(file.owner).or_default().push(file));
    let mut stays = Vec::new();
    for (owner, files) in by_owner {
        let spools: Vec<&Left> = files.into_iter().filter(|file| file.is_spool()).collect();
        match recover(owner, &spools, output, result) {
            Ok(more) => stays.extend(more),
            Err(error) => {
                result.failed.push(format!("spools of user {owner}: {error:#}"));
                stays.extend(spools.into_iter().map(|spool| spool.path.clone()));
            }
        }
    }
    // Removed after all spools are read: if a process changed its user, its spill file and its spool have different owners.
    for file in place.left.iter().filter(|file| !stays.iter().any(|spool| is_of(file, spool))) {
        place.remove(file);
    }
}

/// Makes traces from the spools of one user; returns the paths of spools that must be kept.
fn recover(owner: u32, spools: &[&Left], output: &Path, result: &mut Recovery) -> Result<Vec<PathBuf>> {
    if spools.is_empty() {
        return Ok(Vec::new());
    }
    let of_files: Vec<_> = spools.iter().map(|spool| (spool.path.clone(), Some(spool.identity))).collect();
    let for_all = own_user() == 0;
    let own = output.join(owner.to_string());
    let is_new = !own.exists();
    let folder = if for_all { make(&make(output)?.join(owner.to_string()))? } else { output.to_owned() };
    let how = super::How { cleans: true, gives: for_all, ..super::How::default() };
    let done = super::put_together(&of_files, &folder, how);
    if is_new && for_all {
        // Removes the directory of the user if nothing was written to it.
        let _ = std::fs::remove_dir(&folder);
    }
    let done = done?;
    // A file that cannot be read may still be a spool, so it is kept and reported by every clean-up.
    let read = done.spools.iter().map(|one| &one.spool).chain(&done.empty);
    let dealt_with: BTreeSet<&PathBuf> = read.chain(done.without_header.keys()).collect();
    let running = done.spools.iter().filter(|one| one.running).map(|one| &one.spool);
    let mut stays: Vec<PathBuf> = running.cloned().collect();
    stays.extend(of_files.iter().map(|(path, _)| path).filter(|path| !dealt_with.contains(path)).cloned());
    result.written.extend(done.written);
    result.empty.extend(done.empty);
    result.failed.extend(done.failed);
    result.cut.extend(done.cut);
    result.without_header.extend(done.without_header);
    result.spools.extend(done.spools);
    Ok(stays)
}

/// Creates a directory that only root can change, and checks its parents: a user who could change a parent could redirect root's writes.
/// Returns the path with symbolic links resolved, since others could change these links.
fn make(folder: &Path) -> Result<PathBuf> {
    let failed = || format!("failed to make {}", folder.display());
    if folder.symlink_metadata().is_err() {
        let around = folder.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let around = if around.symlink_metadata().is_ok() { around.to_owned() } else { make(around)? };
        check_above(&around.canonicalize().with_context(failed)?)?;
        DirBuilder::new().mode(0o755).create(folder).with_context(failed)?;
    }
    let path = folder.canonicalize().with_context(failed)?;
    let (name, about) = (folder.symlink_metadata().with_context(failed)?, path.metadata().with_context(failed)?);
    if !about.is_dir() || name.uid() != 0 || about.uid() != 0 || about.mode() & 0o022 != 0 {
        return Err(others_may_change(folder));
    }
    path.parent().map_or(Ok(()), check_above)?;
    Ok(path)
}

/// Checks that others cannot replace root's entries in `folder` or in directories above it. A sticky directory such as /tmp is safe: others
/// can create files there but not touch root's.
fn check_above(folder: &Path) -> Result<()> {
    for folder in folder.ancestors() {
        let about = folder.symlink_metadata().with_context(|| format!("failed to look at {}", folder.display()))?;
        if about.uid() != 0 || about.mode() & 0o022 != 0 && about.mode() & 0o1000 == 0 {
            return Err(others_may_change(folder));
        }
    }
    Ok(())
}

fn others_may_change(folder: &Path) -> anyhow::Error {
    let place = folder.display();
    let why = format!(
        "{place} can be changed by other users than root, who could redirect what root writes: \
         name another --output, or chown root {place} && chmod go-w {place}"
    );
    UsageError(why).into()
}

/// Returns true if `file` is `spool` itself or the spill file of `spool`.
fn is_of(file: &Left, spool: &Path) -> bool {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        trace_format::spool::spill_name(name).or_else(|| Some(name.to_owned()))
    };
    file.path == spool || stem(&file.path) == stem(spool)
}
