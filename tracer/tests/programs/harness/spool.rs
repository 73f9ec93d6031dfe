//! Reads spools (files in which running or killed processes keep recorded calls) with the format's own reader, and converts them to traces.

use super::Scratch;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace_format::read::{Source, Trace};
use trace_format::spool::{Cut, Spool, spill_name};
use trace_format::write::{self, Encoder};

/// Sparse spool file, of which only ranges with data are read.
struct Sparse(File);

impl Source for Sparse {
    fn size(&self) -> std::io::Result<u64> {
        self.0.metadata().map(|about| about.len())
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

pub(crate) fn spools(scratch: &Scratch) -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir(scratch.spools()) else { return Vec::new() };
    let paths = listed.map(|entry| entry.expect("failed to list the spools").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "spool")).collect();
    paths.sort();
    paths
}

/// Returns the contents of the spill file of the spool's process; empty if there is none.
fn spill(spool: &Path) -> Vec<u8> {
    let name = spool.file_name().and_then(|name| spill_name(name.to_str()?)).expect("a spool's name");
    std::fs::read(spool.with_file_name(name)).unwrap_or_default()
}

/// Converts the only spool, of a process that still runs, to an encoded trace. Also returns the number of calls that may be counted twice.
pub(crate) fn look(scratch: &Scratch) -> (Vec<u8>, u64) {
    let path = spools(scratch).pop().expect("a spool");
    let spool = Spool::read(&Sparse(File::open(&path).expect("failed to open a spool"))).expect("a spool is one");
    let spill = spill(&path);
    let mut recovered = spool.recover(&spill, None, false).expect("a spool can be put together");
    let mut encoder = Encoder::new().expect("an encoder");
    let region = recovered.region(&mut encoder, 0, &spill).expect("a spool can be encoded");
    let bytes = write::file(&mut encoder, &recovered.job, vec![region]).expect("a spool makes a trace");
    (bytes, recovered.uncertain)
}

/// Waits a few seconds for the end of all threads of programs that have this folder among their arguments. A launcher may end before the
/// ranks that it killed, and a process's first thread before the thread that renames the trace.
fn wait_until_gone(folder: &Path) {
    let folder = folder.as_os_str().as_bytes();
    let runs = |thread: std::fs::DirEntry| {
        let arguments = std::fs::read(thread.path().join("cmdline")).unwrap_or_default();
        arguments.windows(folder.len()).any(|part| part == folder)
    };
    let any_runs = |process: std::fs::DirEntry| {
        std::fs::read_dir(process.path().join("task")).is_ok_and(|threads| threads.flatten().any(runs))
    };
    for _ in 0..2_000 {
        if !std::fs::read_dir("/proc").is_ok_and(|all| all.flatten().any(any_runs)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Converts each non-empty spool of an ended process to a trace, and removes the spool. Returns the number of calls that may be counted twice.
pub(crate) fn recover(scratch: &Scratch) -> u64 {
    let mut uncertain = 0;
    wait_until_gone(scratch.root());
    for path in spools(scratch) {
        let spool = Spool::read(&Sparse(File::open(&path).expect("failed to open a spool"))).expect("a spool is one");
        let in_trace = spool.head().cut().is_some_and(|cut| is_there(&cut));
        let spill = spill(&path);
        let mut recovered = spool.recover(&spill, None, in_trace).expect("a spool can be put together");
        if !recovered.is_empty() {
            let mut encoder = Encoder::new().expect("an encoder");
            let region = recovered.region(&mut encoder, 0, &spill).expect("a spool can be encoded");
            let bytes = write::file(&mut encoder, &recovered.job, vec![region]).expect("a spool makes a trace");
            let name = path.with_extension("dxt");
            let name = name.file_name().expect("a spool has a name");
            std::fs::write(scratch.traces().join(name), bytes).expect("failed to write a trace");
            uncertain += recovered.uncertain;
        }
        std::fs::remove_file(path).expect("failed to remove a spool");
    }
    uncertain
}

/// True if the trace that the process was writing when it was killed exists, under its own name or with a number appended.
fn is_there(cut: &Cut) -> bool {
    let path = PathBuf::from(OsString::from_vec(cut.path.clone()));
    let (Some(directory), Some(stem)) = (path.parent(), path.file_stem()) else { return false };
    let Ok(listed) = std::fs::read_dir(directory) else { return false };
    let paths = listed.map(|entry| entry.expect("failed to list the traces").path());
    let named = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "dxt")
            && path.file_name().is_some_and(|name| name.as_bytes().starts_with(stem.as_bytes()))
    };
    paths.filter(named).any(|path| {
        let bytes = std::fs::read(path).expect("failed to read a trace");
        Trace::open(bytes).is_ok_and(|trace| cut.is_in(&trace))
    })
}
