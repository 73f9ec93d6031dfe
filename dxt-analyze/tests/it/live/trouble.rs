//! Tests of agents under adverse conditions: an agent keeps running, reports the problem, and exits with a code that indicates missing data.

use super::{Running, agent};
use crate::common;
use crate::harness::{Launch, Scratch, skip_here, workload};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Returns `/dev/full` for use as standard error: every write fails with ENOSPC.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// Returns the command of an agent that finds a junk file with a spool's name, and so prints a message.
fn beside_junk(scratch: &Scratch, args: &[&str]) -> Command {
    let command = agent(scratch, args);
    std::fs::write(scratch.spools().join("dxt-0-1-2-0.spool"), vec![b'x'; 1 << 16]).unwrap();
    command
}

#[test]
fn an_agent_goes_on_though_nothing_can_be_said() {
    let said = beside_junk(&Scratch::new(), &["--to", "events:events", "--for", "300ms"]).output().unwrap();
    assert!(!said.stderr.is_empty());
    let output = |command: &mut Command| command.output().unwrap().status.code();
    let scratch = Scratch::new();
    let mut command = beside_junk(&scratch, &["--to", "events:events", "--for", "300ms"]);
    assert_eq!(output(command.stderr(full())), Some(0));
    // Standard error is a pipe without a reader.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let scratch = Scratch::new();
    let mut command = beside_junk(&scratch, &["--to", "events:events", "--for", "300ms"]);
    assert_eq!(output(command.stderr(writer)), Some(0));
    // Errors are reported by the exit code.
    assert_eq!(output(common::command(&["live", "--to", "nothing"]).stderr(full())), Some(2));
    assert_eq!(output(common::command(&["summary", "/nonexistent"]).stderr(full())), Some(1));
}

/// Returns exit code and standard error of a finished agent.
fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The exit code indicates data that could not be passed on or saved.
#[test]
fn what_could_not_be_written_is_in_the_exit_code() {
    let run = |to: &[&str], prepare: fn(&Path)| {
        let scratch = Scratch::new();
        let mut command = agent(&scratch, &["--until-end"]);
        prepare(&scratch.data());
        let agent = Running::started({
            command.args(to);
            command
        });
        let mut agent = agent.watching();
        let program = workload("live");
        std::thread::scope(|scope| {
            // Processes that end before the agent sees them are tested elsewhere.
            scope.spawn(|| {
                while open_spools(&agent).is_empty() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                std::fs::write(scratch.root().join("go"), "").unwrap();
            });
            Launch::new(&scratch, program).args(["10", "1", "go"]).traced();
        });
        let code = agent.0.wait().unwrap().code();
        let mut said = String::new();
        std::io::Read::read_to_string(agent.0.stderr.as_mut().unwrap(), &mut said).unwrap();
        (code, said)
    };
    let nothing: fn(&Path) = |_| {};
    assert_eq!(run(&["--to", "events:events", "--state", "state"], nothing), (Some(0), String::new()));
    for to in ["events", "intervals", "connector"] {
        let (code, said) = run(&["--to", &format!("{to}:full")], |data| {
            std::os::unix::fs::symlink("/dev/full", data.join("full")).unwrap();
        });
        assert_eq!(code, Some(3), "{to}: {said}");
        assert!(said.contains("No space left"), "{to}: {said}");
    }
    let (code, said) = run(&["--to", "events:events", "--state", "nowhere/state"], nothing);
    assert_eq!((code, said.matches("failed to write the state").count()), (Some(3), 1), "{said}");
}

#[test]
fn what_cannot_be_watched_is_said_at_once() {
    let run = |mut command: Command, directory: &Path| {
        let begun = Instant::now();
        let output = command.arg(directory).args(["--for", "20s"]).output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(15), "{directory:?}");
        ended(&output)
    };
    let live = || common::command(&["live"]);
    for no_directory in ["/etc/passwd", "/etc/passwd/x"] {
        let (code, said) = run(live(), Path::new(no_directory));
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("failed to watch {no_directory}: ")), "{said}");
    }
    let scratch = Scratch::new();
    let late = scratch.root().join("late");
    let output = live().arg(&late).args(["--for", "300ms"]).output().unwrap();
    let (code, said) = ended(&output);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches(&format!("{} does not exist: waiting for it", late.display())).count(), 1, "{said}");
    // Missing default directories are not reported.
    let (code, said) = ended(&live().env_remove("DXT_SPOOL").args(["--for", "100ms"]).output().unwrap());
    assert_eq!((code, said.contains("does not exist")), (Some(0), false), "{said}");
    // No other user may read this directory.
    let closed = tempfile::tempdir().unwrap();
    std::fs::set_permissions(closed.path(), std::fs::Permissions::from_mode(0o000)).unwrap();
    let mut other = live();
    if rustix::process::geteuid().is_root() {
        other.uid(65534);
    }
    other.arg(closed.path()).args(["--for", "20s"]);
    let Ok(output) = other.output() else { return skip_here("another user cannot start this program") };
    let (code, said) = ended(&output);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("this user may not read it"), "{said}");
}

/// Returns the spool files that an agent has open.
pub(crate) fn open_spools(agent: &Running) -> BTreeSet<PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{}/fd", agent.0.id())).into_iter().flatten();
    let links = all.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|path| path.extension().is_some_and(|end| end == "spool") && path.exists()).collect()
}

/// Starts an agent limited to 40 open files, with 60 empty spool files like those of processes that are still starting. Returns the agent
/// and the paths of the spools.
fn crowded(scratch: &Scratch, args: &[&str]) -> (Running, BTreeSet<PathBuf>) {
    let named = agent(scratch, args);
    let path = |number: u32| scratch.spools().join(format!("dxt-0-{number}-1-0.spool"));
    let all: BTreeSet<PathBuf> = (100..160).map(path).collect();
    all.iter().for_each(|path| std::fs::write(path, "").unwrap());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""]).arg(named.get_program()).args(named.get_args());
    command.current_dir(scratch.data()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (Running::started(command), all)
}

#[test]
fn what_cannot_be_opened_yet_is_opened_later() {
    let scratch = Scratch::new();
    let (agent, all) = crowded(&scratch, &["--to", "intervals:intervals"]);
    let mut seen = BTreeSet::new();
    let begun = Instant::now();
    while seen.len() < all.len() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {}", seen.len(), all.len());
        // All processes that the agent watches end.
        for path in open_spools(&agent) {
            std::fs::remove_file(&path).unwrap();
            seen.insert(path);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent.0), rustix::process::Signal::INT).unwrap();
    let (_, said) = agent.end();
    assert!(said.contains("processes are not watched yet: at most 40 files can be open"), "{said}");
    assert!(!said.contains("unobserved"), "{said}");
}

#[test]
fn what_was_never_opened_is_counted() {
    let scratch = Scratch::new();
    let (mut agent, all) = crowded(&scratch, &["--to", "intervals:intervals", "--for", "2s"]);
    let mut watched = Vec::new();
    while agent.0.try_wait().unwrap().is_none() {
        watched.push(open_spools(&agent).len());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(agent.0.wait().unwrap().code(), Some(3));
    let lines = super::lines(&scratch, "intervals");
    // The median is used, since some samples may fall into an attempt to open more.
    watched.sort_unstable();
    let usual = watched[watched.len() / 2];
    assert!(usual > 10, "{watched:?}");
    assert_eq!(super::not_seen(&lines, "spools"), (all.len() - usual) as u64);
}
