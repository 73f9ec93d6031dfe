//! Compiles the workload programs of testdata/workloads, each variant once per test run.

use super::have;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Who compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Compiler {
    /// The system's C compiler.
    Cc,
    /// The system's C++ compiler.
    Cxx,
    /// MPICH's wrapper.
    Mpich,
    /// Open MPI's wrapper.
    OpenMpi,
}

impl Compiler {
    /// The program to call.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Cxx => "c++",
            Self::Mpich => "mpicc.mpich",
            Self::OpenMpi => "mpicc.openmpi",
        }
    }
}

/// Path of a file of testdata/workloads.
pub(crate) fn workload_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/workloads").join(name)
}

/// The workload `name` (without its ending), compiled plainly.
pub(crate) fn workload(name: &'static str) -> PathBuf {
    workload_with(name, Compiler::Cc, &["-O1"])
}

/// The workload compiled in a way of its own.
pub(crate) fn workload_with(name: &'static str, compiler: Compiler, flags: &[&'static str]) -> PathBuf {
    type Key = (&'static str, Compiler, Vec<&'static str>);
    static BUILT: Mutex<BTreeMap<Key, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    built.entry((name, compiler, flags.to_vec())).or_insert_with(|| build(name, compiler, flags)).clone()
}

fn build(name: &str, compiler: Compiler, flags: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&dir).expect("failed to make a directory for programs");
    let variant = format!("{name}.{}{}", compiler.program(), flags.concat()).replace(['-', '=', '_', '+'], "");
    let (program, unfinished) = (dir.join(&variant), dir.join(format!("{variant}.{}", std::process::id())));
    let output = Command::new(compiler.program())
        .args(["-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(flags)
        .arg("-o")
        .arg(&unfinished)
        .arg(workload_source(&format!("{name}.{}", if compiler == Compiler::Cxx { "cpp" } else { "c" })))
        .output()
        .expect("failed to run the C compiler");
    assert!(output.status.success(), "{name} with {flags:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&unfinished, &program).expect("failed to rename a program");
    program
}

/// The system's Python: the one for which distributions package mpi4py and h5py.
pub(crate) fn python() -> Option<PathBuf> {
    let system = PathBuf::from("/usr/bin/python3");
    system.is_file().then_some(system).or_else(|| have("python3").then(|| "python3".into()))
}
