//! Temporary directory of a test, with `data/` for the program and `traces/` for the tracer. Removed if the test passes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        for part in ["data", "traces", "logs"] {
            std::fs::create_dir_all(root.join(part)).expect("failed to make a scratch directory");
        }
        Self { root: root.canonicalize().expect("failed to find the scratch directory") }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn traces(&self) -> PathBuf {
        self.root.join("traces")
    }

    /// Returns the directory for spools, which the tracer creates.
    pub(crate) fn spools(&self) -> PathBuf {
        self.root.join("spools")
    }

    /// Returns the path prefix of the logs that test programs write.
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("logs/log")
    }

    /// Empties `data/`, so that the program can run again.
    pub(crate) fn clear_data(&self) {
        std::fs::remove_dir_all(self.data()).expect("failed to empty the data directory");
        std::fs::create_dir(self.data()).expect("failed to make the data directory again");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}
