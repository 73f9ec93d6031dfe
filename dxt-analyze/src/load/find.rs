//! Expands the user's names to files: a file name stands for the file; a directory for its `*.dxt` files or, if it has none, its `*.darshan` files.

use crate::exit::UsageError;
use crate::text::paths::shown;
use crate::text::units;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Files to read, and notes on files that were skipped.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// Paths of the files in the order named, sorted within a directory, without duplicates.
    pub paths: Vec<PathBuf>,
    /// Notes on skipped files for the user.
    pub notes: Vec<String>,
}

/// Expands each directory in `named` to its files; named files are returned unchanged.
///
/// # Errors
/// Fails if a name does not exist or cannot be listed, or no file is found.
pub fn find(named: &[PathBuf]) -> Result<FoundFiles> {
    let mut found = FoundFiles::default();
    let mut seen = std::collections::HashSet::new();
    for name in named {
        let name = &super::standard_input::or_path(name)?;
        let about = std::fs::metadata(name).with_context(|| format!("failed to find {}", name.display()))?;
        let paths = if about.is_dir() { in_directory(name, &mut found.notes)? } else { vec![name.clone()] };
        for path in paths {
            let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
            if seen.insert(identity) {
                found.paths.push(path);
            } else {
                found.notes.push(format!("{} is named twice and read once", shown(&path)));
            }
        }
    }
    Ok(found)
}

fn in_directory(folder: &Path, notes: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let failed = || format!("failed to list {}", folder.display());
    let (mut paths, mut logs, mut partial) = (Vec::new(), Vec::new(), 0_usize);
    // First subdirectory by name, for the error message: sites may have one per user and day (`%u`, `%d`).
    let mut inner: Option<PathBuf> = None;
    for entry in std::fs::read_dir(folder).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && inner.as_ref().is_none_or(|first| path < *first) {
            inner = Some(path.clone());
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("dxt") => paths.push(path),
            Some("darshan") => logs.push(path),
            Some("partial") => partial += 1,
            _ => {}
        }
    }
    // Darshan logs beside traces are skipped, since they may belong to the same job.
    match (paths.is_empty(), logs.len()) {
        (_, 0) => {}
        (true, _) => paths = logs,
        (false, count) => {
            notes.push(format!(
                "{}: {} skipped, since the directory has traces, too; to read a log, give its path as an argument",
                folder.display(),
                units::counted(count as u64, ".darshan file")
            ));
        }
    }
    paths.sort();
    if partial > 0 {
        notes.push(format!(
            "{}: {} skipped (trace still being written, or its writing was interrupted); to read one, give its path as an argument",
            folder.display(),
            units::counted(partial as u64, "unfinished .partial file")
        ));
    }
    if paths.is_empty() {
        let help = match inner {
            Some(inner) => format!(
                "it has directories, such as {}: give the directory of one job as an argument, or run `dxt-analyze corpus` for all jobs",
                inner.display()
            ),
            None => "give a trace, or the directory to which you set DXT_OUTPUT_DIR, as an argument".to_owned(),
        };
        let why = format!("{} contains no *.dxt or *.darshan file: {help}", folder.display());
        return Err(UsageError(why).into());
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_gives_its_traces_in_order_and_says_what_it_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.dxt", "a.dxt", "c.dxt.partial", "notes.txt"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        let twice = [folder.path().to_owned(), folder.path().join("a.dxt")];
        let found = find(&twice).unwrap();
        assert_eq!(found.paths, [folder.path().join("a.dxt"), folder.path().join("b.dxt")]);
        assert_eq!(found.notes.len(), 2);
        assert!(found.notes[0].contains(".partial"));
    }

    #[test]
    fn an_empty_directory_is_a_usage_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(&[folder.path().to_owned()]).unwrap_err();
        assert!(error.downcast_ref::<UsageError>().is_some());
        std::fs::create_dir(folder.path().join("1000")).unwrap();
        let error = find(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("/1000: give the directory"), "{error}");
        assert!(find(&[folder.path().join("none")]).unwrap_err().to_string().contains("failed to find"));
    }
}
