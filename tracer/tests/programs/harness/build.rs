//! Compiles the test programs in testdata/workloads. Each program is built once per test run and set of flags.

use super::have;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Compiler for a test program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Compiler {
    Cc,
    Cxx,
    Mpich,
    OpenMpi,
    MpichFortran,
    OpenMpiFortran,
}

impl Compiler {
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Cxx => "c++",
            Self::Mpich => "mpicc.mpich",
            Self::OpenMpi => "mpicc.openmpi",
            Self::MpichFortran => "mpif90.mpich",
            Self::OpenMpiFortran => "mpif90.openmpi",
        }
    }

    /// Returns the compiler flags for all programs. Warnings are off where mpif.h causes them.
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::MpichFortran | Self::OpenMpiFortran => &["-w", "-fallow-argument-mismatch", "-pthread"],
            _ => &["-Wall", "-Wextra", "-Werror", "-pthread"],
        }
    }

    fn sources(self, name: &str) -> Vec<PathBuf> {
        match self {
            Self::MpichFortran | Self::OpenMpiFortran => {
                vec![workload_source(&format!("{name}.F90")), workload_source("oplog_fortran.c")]
            }
            Self::Cxx => vec![workload_source(&format!("{name}.cpp"))],
            _ => vec![workload_source(&format!("{name}.c"))],
        }
    }
}

pub(crate) fn workload_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/workloads").join(name)
}

/// Builds the test program `name` (without suffix) with default flags; returns its path.
pub(crate) fn workload(name: &'static str) -> PathBuf {
    workload_with(name, Compiler::Cc, &["-O1"])
}

/// Builds the test program `name` with the given compiler and flags; returns its path.
pub(crate) fn workload_with(name: &'static str, compiler: Compiler, flags: &[&'static str]) -> PathBuf {
    type Key = (&'static str, Compiler, Vec<&'static str>);
    static BUILT: Mutex<BTreeMap<Key, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let build = || build(name, compiler, flags, &format!("{name}.{}{}", compiler.program(), flags.concat()));
    built.entry((name, compiler, flags.to_vec())).or_insert_with(build).clone()
}

/// Builds the test program `name` with HDF5 (package `hdf5-<build>` of pkg-config(1)); returns its path. If HDF5 is missing, returns `None`
/// and prints a message.
pub(crate) fn workload_hdf5(name: &str, compiler: Compiler, hdf5: &str, flags: &[&str]) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let asked = Command::new("pkg-config").args(["--cflags", "--libs", &format!("hdf5-{hdf5}")]).output();
    let Some(output) = asked.ok().filter(|output| output.status.success()) else {
        super::skip(&format!("no HDF5 to compile with (pkg-config hdf5-{hdf5})"));
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all = vec!["-O1", "-Wl,--no-as-needed"];
    all.extend(flags);
    all.extend(text.split_whitespace());
    let variant = format!("{name}.{}.{hdf5}{}", compiler.program(), flags.concat());
    Some(build(name, compiler, &all, &variant))
}

fn build(name: &str, compiler: Compiler, flags: &[&str], variant: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&dir).expect("failed to make a directory for programs");
    let variant = variant.replace(['-', '=', '_', '+'], "");
    let (program, unfinished) = (dir.join(&variant), dir.join(format!("{variant}.{}", std::process::id())));
    let output = Command::new(compiler.program())
        .args(compiler.flags())
        .args(flags)
        .arg("-o")
        .arg(&unfinished)
        .args(compiler.sources(name))
        .output()
        .expect("failed to run the compiler");
    assert!(output.status.success(), "{name} with {flags:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&unfinished, &program).expect("failed to rename a program");
    program
}

/// Returns the system's Python interpreter, for which distributions package mpi4py and h5py; `None` if there is none.
pub(crate) fn python() -> Option<PathBuf> {
    let system = PathBuf::from("/usr/bin/python3");
    system.is_file().then_some(system).or_else(|| have("python3").then(|| "python3".into()))
}
