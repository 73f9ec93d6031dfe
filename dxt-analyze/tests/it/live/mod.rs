//! Tests of the agents `live` and `serve --live`, which follow running programs.

mod browser;
mod destinations;
mod exact;
mod forms;
mod hostile;
mod many;
mod page;
mod runs;
mod selections;
mod trouble;

use crate::harness::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Returns the command of an agent that reads the spools of `scratch` and writes its outputs to `data`; not yet started.
fn agent(scratch: &Scratch, args: &[&str]) -> Command {
    agent_each(scratch, "100ms", args)
}

/// Returns an agent's command as [`agent`] does, with sums per `interval`.
fn agent_each(scratch: &Scratch, interval: &str, args: &[&str]) -> Command {
    std::fs::create_dir_all(scratch.spools()).unwrap();
    let mut command = crate::common::command(&["live"]);
    command.arg(scratch.spools()).args(["--interval", interval]).args(args).current_dir(scratch.data());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Running agent, killed on drop.
struct Running(Child);

impl Running {
    /// Starts an agent, and waits until it watches its spool directory.
    fn new(command: Command) -> Self {
        Self::started(command).watching()
    }

    /// Starts an agent that ends by itself, or whose start is tested.
    fn started(mut command: Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Waits until the agent watches its spool directory: it never sees processes that end earlier.
    fn watching(mut self) -> Self {
        let folder = PathBuf::from(format!("/proc/{}/fdinfo", self.0.id()));
        let text = |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(entry.ok()?.path()).ok();
        let watches = || {
            std::fs::read_dir(&folder)
                .is_ok_and(|mut all| all.any(|one| text(one).is_some_and(|text| text.contains("inotify wd:"))))
        };
        while !watches() {
            assert!(self.0.try_wait().unwrap().is_none(), "the agent has ended");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self
    }

    /// Waits for the agent to exit with 0; returns standard output and error.
    fn end(self) -> (String, String) {
        self.end_with(0)
    }

    /// Waits for the agent to exit with `code`; returns standard output and standard error.
    fn end_with(mut self, code: i32) -> (String, String) {
        let read = |pipe: &mut dyn std::io::Read| {
            let mut text = String::new();
            pipe.read_to_string(&mut text).unwrap();
            text
        };
        let out = read(self.0.stdout.as_mut().unwrap());
        let said = read(self.0.stderr.as_mut().unwrap());
        assert_eq!(self.0.wait().unwrap().code(), Some(code), "{said}");
        (out, said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the JSON objects in an agent's output file `name`, one per line.
fn lines(scratch: &Scratch, name: &str) -> Vec<Value> {
    let path = scratch.data().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the path of the only trace in the scratch directory.
fn trace(scratch: &Scratch) -> PathBuf {
    let mut traces = std::fs::read_dir(scratch.traces()).unwrap().map(|entry| entry.unwrap().path());
    traces.find(|path| path.extension().is_some_and(|end| end == "dxt")).unwrap()
}

/// Returns the number of calls in the trace that have segments, and of calls that have only counters.
fn recorded(scratch: &Scratch) -> (u64, u64) {
    let output = crate::common::run(&["summary", "--format", "json", trace(scratch).to_str().unwrap()]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| summary[name].as_u64().unwrap();
    (number("segments"), number("missing_segments") + number("counted_operations"))
}

/// Returns the number of calls in an agent's interval lines, and the number of these that have only counters.
fn in_intervals(lines: &[Value]) -> (u64, u64) {
    let sum = |name: &str| lines.iter().filter_map(|line| line[name].as_i64()).sum::<i64>().try_into().unwrap();
    (sum("calls"), sum("counted"))
}

/// Returns the number of events; asserts that no event occurs twice.
fn events(lines: &[Value]) -> u64 {
    let ids: BTreeSet<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), lines.len(), "an event came twice");
    lines.len() as u64
}

/// Returns the number of lines in the agent's file `events`, and asserts that no event occurs twice. Lines are not parsed fully, since
/// there may be many.
fn shown(scratch: &Scratch) -> u64 {
    let text = std::fs::read_to_string(scratch.data().join("events")).unwrap();
    let id = |line: &str| {
        let (_, behind) = line.split_once("\"id\":\"").unwrap();
        assert!(line.ends_with('}'));
        behind.split_once('"').unwrap().0.to_owned()
    };
    let mut ids: Vec<String> = text.lines().map(id).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an event came twice");
    all as u64
}

/// Returns the number of unseen items of kind `what`, from the last line that states it.
fn not_seen(lines: &[Value], what: &str) -> u64 {
    let said = lines.iter().rev().find_map(|line| line["not_seen"][what].as_u64());
    said.unwrap_or(0)
}
