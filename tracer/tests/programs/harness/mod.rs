//! Common helpers of the tests: compile a test program, run it with the library preloaded, read the program's own log and the trace.

mod build;
mod command;
mod oplog;
mod scratch;
mod spool;
mod strace;
mod trace;

pub(crate) use build::{Compiler, python, workload, workload_hdf5, workload_source, workload_with};
pub(crate) use command::{Launch, Outcome, is_root};
pub(crate) use oplog::{Op, Order, assert_same, log_lines, read_failures, read_log, read_ranks};
pub(crate) use scratch::Scratch;
pub(crate) use spool::{look, recover, spools};
pub(crate) use strace::{Calls, strace, under_strace};
pub(crate) use trace::{MissingOps, ProcessTrace, Seg, Traces};

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Reports a skipped test whose requirement scripts/setup.sh could install. The message bypasses output capture; CI treats it as a failure
/// (scripts/test.sh).
pub(crate) fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
}

/// Reports a skipped test that this machine, its kernel or its distribution cannot run.
pub(crate) fn skip_here(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped here: {name}: {why}");
}

/// True if an executable of this name is in `PATH`.
pub(crate) fn have(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Writes an executable file. Another process does it: a child of a test beside this one that inherits the file open for writing, until
/// its own execve, would keep it from being executed (ETXTBSY).
pub(crate) fn executable(path: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path).stdin(std::process::Stdio::piped());
    let mut child = shell.spawn().expect("sh runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("sh reads it");
    assert!(child.wait().expect("sh ends").success(), "{}", path.display());
}

/// Copies a program, by another process for the same reason as [`executable`].
pub(crate) fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status().expect("cp runs");
    assert!(copied.success(), "{}", to.as_ref().display());
}

/// Returns the path of the tracer library under test: `DXT_TRACER_LIB`, or a build by cargo in this test's target directory and profile.
/// (Cargo does not build a package's cdylib for the package's own tests.)
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = std::env::var_os("DXT_TRACER_LIB").map_or_else(built_library, PathBuf::from);
        library.canonicalize().unwrap_or_else(|error| panic!("failed to find {}: {error}", library.display()))
    })
}

/// Returns the path of libdxt_static.a beside the library under test. Builds it if the library was built.
pub(crate) fn static_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if std::env::var_os("DXT_TRACER_LIB").is_none() {
            built("dxt-tracer-static");
        }
        let library = library().with_file_name("libdxt_static.a");
        assert!(library.is_file(), "there is no {}", library.display());
        library
    })
}

/// Returns the path of dxt-analyze in the tests' profile, as built by `cargo test --workspace`.
pub(crate) fn analyzer() -> PathBuf {
    profile_dir().join("dxt-analyze")
}

fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("failed to find this test's path");
    exe.ancestors().nth(2).expect("a test lies in <target>/<profile>/deps").to_owned()
}

/// Returns the path of dxt-run under test: `DXT_TEST_RUN`, or a build by cargo as for the library.
pub(crate) fn dxt_run() -> &'static Path {
    static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        std::env::var_os("DXT_TEST_RUN").map_or_else(|| built("dxt-run").join("dxt-run"), PathBuf::from)
    })
}

fn built_library() -> PathBuf {
    built("dxt-tracer").join("libdxt_tracer.so")
}

/// Builds a package by cargo; returns the output directory.
fn built(package: &str) -> PathBuf {
    let profile_dir = profile_dir();
    let target_dir = profile_dir.parent().expect("a profile's directory lies in the target directory");
    let profile = if profile_dir.ends_with("debug") { "dev" } else { "release" };
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package, "--profile", profile, "--target-dir"])
        .arg(target_dir)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "failed to build {package}");
    profile_dir
}
