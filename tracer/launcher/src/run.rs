//! Runs dxt-run from the options to the final report.

use crate::agent::{self, Agent, NotStarted};
use crate::check::{Verdict, ask};
use crate::conf::Conf;
use crate::files::{ours, program};
use crate::launch::{Kind, Run, listing};
use crate::options::Options;
use crate::place::{self, Place};
use crate::processes::Processes;
use crate::remarks::{Remarks, filters};
use crate::settings::{Settings, is_live, job};
use crate::signals::Signals;
use crate::texts::{print, quoted, say};
use crate::{hints, report};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Way in which dxt-run itself must end, to show its caller how the command ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// dxt-run must exit with this exit code.
    Code(i32),
    /// dxt-run must die of this signal.
    Signal(i32),
}

/// Exit code for an invalid option or variable.
const WRONG_USE: i32 = 2;

/// Runs dxt-run with the command line `words`.
#[must_use]
pub fn run(words: Vec<OsString>, signals: Signals) -> Ending {
    let options = match Options::read(words) {
        Ok(options) => options,
        Err((text, true)) => {
            print(text.as_bytes());
            return Ending::Code(0);
        }
        Err((text, false)) => {
            let _ = io::Write::write_all(&mut io::stderr(), text.as_bytes());
            return Ending::Code(WRONG_USE);
        }
    };
    start(&options, signals).unwrap_or_else(|why| {
        say!("{why}");
        Ending::Code(WRONG_USE)
    })
}

fn start(options: &Options, signals: Signals) -> Result<Ending, String> {
    if options.version {
        let known = |file: Option<PathBuf>| {
            file.and_then(|file| file.canonicalize().ok())
                .map_or("not found".to_owned(), |file| file.display().to_string())
        };
        let library = options.lib.clone().or_else(|| ours("libdxt_tracer.so", None));
        let analyze = analyzer(library.as_deref());
        let version = env!("CARGO_PKG_VERSION");
        print(format!("dxt-run {version}\ntracer    {}\nanalyzer  {}\n", known(library), known(analyze)).as_bytes());
        return Ok(Ending::Code(0));
    }
    let library = library(options)?;
    if let Some(words) = &options.link_flags {
        return link_flags(&library, words, signals);
    }
    if library.as_os_str().as_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        let place = library.display();
        return Err(format!("LD_PRELOAD allows no space or colon in the path of the library: {place}"));
    }
    if options.print_preload {
        print(format!("{}\n", library.display()).as_bytes());
        return Ok(Ending::Code(0));
    }
    traced(options, &library, signals)
}

fn library(options: &Options) -> Result<PathBuf, String> {
    let found = options.lib.clone().or_else(|| ours("libdxt_tracer.so", None));
    let place = found.ok_or("failed to find libdxt_tracer.so; build it (cargo build --release) or pass --lib FILE")?;
    place.canonicalize().map_err(|_| format!("there is no {}", place.display()))
}

fn analyzer(library: Option<&Path>) -> Option<PathBuf> {
    ours("dxt-analyze", library).or_else(|| program("dxt-analyze".as_ref()))
}

/// Runs the script that prints link flags, in place of this process. Returns only on failure.
fn link_flags(library: &Path, words: &[OsString], signals: Signals) -> Result<Ending, String> {
    let archive = library.with_file_name("libdxt_static.a");
    if !archive.exists() {
        return Err(format!(
            "there is no {}; build it (cargo build --release -p dxt-tracer-static)",
            archive.display()
        ));
    }
    let mut command = Command::new("bash");
    command.args(["-c", include_str!("../../../scripts/link-flags"), "link-flags"]).arg(archive).args(words);
    let error = signals.hand_on(&mut command, &[]).exec();
    Err(format!("failed to run bash, which --link-flags needs: {error}"))
}

/// Runs the command under the tracer and reports the traces.
fn traced(options: &Options, library: &Path, signals: Signals) -> Result<Ending, String> {
    let command = &options.command;
    let analyze = analyzer(Some(library));
    if is_live(options) && analyze.is_none() {
        return Err("failed to find dxt-analyze, which --live needs; build it (cargo build --release)".to_owned());
    }
    let config = options.config.clone().or_else(|| crate::texts::variable("DXT_CONFIG").map(PathBuf::from));
    let conf = config.map_or_else(|| Ok(Conf::default()), |path| Conf::read(&path))?;
    let (job, number) = job(&conf);
    let place = Place::new(options.output.as_deref(), &conf, &number);
    let mode = if options.counters { "counters" } else { "trace" };
    let mut settings = Settings::of_options(options, &conf);
    settings.add("DXT_ENABLE", mode);
    settings.add("DXT_OUTPUT_DIR", &place.pattern);
    settings.add("DXT_JOB_ID", job);
    let advised = options.hints.as_ref().map(|hints| hints::add(&mut settings, hints, command));
    let launched = advised.transpose()?.unwrap_or_default();
    settings.add_environment(&conf);
    settings.add_preload(library);

    match ask(&settings, mode, library) {
        Verdict::Fine => {}
        Verdict::Refused => return Err(format!("{} was not started", command[0].display())),
        Verdict::CannotLoad(why) => {
            let why =
                format!("which cannot be loaded here: {why} (docs/install.md says how to build for older systems)");
            return untraced(options, &why, signals);
        }
    }
    let kind = Kind::of(&command[0]);
    let listing = listing(kind, command);
    let remarks = Remarks::new(kind, command, listing.as_ref().map(|(_, file)| file.as_path()), library);
    if let Some((program, why)) = &remarks.foreign {
        return untraced(options, &format!("which cannot be loaded into {}: {why}", program.display()), signals);
    }
    let is_remarked = !remarks.untraced.is_empty();
    // A collective trace needs all ranks: untraced ranks would block the others forever.
    if kind.is_launcher() && is_remarked && settings.get("DXT_FLUSH").is_none() {
        settings.add("DXT_FLUSH", "process");
    }

    // Directory for the spools of this run alone. On other nodes the first process that needs the directory creates it.
    let asked = conf.set("DXT_SPOOL");
    let mut spools = None;
    if !options.dry_run {
        let failed = |_| format!("failed to create the output directory {}", place.directory.display());
        if !place.is_of_user() {
            place.make(&conf).map_err(failed)?;
            settings.add_made("DXT_OUTPUT_ID", &place.directory);
        }
        if asked.is_none() {
            // Ranks run long, on other nodes too, and what is larger than by default belongs on a disk.
            let sizes = ["DXT_BUFFER_MAX", "DXT_MPI_BUFFER_MAX", "DXT_COUNTERS_FILES", "DXT_OVERFLOW"];
            let is_small = sizes.iter().all(|name| settings.get(name).is_none() && conf.set(name).is_none());
            match place::spools(is_small && !kind.is_launcher()) {
                Ok(made) => {
                    settings.add("DXT_SPOOL", &made);
                    settings.add_made("DXT_SPOOL_ID", &made);
                    spools = Some(made);
                }
                // Without the directory, each process chooses a place for its spool.
                Err(temporary) => say!(
                    "failed to create a directory in {}: data of killed processes on this node are not recovered",
                    temporary.display()
                ),
            }
        }
    }
    let run = Run::new(kind, command, &settings, &launched, listing);
    if options.dry_run {
        dry_run(options, kind, &settings, &launched, &run);
        return Ok(Ending::Code(0));
    }

    let mut processes = Processes::new(signals);
    let mut agent = None;
    if is_live(options) {
        let spools_of_agent = agent::spools(spools.as_ref(), asked);
        let of = agent::Of {
            options,
            kind,
            analyze: analyze.as_deref().unwrap_or(Path::new("dxt-analyze")),
            spools: &spools_of_agent,
            is_of_run: spools.is_some(),
            output: &place.directory,
        };
        match Agent::start(&of, &mut processes) {
            Ok(started) => agent = Some(started),
            Err(why) => {
                spools.as_ref().map(std::fs::remove_dir);
                return match why {
                    NotStarted::Because(why) => Err(why),
                    NotStarted::Signal(signal) => Ok(Ending::Signal(signal)),
                };
            }
        }
    }
    let before = place.traces();
    // Handles a signal that arrived before the command was started.
    if let Some(signal) = processes.pause(std::time::Duration::ZERO) {
        if let Some(agent) = agent {
            agent.end(&mut processes);
        }
        spools.as_ref().map(std::fs::remove_dir);
        return Ok(Ending::Signal(signal));
    }
    let status = match processes.start(&mut of_run(&run), &[]) {
        Ok(process) => processes.wait_and_forward(process),
        Err(error) => std::process::ExitStatus::from_raw(not_run(&command[0], &error) << 8),
    };
    drop(run);
    if let Some(agent) = agent {
        agent.end(&mut processes);
    }
    if let Some(spools) = &spools {
        report::recover(spools, &place, &conf, analyze.as_deref(), &mut processes);
    }
    if !options.quiet {
        let new = place.traces().difference(&before).cloned().collect();
        let of = report::Of {
            command: &command[0],
            kind,
            is_remarked,
            filters: filters(&settings),
            output: &place.directory,
        };
        report::written(&of, &new, status);
    }
    Ok(status.signal().map_or_else(|| Ending::Code(status.code().unwrap_or(1)), Ending::Signal))
}

fn of_run(run: &Run) -> Command {
    let mut command = Command::new(&run.words[0]);
    command.args(&run.words[1..]).envs(run.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Reports why a program could not be started; returns the exit code that env(1) would use.
fn not_run(program: &OsStr, error: &io::Error) -> i32 {
    say!("failed to run {}: {error}", program.display());
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Replaces this process by the command without the tracer, and reports why.
fn untraced(options: &Options, why: &str, signals: Signals) -> Result<Ending, String> {
    let words = &options.command;
    say!("{} runs without the tracer, {why}", words[0].display());
    if options.dry_run {
        print(&[b"#", &*line(words), b"\n"].concat());
        return Ok(Ending::Code(0));
    }
    let mut command = Command::new(&words[0]);
    let error = signals.hand_on(command.args(&words[1..]), &[]).exec();
    Ok(Ending::Code(not_run(&words[0], &error)))
}

/// Returns the words of a command, quoted for a shell, each after a space.
fn line(words: &[OsString]) -> Vec<u8> {
    words.iter().flat_map(|word| [b" ".to_vec(), quoted(word)].concat()).collect()
}

/// Prints the environment variables that would be set and the command that would run (--dry-run).
fn dry_run(options: &Options, kind: Kind, settings: &Settings, launched: &[(String, OsString)], run: &Run) {
    let mut out = Vec::new();
    for (name, value) in settings.0.iter().chain(launched) {
        out.extend([b"export ", name.as_bytes(), b"=", &*quoted(value), b"\n"].concat());
    }
    if is_live(options) {
        out.extend([b"# started as well: dxt-analyze live", &*agent::shown(options), b"\n"].concat());
    }
    let by_environment = !matches!(kind, Kind::OpenMpi | Kind::Hydra);
    let words = if by_environment { &options.command } else { &run.words };
    out.extend([b"#", &*line(words), b"\n"].concat());
    print(&out);
}
