//! Finds the traces of many jobs below the named directories, and groups them by job. Files are opened only to read the job's key.

use super::{is_darshan, is_rows};
use crate::exit::UsageError;
use crate::model::content::{Content, Pool};
use crate::text::units;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_format::read::Trace;

/// File or directory that was skipped, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// Path of the file or directory that was skipped.
    pub file: String,
    /// Reason for skipping the file, and advice.
    pub why: String,
}

impl LeftOut {
    /// Creates an entry for a file that could not be read because of `error`.
    #[must_use]
    pub fn new(path: &Path, error: &anyhow::Error) -> Self {
        let (file, why) = (path.display().to_string(), format!("{error:#}"));
        // Removes the path from the reason: it is in `file` already, and the table has one line per file.
        let reported = ["failed to read ", "failed to open "].map(|what| format!("{what}{file}: "));
        let why = reported.iter().find_map(|reported| why.strip_prefix(reported)).unwrap_or(&why).replace('\n', " ");
        Self { file, why }
    }
}

/// Input files of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFiles {
    /// Paths of the files, in the order found; at least one.
    pub paths: Vec<PathBuf>,
    /// True if the job's file is a Darshan log or has rows of the LDMS connector.
    pub darshan: bool,
}

/// Jobs found below the named directories.
#[derive(Debug, Default)]
pub struct Found {
    /// Jobs, in the order in which their first files were found: in the order named, within a directory by name.
    pub jobs: Vec<JobFiles>,
    /// Key of each job in `jobs`; `None` for Darshan logs and LDMS connector rows.
    pub keys: Vec<Option<String>>,
    /// Files and directories that were skipped.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user on the files and directories that were searched.
    pub remarks: Vec<String>,
}

/// Finds the jobs in `named`. Each Darshan log is a job; all traces with the same owner and key are one job, regardless of location. Keys
/// are arbitrary (`DXT_JOB_ID`), so comparing owners keeps the jobs of different users apart.
///
/// # Errors
/// Fails if a name does not exist or is `-`, or there is no trace and no log.
pub fn find(named: &[PathBuf]) -> Result<Found> {
    find_but(named, |_| None)
}

/// User id of a trace file's owner, and key of its job.
pub(crate) type OfJob = (u32, String);

/// Finds jobs as [`find`] does, without opening files seen before. For such a file, `known` returns the job, or an inner `None` for a
/// Darshan log; for any other file `known` returns `None`.
pub(crate) fn find_but(named: &[PathBuf], known: impl Fn(&Path) -> Option<Option<OfJob>> + Sync) -> Result<Found> {
    let mut walk = Walk::default();
    for name in named {
        if name == Path::new("-") {
            let why = "this command reads files and directories: save standard input to a file (a file named - is ./-)";
            return Err(UsageError(why.into()).into());
        }
        let about = std::fs::metadata(name).with_context(|| format!("failed to find {}", name.display()))?;
        if about.is_dir() { walk.directory(name, &about) } else { walk.named(name.clone()) }
    }
    if walk.paths.is_empty() && walk.left_out.is_empty() {
        return Err(UsageError("no *.dxt or *.darshan file found in the named files and directories".into()).into());
    }
    let mut found = Found { left_out: walk.left_out, ..Found::default() };
    if walk.partial > 0 {
        found.remarks.push(format!(
            "{} skipped (trace still being written, or its writing was interrupted); to read one, give its path as an argument",
            units::counted(walk.partial as u64, "unfinished .partial file")
        ));
    }
    let pool = Arc::new(Pool::default());
    let kinds: Vec<(PathBuf, Result<Option<OfJob>>)> = walk
        .paths
        .into_par_iter()
        .map(|path| (known(&path).map_or_else(|| kind_of(&path, &pool), Ok), path))
        .map(|(kind, path)| (path, kind))
        .collect();
    let mut job_of: FxHashMap<OfJob, usize> = FxHashMap::default();
    for (path, kind) in kinds {
        match kind {
            Err(error) => found.left_out.push(LeftOut::new(&path, &error)),
            Ok(None) => {
                found.jobs.push(JobFiles { paths: vec![path], darshan: true });
                found.keys.push(None);
            }
            Ok(Some(of_job)) => {
                let key = of_job.1.clone();
                let place = *job_of.entry(of_job).or_insert(found.jobs.len());
                match found.jobs.get_mut(place) {
                    Some(job) => job.paths.push(path),
                    None => {
                        found.jobs.push(JobFiles { paths: vec![path], darshan: false });
                        found.keys.push(Some(key));
                    }
                }
            }
        }
    }
    Ok(found)
}

/// Returns owner and key of a trace's job; `None` for a Darshan log or LDMS connector rows, which are jobs of their own.
fn kind_of(path: &Path, pool: &Arc<Pool>) -> Result<Option<OfJob>> {
    let about = std::fs::metadata(path)?;
    let content = Content::file(path, pool)?;
    if is_darshan(path, &content) || is_rows(path, &content) {
        return Ok(None);
    }
    let key = Trace::open(content).map_err(|error| super::not_read(path, error))?.job.info.key;
    ensure!(
        !key.is_empty(),
        "the part of the file that names its job is damaged: read the file with the job's other files, as in \
         `dxt-analyze summary FILE...`"
    );
    Ok(Some((about.uid(), key)))
}

#[derive(Default)]
struct Walk {
    paths: Vec<PathBuf>,
    left_out: Vec<LeftOut>,
    partial: usize,
    /// Visited directories by device and inode: symbolic links can form cycles.
    directories: FxHashSet<(u64, u64)>,
    files: FxHashSet<PathBuf>,
}

impl Walk {
    fn directory(&mut self, folder: &Path, about: &Metadata) {
        if !self.directories.insert((about.dev(), about.ino())) {
            return;
        }
        let listed = || -> std::io::Result<(PathBuf, Vec<DirEntry>)> {
            Ok((folder.canonicalize()?, std::fs::read_dir(folder)?.collect::<std::io::Result<_>>()?))
        };
        let (real, mut entries) = match listed() {
            Ok(listed) => listed,
            Err(error) => return self.leave_out(folder, &error),
        };
        entries.sort_by_key(DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            // The type comes from the directory listing, which saves one stat(2) per file.
            let kind = entry.file_type().ok();
            let is_link = kind.is_none_or(|kind| kind.is_symlink());
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("dxt" | "darshan") if is_link && !path.is_dir() => self.named(path),
                Some("dxt" | "darshan") if kind.is_some_and(|kind| !kind.is_dir() && !is_link) => {
                    self.file(path, real.join(name));
                }
                Some("partial") => self.partial += 1,
                // Other files are skipped silently: sites keep unrelated files beside logs.
                _ if is_link || kind.is_some_and(|kind| kind.is_dir()) => {
                    let about = std::fs::metadata(&path).ok().filter(Metadata::is_dir);
                    folders.extend(about.map(|about| (path, about)));
                }
                _ => {}
            }
        }
        folders.into_iter().for_each(|(path, about)| self.directory(&path, &about));
    }

    /// Adds a file that the user named, or the target of a symbolic link.
    fn named(&mut self, path: PathBuf) {
        match path.canonicalize() {
            Ok(real) => self.file(path, real),
            Err(error) => self.leave_out(&path, &error),
        }
    }

    fn file(&mut self, path: PathBuf, real: PathBuf) {
        if self.files.insert(real) {
            self.paths.push(path);
        }
    }

    fn leave_out(&mut self, path: &Path, error: &std::io::Error) {
        self.left_out.push(LeftOut { file: path.display().to_string(), why: error.to_string() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_deep_meets_each_file_once_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("2024/2/29");
        std::fs::create_dir_all(&deep).unwrap();
        for name in ["b.darshan", "a.darshan", "c.dxt", "c.dxt.partial", "notes.txt"] {
            std::fs::write(deep.join(name), b"").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), deep.join("up")).unwrap();
        std::os::unix::fs::symlink(deep.join("a.darshan"), deep.join("again.darshan")).unwrap();
        std::os::unix::fs::symlink("nowhere", deep.join("gone.darshan")).unwrap();
        let mut walk = Walk::default();
        walk.directory(folder.path(), &std::fs::metadata(folder.path()).unwrap());
        walk.named(deep.join("b.darshan"));
        let names: Vec<_> = walk.paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!((names, walk.partial), (vec!["a.darshan", "b.darshan", "c.dxt"], 1));
        assert!(walk.left_out.len() == 1 && walk.left_out[0].file.ends_with("gone.darshan"));
    }

    #[test]
    fn what_is_nothing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(&[folder.path().to_owned()]).unwrap_err();
        assert!(error.downcast_ref::<UsageError>().is_some());
        assert!(find(&[folder.path().join("none")]).unwrap_err().to_string().contains("failed to find"));
        std::fs::write(folder.path().join("a.dxt"), b"no trace").unwrap();
        let found = find(&[folder.path().to_owned()]).unwrap();
        assert_eq!((found.jobs.len(), found.left_out.len()), (0, 1));
    }
}
