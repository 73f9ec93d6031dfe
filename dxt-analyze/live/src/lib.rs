//! Live view of running programs: reads calls and rates from the programs' spools without any effect on the programs.
//!
//! [`watch`] finds spools, and [`open_spool`] reads one of them. [`agent`] polls all spools, and turns new data into [`event::Event`]s and
//! [`interval::Interval`]s for the [`sinks`]. [`board`] holds the data for views, and [`screen`] draws them on a terminal. `remote`
//! receives events from agents on other nodes.

#![forbid(unsafe_code)]

pub mod about;
pub mod agent;
mod args;
pub mod board;
pub mod event;
pub mod interval;
pub mod mounts;
pub mod names;
#[cfg(feature = "nats")]
mod nats;
pub mod open_spool;
#[cfg(feature = "serve")]
mod page;
pub mod records;
#[cfg(feature = "nats")]
mod remote;
#[cfg(not(feature = "nats"))]
#[path = "without_nats.rs"]
mod remote;
pub mod screen;
mod shown;
pub mod sinks;
pub mod state;
pub mod tally;
mod time;
pub mod watch;

pub use args::Args;

use agent::{Agent, Settings};
use anyhow::{Context, Result};
use dxt_base::exit::Exit;
use dxt_base::input;
use dxt_base::progress::{say, tell};
use dxt_base::text::units::agree;
use dxt_base::written::growing;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum time between two polls of the spools (files with recorded calls).
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the command `live` until a signal or an option ends it.
///
/// # Errors
/// Fails if directories cannot be watched, or a destination cannot be used.
pub fn live(args: &Args) -> Result<Exit> {
    // Spools are private to their user, so files made from them must be private too.
    input::keep_private();
    let directories = if args.directories.is_empty() { watch::usual_directories() } else { args.directories.clone() };
    let settings = Settings {
        directories,
        named: !args.directories.is_empty(),
        pids: args.pid.clone(),
        jobs: args.job.clone(),
        interval: args.interval,
        sample: args.sample,
        group_ranks: args.group,
        with_mpi: args.mpi,
        state: args.state.as_deref().map(names::here),
    };
    let outlets = args.to.iter().map(|to| to.open(args.rotate)).collect::<Result<Vec<_>>>()?;
    if args.sample > 1 && args.to.iter().any(sinks::To::is_of_connectors_form) {
        say!(
            "dxt-analyze: with --sample {}, rows in the connector's format do not show that each stands for several calls: only their fields cnt and total include all calls",
            args.sample
        );
    }
    let ending = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ending)).context("failed to wait for signals")?;
    }
    if let Some(url) = &args.from {
        return from(url, args, outlets, &ending);
    }
    let mut agent = Agent::new(settings, outlets)?;
    let shows = args.to.is_empty() && args.serve.is_none();
    let page = Page::begin(args, agent.board())?;
    ready(args)?;
    let begun = Instant::now();
    loop {
        let over = agent.look();
        messages(&mut agent);
        if over {
            page.show(agent.board());
        }
        if over && shows {
            show(agent.board())?;
        }
        let done = args.until_end && agent.is_done() || args.time.is_some_and(|time| begun.elapsed() >= time);
        if done || ending.load(Ordering::Relaxed) {
            break;
        }
        agent.wait(LOOK_EVERY);
    }
    agent.finish();
    messages(&mut agent);
    if shows {
        show(agent.board())?;
    } else {
        last_words(&agent);
    }
    if agent.unopened() > 0 {
        let spools = agent.unopened();
        tell(format_args!(
            "dxt-analyze: {spools} {} never opened: the limit on open files is too low; raise it (`ulimit -Hn`)",
            agree(spools, "spool (file with a process's calls) was", "spools (files with a process's calls) were")
        ));
    }
    Ok(if agent.is_incomplete() { Exit::Incomplete } else { Exit::Fine })
}

/// Creates the `--ready` file, which signals that all directories are watched.
fn ready(args: &Args) -> Result<()> {
    let Some(path) = args.ready.as_deref().map(names::here) else { return Ok(()) };
    // Creates the file in place, since a temporary file would mislead a script that counts such files.
    growing(&path).map(drop).with_context(|| format!("failed to make {}", path.display()))
}

/// Shows and delivers the calls that agents elsewhere have sent to the NATS stream at `url`.
fn from(url: &str, args: &Args, outlets: Vec<sinks::Outlet>, ending: &AtomicBool) -> Result<Exit> {
    let mut remote = remote::Remote::new(url, args, outlets)?;
    let shows = args.to.is_empty() && args.serve.is_none();
    let page = Page::begin(args, remote.board())?;
    ready(args)?;
    let begun = Instant::now();
    let say = |remote: &mut remote::Remote| {
        remote.messages().iter().for_each(|message| tell(format_args!("dxt-analyze: {message}")));
    };
    loop {
        let over = remote.look(LOOK_EVERY);
        say(&mut remote);
        if over {
            page.show(remote.board());
        }
        if over && shows {
            show(remote.board())?;
        }
        let done = args.until_end && remote.is_done() || args.time.is_some_and(|time| begun.elapsed() >= time);
        if done || ending.load(Ordering::Relaxed) {
            break;
        }
    }
    remote.finish();
    say(&mut remote);
    if shows {
        show(remote.board())?;
    } else {
        for (count, what) in screen::words(&remote.board().not_seen) {
            say!("dxt-analyze: {count} {what}");
        }
    }
    Ok(if remote.is_incomplete() { Exit::Incomplete } else { Exit::Fine })
}

fn messages(agent: &mut Agent) {
    for message in agent.messages() {
        tell(format_args!("dxt-analyze: {message}"));
    }
}

/// Reports to the user, once at shutdown, the numbers of calls and spools (files with recorded calls) that the agent missed or lost.
fn last_words(agent: &Agent) {
    for (count, what) in screen::words(&agent.board().not_seen) {
        say!("dxt-analyze: {count} {what}");
    }
    if agent.left_behind() > 0 {
        let count = agent.left_behind();
        say!(
            "dxt-analyze: {count} {}",
            agree(
                count,
                "spool (*.spool, file with recorded calls) of a process that ended earlier was not read: make a trace of it with `dxt-analyze recover DIRECTORY`",
                "spools (*.spool, files with recorded calls) of processes that ended earlier were not read: make traces of them with `dxt-analyze recover DIRECTORY`"
            )
        );
    }
}

fn show(board: &board::Board) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let text = screen::draw(board, out.is_terminal());
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("failed to write to standard output")
}

#[cfg(feature = "serve")]
struct Page(Option<page::Shown>);

#[cfg(feature = "serve")]
impl Page {
    fn begin(args: &Args, board: &board::Board) -> Result<Self> {
        let Some(port) = args.serve else { return Ok(Self(None)) };
        let shown = page::Shown::default();
        shown.set(board);
        shown.serve(port)?;
        Ok(Self(Some(shown)))
    }

    fn show(&self, board: &board::Board) {
        if let Some(shown) = &self.0 {
            shown.set(board);
        }
    }
}

/// Placeholder for the web page in a build without the web server.
#[cfg(not(feature = "serve"))]
struct Page;

#[cfg(not(feature = "serve"))]
impl Page {
    fn begin(args: &Args, _board: &board::Board) -> Result<Self> {
        let why = "this dxt-analyze was built without `serve`: omit --serve, or build it with --features serve";
        if args.serve.is_some() { Err(dxt_base::exit::UsageError(why.into()).into()) } else { Ok(Self) }
    }

    fn show(&self, _board: &board::Board) {}
}
