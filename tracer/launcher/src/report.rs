//! Recovers data of killed processes after the run, and reports the traces written or the reason why there is none.

use crate::conf::Conf;
use crate::files::program;
use crate::launch::{Kind, base};
use crate::place::Place;
use crate::processes::Processes;
use crate::texts::say;
use rustix::fs::Mode;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Signals that `dxt-analyze recover`, run after the command, ignores: they were meant for the command.
const HELD_OFF: [i32; 4] = crate::signals::ENDING;

/// Recovers traces from the spools (files of recorded data) of processes that were killed or could not write their trace, by running
/// `analyze` (path of dxt-analyze; if `None`, only reports the spools).
pub(crate) fn recover(spools: &Path, place: &Place, conf: &Conf, analyze: Option<&Path>, processes: &mut Processes) {
    for done in files(spools, "done") {
        let _ = std::fs::remove_file(done);
    }
    if !place.is_own() {
        say!("nothing is written to {}: the directory belongs to another user", place.directory.display());
    } else if !files(spools, "spool").is_empty() {
        if let Some(analyze) = analyze {
            if place.is_of_user() {
                // A user's own directory is closed to other users.
                rustix::process::umask(Mode::from_raw_mode(0o077));
                let _ = place.make(conf);
            }
            let mut command = Command::new(analyze);
            command.args(["recover", "--remove", "--output"]).arg(&place.directory).arg(spools).stdout(Stdio::null());
            let status = processes.start(&mut command, &HELD_OFF).map(|process| processes.wait_patiently(process));
            if !status.is_ok_and(|status| status.success()) {
                say!("some data could not be recovered from {}", spools.display());
            }
        } else {
            say!(
                "some processes did not write their trace; dxt-analyze recover can write it from the data in {}",
                spools.display()
            );
        }
    }
    if std::fs::remove_dir(spools).is_err() && spools.exists() {
        say!(
            "{} still holds recorded data of processes that are still running or could not write their trace",
            spools.display()
        );
    }
}

/// Returns the files below `directory` with the extension `ending`, in all subdirectories.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path, ending));
        } else if path.extension() == Some(OsStr::new(ending)) {
            found.push(path);
        }
    }
    found
}

pub(crate) struct Of<'a> {
    pub(crate) command: &'a OsStr,
    pub(crate) kind: Kind,
    /// True if a warning about an untraceable program was printed before the run.
    pub(crate) is_remarked: bool,
    pub(crate) filters: String,
    pub(crate) output: &'a Path,
}

/// Reports the traces in `new` or, if there are none, possible reasons.
pub(crate) fn written(of: &Of<'_>, new: &BTreeSet<PathBuf>, status: ExitStatus) {
    let (program_name, output) = (of.command.display(), of.output.display());
    match new.len() {
        0 => {}
        1..=8 => return new.iter().for_each(|trace| say!("wrote {}", trace.display())),
        count => return say!("wrote {count} traces in {output}"),
    }
    let is_found = program(of.command).is_some();
    let ended = match (status.code(), status.signal()) {
        (Some(0), _) => String::new(),
        _ if !is_found => String::new(),
        (Some(code), _) => format!("; {} exited with status {code}", base(of.command)),
        (None, signal) => format!("; {} was killed by signal {}", base(of.command), signal.unwrap_or(0)),
    };
    say!("no trace was written{ended}");
    let filters = &of.filters;
    let elsewhere =
        format!("wrote its trace where dxt-run cannot see it (chroot, a container), or could not write to {output}");
    if !is_found {
        match Path::new(of.command).exists() {
            true => say!("{program_name} exists but cannot be run as a program"),
            false => say!("{program_name} was not found"),
        }
    } else if of.is_remarked {
    } else if of.kind == Kind::Program {
        say!(
            "possible reasons: {program_name} did no I/O on traced files{filters}, was killed, started only programs without the C library (static, or written in Go), {elsewhere}"
        );
    } else {
        say!(
            "possible reasons: the ranks did no I/O on traced files{filters}, their program is static or setuid, or they could not write to {output}"
        );
    }
}
