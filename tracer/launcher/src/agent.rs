//! The agent beside the run (--live, --live-to): `dxt-analyze live`, which reads what processes record while they do; it touches none of them.

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

/// Time in which an agent should watch.
const PATIENCE: Duration = Duration::from_secs(5);

/// An agent that runs.
pub(crate) struct Agent {
    process: i32,
    /// Where each agent makes a file when it watches; removed when this is dropped.
    ready: Option<TempDir>,
    /// True if a launcher starts it on nodes.
    is_launched: bool,
}

/// Why there is no agent, so that the command is not started.
pub(crate) enum NotStarted {
    /// The agent ended, or could not be started: the message.
    Because(String),
    /// A signal told dxt-run to end.
    Signal(i32),
}

/// What the agent needs to know of the run.
pub(crate) struct Of<'a> {
    pub(crate) options: &'a Options,
    pub(crate) kind: Kind,
    pub(crate) analyze: &'a Path,
    /// Where spools lie.
    pub(crate) spools: &'a OsStr,
    /// True if that directory is made for this run.
    pub(crate) is_of_run: bool,
    /// Where traces go, which all nodes can write.
    pub(crate) output: &'a Path,
}

/// The options of `dxt-analyze live`.
pub(crate) fn arguments(options: &Options) -> Vec<OsString> {
    let serve = options.live.then(|| "--serve".into());
    serve.into_iter().chain(options.live_to.iter().flat_map(|to| ["--to".into(), to.clone()])).collect()
}

impl Agent {
    /// Starts it and waits until it watches: what is over at once would not be seen by an agent that comes late.
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
                // On other nodes the directory is there before its first spool, so that none comes and goes unwatched.
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
        // A terminal's interrupt is for the command.
        let failed = |error| {
            NotStarted::Because(format!("failed to run {}: {error}: {program} was not started", first.display()))
        };
        let process = processes.start(&mut command, &[libc::SIGINT, libc::SIGQUIT]).map_err(failed)?;
        let agent = Self { process, ready, is_launched };
        let began = Instant::now();
        while !agent.all_watch(agents) {
            // It has ended, and has said why: before anything was lost.
            if let Some(status) = processes.ended(process) {
                if agent.all_watch(agents) {
                    break;
                }
                return Err(NotStarted::Because(format!(
                    "dxt-analyze live, which --live and --live-to start, ended with {} (it says why above): {program} was not started",
                    code(status)
                )));
            }
            if began.elapsed() > PATIENCE || agent.ready.is_none() {
                say!("dxt-analyze live does not watch yet: what {program} does first may not be seen");
                break;
            }
            if let Some(signal) = processes.pause(Duration::from_millis(20)) {
                send(process, libc::SIGTERM);
                return Err(NotStarted::Signal(signal));
            }
        }
        Ok(agent)
    }

    /// True if so many agents watch, of which each makes a file.
    fn all_watch(&self, agents: usize) -> bool {
        let files = self.ready.iter().filter_map(|ready| std::fs::read_dir(ready.path()).ok()).flatten();
        files.count() >= agents
    }

    /// Ends it when it has had time to see what was recorded last, and says what it lacks.
    pub(crate) fn end(self, processes: &mut Processes) {
        let until = Instant::now() + Duration::from_millis(500);
        while processes.ended(self.process).is_none() && Instant::now() < until {
            processes.pause(until.saturating_duration_since(Instant::now()));
        }
        send(self.process, libc::SIGTERM);
        match code(processes.wait_patiently(self.process)) {
            0 => {}
            3 => say!("what was passed on lacks something: dxt-analyze live ended with 3 (it says what above)"),
            // A launcher that was told to end.
            143 if self.is_launched => {}
            143 => say!("dxt-analyze live was ended before it had passed on everything"),
            code => say!("dxt-analyze live failed: it ended with {code} (it says why above)"),
        }
    }
}

/// Exit code as a shell has it.
pub(crate) fn code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// What starts an agent on each node. In a job of Slurm's one comes to each node beside whatever launches the ranks.
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

/// Gives each node files of its own: agents that write one file would be in each other's way.
fn own_files(live: &mut [OsString]) {
    const FILES: [&str; 5] = ["connector:", "csv:", "events:", "intervals:", "parquet:"];
    for at in 1..live.len() {
        let to = live[at].to_string_lossy().into_owned();
        let is_file = FILES.iter().any(|kind| to.strip_prefix(kind).is_some_and(|name| !name.is_empty()));
        let is_own = to.contains("%h") || to.ends_with(":-") || to.contains(":/dev/");
        if live[at - 1] == "--to" && is_file && !is_own {
            live[at].push(".%h");
            say!("each node has its own: --live-to {} (%h is the node's name)", live[at].display());
        }
    }
}

/// Arguments as they may be shown: who may read a job's output need not know what opens a database.
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

/// Where the spools of a run lie: a directory of its own, or the one that was asked for.
pub(crate) fn spools(own: Option<&PathBuf>, asked: Option<OsString>) -> OsString {
    own.map(|own| own.clone().into_os_string()).or(asked).unwrap_or_default()
}
