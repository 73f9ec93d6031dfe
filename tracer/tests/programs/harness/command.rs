//! Runs programs, alone or on MPI ranks, with or without the preloaded library, under a time limit.

use super::{Compiler, Scratch, Traces, have, library, read_log};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Time limit for one program, in seconds.
const LIMIT_SECONDS: &str = "240";

/// Program to run, with its arguments, environment and MPI.
pub(crate) struct Launch<'a> {
    scratch: &'a Scratch,
    command: Vec<OsString>,
    mpi: Option<(Compiler, u32)>,
    preload: bool,
    directory: PathBuf,
    variables: Vec<(OsString, Option<OsString>)>,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    /// Exit code of the program, or 128 + the number of the signal that ended the program.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl<'a> Launch<'a> {
    /// Returns a launch of `program` with the tracer preloaded and all output in the scratch directory.
    pub(crate) fn new(scratch: &'a Scratch, program: impl AsRef<Path>) -> Self {
        let (command, directory) = (vec![program.as_ref().into()], scratch.root().to_owned());
        let launch = Self { scratch, command, mpi: None, preload: true, directory, variables: Vec::new() };
        let launch = launch.env("OPLOG", scratch.log()).env("DXT_ENABLE", "trace");
        launch.env("DXT_OUTPUT_DIR", scratch.traces()).env("DXT_SPOOL", scratch.spools())
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.push(argument.as_ref().into());
        self
    }

    pub(crate) fn args<const N: usize>(self, arguments: [&str; N]) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets the working directory to the data directory, instead of the scratch directory.
    pub(crate) fn in_data(mut self) -> Self {
        self.directory = self.scratch.data();
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), Some(value.as_ref().into())));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.push((name.into(), None));
        self
    }

    /// Runs the program without the preloaded library.
    pub(crate) fn untraced(mut self) -> Self {
        self.preload = false;
        self
    }

    /// Runs the program on `ranks` MPI ranks.
    pub(crate) fn ranks(mut self, mpi: Compiler, ranks: u32) -> Self {
        self.mpi = Some((mpi, ranks));
        self
    }

    pub(crate) fn run(self) -> Outcome {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", LIMIT_SECONDS]);
        if let Some((mpi, ranks)) = self.mpi {
            command.args(launcher(mpi)).args(["-n", &ranks.to_string()]);
            // Open MPI refuses to run as root unless both variables are set; other launchers ignore them.
            if is_root() {
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                // More ranks than processors: those that wait let others run, or collective calls take twice as long.
                command.env("OMPI_MCA_mpi_yield_when_idle", "1");
            }
        }
        // env(1), started by the launcher, sets the variables, so that launchers are not preloaded.
        command.arg("env");
        // The last setting of a variable wins. env(1) requires options before assignments.
        let variables: BTreeMap<_, _> = self.variables.iter().map(|(name, value)| (name, value)).collect();
        for name in variables.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name) {
            command.arg("-u").arg(name);
        }
        for (name, value) in variables {
            if let Some(value) = value {
                command.arg(joined(name, value));
            }
        }
        if self.preload {
            let own = self.variables.iter().any(|(name, _)| name == "LD_PRELOAD");
            assert!(!own, "only untraced() leaves LD_PRELOAD to the test");
            command.arg(joined(OsStr::new("LD_PRELOAD"), library().as_os_str()));
        }
        command.args(&self.command);
        command.current_dir(&self.directory).stdin(Stdio::null()).env_remove("LD_PRELOAD");
        let mut output = command.output().expect("failed to run timeout(1)");
        // If two launchers of Open MPI 4 run at once, one may remove the other's new directory (orte/util/session_dir.c) before the program starts.
        for _ in 0..5 {
            if !output.stderr.windows(13).any(|words| words == b"session_dir.c") {
                break;
            }
            output = command.output().expect("failed to run timeout(1)");
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        assert!(code != 124, "{:?} took longer than {LIMIT_SECONDS} s", self.command);
        Outcome { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Runs the program and asserts exit code 0. Returns the operations in the program's own log, and its traces.
    pub(crate) fn traced(self) -> (Vec<super::Op>, Traces) {
        let scratch = self.scratch;
        let outcome = self.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        (read_log(scratch), Traces::read(&scratch.traces()))
    }
}

fn joined(name: &OsStr, value: &OsStr) -> OsString {
    let mut both = name.to_owned();
    both.push("=");
    both.push(value);
    both
}

/// Returns the MPI launcher, with the options needed on a machine with few CPUs.
fn launcher(mpi: Compiler) -> &'static [&'static str] {
    match mpi {
        Compiler::Mpich | Compiler::MpichFortran => &["mpirun.mpich"],
        _ => &["mpirun.openmpi", "--oversubscribe"],
    }
}

pub(crate) fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:") && line.contains("\t0\t0")))
}

impl Compiler {
    /// True if this MPI is installed; otherwise reports the skipped test.
    pub(crate) fn available(self) -> bool {
        let missing = [self.program(), launcher(self)[0]].into_iter().find(|program| !have(program));
        if let Some(program) = missing {
            super::skip(&format!("{program} is not installed"));
        }
        let fortran = matches!(self, Self::MpichFortran | Self::OpenMpiFortran);
        let there = missing.is_none() && (!fortran || have("gfortran"));
        if missing.is_none() && !there {
            super::skip("gfortran is not installed");
        }
        there
    }
}
