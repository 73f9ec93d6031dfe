//! Logs that the tests read, and their golden files (outputs of Darshan's tools for these logs).

use std::collections::BTreeSet;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

/// Name of the environment variable that names a directory of further logs, which are not in the repository.
const FOLDER: &str = "DXT_DARSHAN_LOGS";

/// Log with golden files (outputs of Darshan's tools) in the same directory.
pub(crate) struct Sample {
    pub(crate) path: PathBuf,
}

impl Sample {
    /// Returns the log's file name without its extension.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().expect("a file").to_string_lossy().into_owned();
        name.split(".darshan").next().expect("a name").into()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("a readable log")
    }

    /// Returns the decompressed golden file (output of Darshan's tool) with extension `kind`, such as `dxt.txt`; `None` if it does not
    /// exist.
    pub(crate) fn golden(&self, kind: &str) -> Option<Vec<u8>> {
        let path = self.path.with_file_name(format!("{}.{kind}.xz", self.name()));
        let file = std::fs::File::open(path).ok()?;
        let mut text = Vec::new();
        lzma_rs::xz_decompress(&mut BufReader::new(file), &mut text).expect("a whole golden file");
        Some(text)
    }

    /// Returns the facts that an independent decoder found in the log; `None` if there is no file of facts.
    pub(crate) fn facts(&self) -> Option<serde_json::Value> {
        let path = self.path.with_file_name(format!("{}.facts.json", self.name()));
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }
}

fn in_folder(folder: &Path) -> Vec<Sample> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().contains(".darshan"))
        .collect();
    paths.sort();
    paths.into_iter().map(|path| Sample { path }).collect()
}

/// Returns the logs in this repository, which are small and free to copy.
pub(crate) fn own() -> Vec<Sample> {
    let samples = in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/darshan"));
    assert_eq!(samples.len(), 7, "testdata/darshan");
    samples
}

/// Reports that a test is skipped for lack of software that could be installed. The report is shown even if the output of passing tests is hidden.
pub(crate) fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// Reports that a test is skipped because this machine lacks something that the test needs.
pub(crate) fn skip_here(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped here: {what}");
}

/// Returns the logs in this repository and the logs in the directory named by [`FOLDER`].
pub(crate) fn all() -> Vec<Sample> {
    let mut samples = own();
    match std::env::var_os(FOLDER) {
        Some(folder) => {
            let names: BTreeSet<String> = samples.iter().map(Sample::name).collect();
            samples.extend(in_folder(Path::new(&folder)).into_iter().filter(|sample| !names.contains(&sample.name())));
        }
        None => skip_here(&format!("logs that are not in the repository: {FOLDER} is not set")),
    }
    samples
}
