//! Folders that contain several of the run's files.

use crate::model::{FileId, Run};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;

/// Least number of files in a folder that is compared with other folders.
const FEWEST_FILES: u32 = 2;
/// Folders that contain several of the run's files, by number.
#[derive(Debug, Default)]
pub struct Folders {
    names: Vec<String>,
    of: FxHashMap<FileId, u32>,
}

impl Folders {
    /// Collects the folders of the files of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let mut by: BTreeMap<&Path, Vec<FileId>> = BTreeMap::new();
        for file in (0..run.files.len() as u32).map(FileId) {
            // A name that is no path has no folder.
            let folder = Path::new(run.file_name(file)).parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder {
                by.entry(folder).or_default().push(file);
            }
        }
        let mut out = Self::default();
        for (folder, files) in by.into_iter().filter(|(_, files)| files.len() >= FEWEST_FILES as usize) {
            let number = out.names.len() as u32;
            out.names.push(folder.display().to_string());
            out.of.extend(files.into_iter().map(|file| (file, number)));
        }
        out
    }

    /// Returns the number of a file's folder; `None` if the folder has fewer than [`FEWEST_FILES`] files.
    #[must_use]
    pub fn of(&self, file: FileId) -> Option<u32> {
        self.of.get(&file).copied()
    }

    /// Returns the path of the folder with this number.
    #[must_use]
    pub fn name(&self, folder: u32) -> &str {
        self.names.get(folder as usize).map_or("", String::as_str)
    }
}
