//! Many jobs: from what the user named, however deep in directories, to the files of each job. Here a file is opened to see whose
//! it is, and closed again; nothing of it is kept.

use super::content::{Content, Pool};
use super::is_darshan;
use crate::exit::UsageError;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace_format::read::Trace;

/// A file or directory that is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftOut {
    /// Its path.
    pub file: String,
    /// Why, and what can be done.
    pub why: String,
}

impl LeftOut {
    /// By what went wrong.
    #[must_use]
    pub fn new(path: &Path, error: &anyhow::Error) -> Self {
        let (file, why) = (path.display().to_string(), format!("{error:#}"));
        // The path stands before it already, and a file is a line.
        let told = ["failed to read ", "failed to open "].map(|what| format!("{what}{file}: "));
        let why = told.iter().find_map(|told| why.strip_prefix(told)).unwrap_or(&why).replace('\n', " ");
        Self { file, why }
    }
}

/// The files of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFiles {
    /// In order; at least one.
    pub paths: Vec<PathBuf>,
    /// Whether it is a Darshan log.
    pub darshan: bool,
}

/// What is to be read.
#[derive(Debug, Default)]
pub struct Found {
    /// The jobs, in the order of their first files.
    pub jobs: Vec<JobFiles>,
    /// What is left out.
    pub left_out: Vec<LeftOut>,
    /// Notes for the user.
    pub remarks: Vec<String>,
}

/// Finds the jobs in `named`: each Darshan log is one, and all traces with one key are one, wherever they lie.
///
/// # Errors
/// If a name does not exist, or there is no trace and no log.
pub fn find(named: &[PathBuf]) -> Result<Found> {
    let mut walk = Walk::default();
    for name in named {
        let about = std::fs::metadata(name).with_context(|| format!("failed to find {}", name.display()))?;
        if about.is_dir() { walk.directory(name, &about) } else { walk.file(name.clone(), true) }
    }
    if walk.paths.is_empty() && walk.left_out.is_empty() {
        return Err(UsageError("there is no *.dxt or *.darshan file in what is named".into()).into());
    }
    let mut found = Found { left_out: walk.left_out, ..Found::default() };
    if walk.partial > 0 {
        found
            .remarks
            .push(format!("{} unfinished .partial file(s) left out; name one to read what is in it", walk.partial));
    }
    let pool = Arc::new(Pool::default());
    let kinds: Vec<(PathBuf, Result<Option<String>>)> =
        walk.paths.into_par_iter().map(|path| (kind_of(&path, &pool), path)).map(|(kind, path)| (path, kind)).collect();
    let mut job_of: FxHashMap<String, usize> = FxHashMap::default();
    for (path, kind) in kinds {
        match kind {
            Err(error) => found.left_out.push(LeftOut::new(&path, &error)),
            Ok(None) => found.jobs.push(JobFiles { paths: vec![path], darshan: true }),
            Ok(Some(key)) => {
                let place = *job_of.entry(key).or_insert(found.jobs.len());
                match found.jobs.get_mut(place) {
                    Some(job) => job.paths.push(path),
                    None => found.jobs.push(JobFiles { paths: vec![path], darshan: false }),
                }
            }
        }
    }
    Ok(found)
}

/// `None` for a Darshan log, the job's key for a trace.
fn kind_of(path: &Path, pool: &Arc<Pool>) -> Result<Option<String>> {
    // Opening a pipe would wait for who writes to it.
    ensure!(std::fs::metadata(path)?.is_file(), "it is no regular file");
    let content = Content::file(path, pool)?;
    if is_darshan(&content) {
        return Ok(None);
    }
    let key = Trace::open(content)?.job.info.key;
    ensure!(
        !key.is_empty(),
        "it does not say which job it is of, its job block is lost: read it with the job's other files, as in \
         `dxt-analyze summary FILE...`"
    );
    Ok(Some(key))
}

/// What a walk through directories met.
#[derive(Default)]
struct Walk {
    paths: Vec<PathBuf>,
    left_out: Vec<LeftOut>,
    partial: usize,
    /// Directories by device and number: symbolic links can lead back to one.
    directories: FxHashSet<(u64, u64)>,
    /// Files by their real paths.
    files: FxHashSet<PathBuf>,
}

impl Walk {
    fn directory(&mut self, folder: &Path, about: &Metadata) {
        if !self.directories.insert((about.dev(), about.ino())) {
            return;
        }
        let listed = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut entries: Vec<PathBuf> = match listed {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) => return self.leave_out(folder, &error),
        };
        entries.sort();
        let mut folders = Vec::new();
        for path in entries {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("dxt" | "darshan") if !path.is_dir() => self.file(path, false),
                Some("partial") => self.partial += 1,
                // What is no directory is passed over without a word: sites keep other files beside logs.
                _ => folders.extend(std::fs::metadata(&path).ok().filter(Metadata::is_dir).map(|about| (path, about))),
            }
        }
        folders.into_iter().for_each(|(path, about)| self.directory(&path, &about));
    }

    fn file(&mut self, path: PathBuf, named: bool) {
        // A link, or a name that may be in a directory that is named as well.
        let other = named || path.is_symlink();
        let real = match if other { path.canonicalize() } else { real(&path) } {
            Ok(real) => real,
            Err(error) => return self.leave_out(&path, &error),
        };
        if self.files.insert(real) {
            self.paths.push(path);
        }
    }

    fn leave_out(&mut self, path: &Path, error: &std::io::Error) {
        self.left_out.push(LeftOut { file: path.display().to_string(), why: error.to_string() });
    }
}

/// The real path of a file that is no link.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize()?.join(path.file_name().unwrap_or_default()))
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
        walk.file(deep.join("b.darshan"), true);
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
