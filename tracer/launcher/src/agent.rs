//! Starts and ends monitoring agents beside the traced command (--live, --live-to): `dxt-analyze live`, which reads the records of running
//! processes without affecting them.

use crate::launch::{Kind, base};
use crate::options::Options;
use crate::place::temporary;
use crate::processes::Processes;
use crate::remarks::slurm_nodes;
use crate::signals::send;
use crate::texts::say;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Maximum time to wait until all monitoring agents are ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// Process that monitors the run: `dxt-analyze live`, or the launcher (such as srun) that has started one `dxt-analyze live` per node.
pub(crate) struct Agent {
    process: i32,
    /// Directory in which each monitoring agent creates a file once it is ready; removed on drop.
    ready: Option<TempDir>,
    /// True if a launcher such as srun starts one agent per node; false for a single agent on this node.
    is_launched: bool,
}

/// Reason why no monitoring agent runs. The command is then not started.
pub(crate) enum NotStarted {
    /// The monitoring agent ended or could not be started, for the reason in this message.
    Because(String),
    /// A signal, with this number, requested that dxt-run end.
    Signal(i32),
}

/// Properties of the run that are needed to start a monitoring agent.
pub(crate) struct Of<'a> {
    pub(crate) options: &'a Options,
    pub(crate) kind: Kind,
    pub(crate) analyze: &'a Path,
    /// Directory of the spools, in which the processes keep their recorded data while they run.
    pub(crate) spools: &'a OsStr,
    /// True if the directory of the spools (data of running processes) was created for this run.
    pub(crate) is_of_run: bool,
    /// Output directory for traces, writable on all nodes.
    pub(crate) output: &'a Path,
}

pub(crate) fn arguments(options: &Options) -> Vec<OsString> {
    let serve = options.live.then(|| "--serve".into());
    serve.into_iter().chain(options.live_to.iter().flat_map(|to| ["--to".into(), to.clone()])).collect()
}

impl Agent {
    /// Starts the monitoring agents and waits until they are ready, since a late agent would miss short programs.
    pub(crate) fn start(of: &Of<'_>, processes: &mut Processes) -> Result<Self, NotStarted> {
        let program = of.options.command[0].to_string_lossy();
        let mut launch = launch(of);
        let mut live = arguments(of.options);
        let agents = if launch.is_empty() { None } else { std::env::var("SLURM_JOB_NUM_NODES").ok() };
        let agents = agents.and_then(|nodes| nodes.parse().ok()).unwrap_or(1);
        let is_launched = !launch.is_empty();
        if is_launched {
            own_files(&mut live);
            if of.is_of_run {
                // Creates the directory on other nodes before their first spool, so that no spool comes and goes unwatched.
                let make = "mkdir -p -m 700 -- \"$0\" && exec \"$@\"";
                launch.extend(["sh", "-c", make].map(OsString::from));
                launch.push(of.spools.to_owned());
            }
        }
        let shared = if is_launched { of.output.to_owned() } else { temporary() };
        let ready = tempfile::Builder::new().prefix(".dxt-live.").rand_bytes(8).tempdir_in(shared).ok();
        if let Some(ready) = &ready {
            let mut file = crate::texts::os(crate::texts::doubled(ready.path().as_os_str()));
            file.push("/%h");
            live.extend(["--ready".into(), file]);
        }
        let mut words = launch.into_iter().chain([of.analyze.into(), "live".into(), of.spools.to_owned()]).chain(live);
        let first = words.next().unwrap_or_default();
        let mut command = Command::new(&first);
        command.args(words).stdin(Stdio::null());
        if let Ok(error) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3) {
            command.stdout(error);
        }
        // A terminal's interrupt is meant for the command, not for the agent.
        let failed = |error| {
            NotStarted::Because(format!("failed to run {}: {error}: {program} was not started", first.display()))
        };
        let process = processes.start(&mut command, &[libc::SIGINT, libc::SIGQUIT]).map_err(failed)?;
        let agent = Self { process, ready, is_launched };
        let began = Instant::now();
        while !agent.all_watch(agents) {
            // The agent has ended and reported why. No data is lost yet, since the command has not been started.
            if let Some(status) = processes.ended(process) {
                if agent.all_watch(agents) {
                    break;
                }
                return Err(NotStarted::Because(format!(
                    "dxt-analyze live (for --live or --live-to) ended with exit code {} (its message is above): {program} was not started",
                    code(status)
                )));
            }
            if began.elapsed() > PATIENCE || agent.ready.is_none() {
                say!("dxt-analyze live is not ready yet: it may miss the first calls of {program}");
                break;
            }
            if let Some(signal) = processes.pause(Duration::from_millis(20)) {
                send(process, libc::SIGTERM);
                return Err(NotStarted::Signal(signal));
            }
        }
        Ok(agent)
    }

    /// True if all `agents` agents are ready: each has created the file that announces this.
    fn all_watch(&self, agents: usize) -> bool {
        let files = self.ready.iter().filter_map(|ready| std::fs::read_dir(ready.path()).ok()).flatten();
        files.count() >= agents
    }

    /// Lets the monitoring agents read the last records for 0.5 s, ends them, and reports if their output is incomplete.
    pub(crate) fn end(self, processes: &mut Processes) {
        let until = Instant::now() + Duration::from_millis(500);
        while processes.ended(self.process).is_none() && Instant::now() < until {
            processes.pause(until.saturating_duration_since(Instant::now()));
        }
        send(self.process, libc::SIGTERM);
        match code(processes.wait_patiently(self.process)) {
            0 => {}
            3 => say!("the live data are incomplete: dxt-analyze live ended with exit code 3 (its message is above)"),
            // Usual exit code of a launcher after SIGTERM.
            143 if self.is_launched => {}
            143 => say!("dxt-analyze live was terminated before it had exported all data"),
            code => say!("dxt-analyze live failed with exit code {code} (its message is above)"),
        }
    }
}

/// Returns the exit code of an ended process as a shell reports it (128 + signal for a killed process).
pub(crate) fn code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Returns the command that starts one agent per node; empty for a single agent on this node. In a Slurm job it is an srun of
/// its own with one agent per node, beside the command that starts the ranks.
fn launch(of: &Of<'_>) -> Vec<OsString> {
    if let Some(given) = of.options.live_launch.as_ref().filter(|given| !given.is_empty()) {
        let words = given.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        return words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
    }
    let of_ranks = of.kind.is_launcher() || base(&of.options.command[0]) == "srun";
    let Some(nodes) = slurm_nodes().filter(|_| of_ranks) else { return Vec::new() };
    [
        "srun".into(),
        "--overlap".into(),
        "--ntasks-per-node=1".into(),
        format!("--nodes={nodes}"),
        format!("--ntasks={nodes}"),
    ]
    .map(OsString::from)
    .to_vec()
}

/// Appends the node's name to the names of output files, since agents on several nodes must not write the same file.
fn own_files(live: &mut [OsString]) {
    const FILES: [&str; 5] = ["connector:", "csv:", "events:", "intervals:", "parquet:"];
    for at in 1..live.len() {
        let to = live[at].to_string_lossy().into_owned();
        let is_file = FILES.iter().any(|kind| to.strip_prefix(kind).is_some_and(|name| !name.is_empty()));
        let is_own = to.contains("%h") || to.ends_with(":-") || to.contains(":/dev/");
        if live[at - 1] == "--to" && is_file && !is_own {
            live[at].push(".%h");
            say!("each node writes its own file: --live-to {} (%h is the node's name)", live[at].display());
        }
    }
}

/// Returns the agent's arguments for display. A destination (`TYPE:ADDRESS`) with a `@`, `?`, `=` or space in its address is shown as
/// `TYPE:...`, since a job's output must not reveal database credentials.
pub(crate) fn shown(options: &Options) -> Vec<u8> {
    let mut line = Vec::new();
    for word in arguments(options) {
        let bytes = word.as_bytes();
        line.push(b' ');
        match bytes.iter().position(|byte| *byte == b':') {
            Some(at) if bytes[at..].iter().any(|byte| b"@?= ".contains(byte)) => {
                line.extend([&bytes[..at], b":..."].concat());
            }
            _ => line.extend(crate::texts::quoted(&word)),
        }
    }
    line
}

/// Returns the directory of the spools, which hold the data of running processes: `own`, created by dxt-run, or `asked`, requested by the
/// user.
pub(crate) fn spools(own: Option<&PathBuf>, asked: Option<OsString>) -> OsString {
    own.map(|own| own.clone().into_os_string()).or(asked).unwrap_or_default()
}
