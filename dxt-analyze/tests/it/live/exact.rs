//! Tests that `live` loses nothing unnoticed: calls shown plus calls counted as missed equal the calls in the trace, however often the
//! agent is killed.

use super::{Running, agent, agent_each, events, in_intervals, lines, not_seen, recorded, shown, trace};
use crate::common::stdout;
use crate::harness::{Launch, Scratch, library, workload};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Number of calls that each of two threads makes.
const CALLS: &str = "60000";

/// Adds the environment of a traced run to `command`: preloaded library, trace and spool directories, and `variables`.
fn traced<'a>(scratch: &Scratch, command: &'a mut Command, variables: &[(&str, &str)]) -> &'a mut Command {
    command.current_dir(scratch.root()).env("DXT_ENABLE", "trace").env("DXT_SPOOL", scratch.spools());
    command.env("DXT_OUTPUT_DIR", scratch.traces()).envs(variables.iter().copied()).env("LD_PRELOAD", library());
    command.stdin(Stdio::null()).stdout(Stdio::null())
}

/// Number of times that the agent is killed while the program writes.
const KILLS: usize = 6;

/// Traced program that writes a burst of calls for each request on its standard input.
struct Bursts {
    program: Child,
    /// Number of completed bursts.
    over: Arc<AtomicUsize>,
    reported: usize,
    /// Number of calls requested so far, over both threads.
    calls: u64,
}

impl Bursts {
    fn new(scratch: &Scratch, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(workload("bursts"));
        let command = traced(scratch, &mut command, variables).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let over = Arc::new(AtomicUsize::new(0));
        let (said, count) = (BufReader::new(program.stdout.take().unwrap()), over.clone());
        std::thread::spawn(move || said.lines().for_each(|_| _ = count.fetch_add(1, Relaxed)));
        Self { program, over, reported: 0, calls: 0 }
    }

    /// Requests a burst of `calls` calls by each of the two threads.
    fn begin(&mut self, calls: u64) {
        writeln!(self.program.stdin.as_mut().unwrap(), "{calls}").unwrap();
        self.reported += 1;
        self.calls += 2 * calls;
    }

    fn writes(&self) -> bool {
        self.over.load(Relaxed) < self.reported
    }

    /// Ends the program; returns its total number of calls, including open and close.
    fn end(mut self) -> u64 {
        drop(self.program.stdin.take());
        assert!(self.program.wait().unwrap().success());
        self.calls + 2
    }
}

/// Kills agents repeatedly while the program writes at full speed; the last agent runs until the program's end. Returns the number of calls
/// that the program made.
fn killed(variables: &[(&str, &str)]) -> (Scratch, u64) {
    let scratch = Scratch::new();
    let to = ["--to", "events:events", "--to", "intervals:intervals", "--state", "state", "--until-end"];
    let start = || Running::started(agent_each(&scratch, "20ms", &to));
    let state = scratch.data().join("state");
    let noted = || std::fs::metadata(&state).and_then(|about| about.modified()).ok();
    let mut program = Bursts::new(&scratch, variables);
    let mut random = 7_u64;
    let (mut kills, mut calls) = (0, 40_000);
    while kills < KILLS {
        let before = noted();
        if !program.writes() {
            program.begin(calls);
        }
        let mut agent = start();
        while noted() == before {
            assert!(agent.0.try_wait().unwrap().is_none(), "the agent has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((random >> 33) % 80));
        drop(agent);
        // A kill after the burst does not count, and the next burst is longer.
        if program.writes() {
            kills += 1;
        } else {
            calls += 20_000;
        }
    }
    let before = noted();
    let last = start();
    while noted() == before {
        std::thread::sleep(Duration::from_millis(10));
    }
    let calls = program.end();
    last.end();
    (scratch, calls)
}

/// Calls shown plus calls missed equal the calls in the trace, for every overflow mode of the tracer's buffer.
#[test]
fn what_is_shown_and_what_is_missed_is_what_is_in_the_trace() {
    // All segments fit into 4 MiB in packed form.
    for (overflow, room) in [("compact", "4M"), ("spill", "1M"), ("fold", "1M")] {
        let (scratch, calls) = killed(&[("DXT_OVERFLOW", overflow), ("DXT_BUFFER_MAX", room)]);
        let (segments, folded) = recorded(&scratch);
        let sums = lines(&scratch, "intervals");
        assert_eq!(shown(&scratch), segments, "{overflow}");
        assert_eq!(not_seen(&sums, "counted"), folded, "{overflow}");
        assert_eq!(in_intervals(&sums), (segments + folded, folded), "{overflow}");
        assert_eq!(segments + folded, calls, "{overflow}");
        assert_eq!(folded > 0, overflow == "fold");
    }
}

/// In counters mode, the sums shown are exact, but there are no events.
#[test]
fn counters_are_shown_while_they_grow() {
    let (scratch, calls) = killed(&[("DXT_ENABLE", "counters"), ("DXT_LIVE", "1")]);
    let (segments, counted) = recorded(&scratch);
    let sums = lines(&scratch, "intervals");
    assert_eq!((segments, in_intervals(&sums)), (0, (counted, counted)));
    assert_eq!((shown(&scratch), counted), (0, calls));
}

/// Calls below the minimum size of a filter have no segments: they are shown as counts, without events.
#[test]
fn what_a_filter_keeps_no_segments_of_is_counted() {
    let (scratch, calls) = killed(&[("DXT_MIN_SIZE", "200"), ("DXT_BUFFER_MAX", "1M")]);
    let (segments, counted) = recorded(&scratch);
    assert_eq!(shown(&scratch), segments);
    let sums = lines(&scratch, "intervals");
    assert_eq!((in_intervals(&sums), not_seen(&sums, "counted")), ((segments + counted, counted), counted));
    assert!(segments + counted == calls && counted > calls / 3, "{segments} + {counted} of {calls}");
}

/// A killed process writes no trace, but all its recorded calls are shown.
#[test]
fn a_process_that_is_killed_is_shown_to_its_last_call() {
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--until-end"]));
    let mut command = Command::new(workload("live"));
    let mut program = traced(&scratch, command.args([CALLS, "2", "go", "die"]), &[]).spawn().unwrap();
    std::fs::write(scratch.root().join("go"), "").unwrap();
    program.wait().unwrap();
    agent.end();
    assert_eq!(events(&lines(&scratch, "events")), 120_002);
    // The spool stays for `recover`.
    assert_eq!(std::fs::read_dir(scratch.spools()).unwrap().count(), 1);
}

/// If only a sample of the calls becomes events, sums stay exact, and each event states how many calls it stands for.
#[test]
fn one_of_many_events_stands_for_the_others() {
    let scratch = Scratch::new();
    let agent = Running::new(agent(
        &scratch,
        &[
            "--to",
            "events:events",
            "--to",
            "intervals:intervals",
            "--to",
            "connector:rows",
            "--sample",
            "100",
            "--until-end",
        ],
    ));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args([CALLS, "2", "go"]).traced();
    let (_, said) = agent.end();
    let events = lines(&scratch, "events");
    // All opens and closes become events.
    let ends = |event: &&serde_json::Value| matches!(event["op"].as_str(), Some("open" | "close"));
    assert_eq!((events.len(), events.iter().filter(ends).count()), (1_202, 2));
    let stand_for = |event: &serde_json::Value| event["stands_for"] == if ends(&event) { 1 } else { 100 };
    assert!(events.iter().all(stand_for));
    // The connector's format has no field for this number, but its counts include all calls.
    let rows = lines(&scratch, "rows");
    assert_eq!((rows.len(), rows.iter().map(|row| row["cnt"].as_u64()).max()), (1_202, Some(Some(120_000))));
    assert_eq!(said.matches("--sample 100").count(), 1, "{said}");
    assert_eq!(in_intervals(&lines(&scratch, "intervals")).0, 120_002);
}

/// A destination on a full disk is reported once, and events that could not be written are counted.
#[test]
fn a_full_disk_is_said_and_counted() {
    let scratch = Scratch::new();
    let to = ["--to", "events:/dev/full", "--to", "intervals:intervals", "--until-end"];
    let agent = Running::new(agent(&scratch, &to));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args([CALLS, "2", "go"]).traced();
    let (_, said) = agent.end_with(3);
    assert_eq!(said.lines().filter(|line| line.contains("/dev/full")).count(), 1, "{said}");
    assert!(said.contains("120002 events were not accepted"), "{said}");
}

/// Event times deviate by at most 500 ppm of the process's age, since the clock rate is estimated while the process runs.
#[test]
fn an_event_has_the_times_of_its_call() {
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--until-end"]));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args(["2000", "2", "go"]).traced();
    agent.end();
    let exported = stdout(&["export", "--to", "json", "-o", "-", trace(&scratch).to_str().unwrap()], 0);
    let exported: Vec<serde_json::Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times = |call: &serde_json::Value| ["start_unix_ns", "end_unix_ns"].map(|name| call[name].as_u64().unwrap());
    let what = |call: &serde_json::Value| (call["op"].clone(), call["offset"].as_i64().unwrap_or(-1));
    let began = exported.iter().map(|call| times(call)[0] - call["start_ns"].as_u64().unwrap()).min().unwrap();
    // Both lists are sorted by thread, then in the thread's order.
    let mut events = lines(&scratch, "events");
    events.sort_by_key(|event| ["thread", "sequence", "slot"].map(|name| event[name].as_u64()));
    assert_eq!((events.len(), exported.len()), (4_002, 4_002));
    for (event, call) in events.iter().zip(&exported) {
        assert_eq!(what(event), what(call));
        for (shown, recorded) in times(event).into_iter().zip(times(call)) {
            let most = (recorded - began) / 2_000 + 1;
            assert!(shown.abs_diff(recorded) <= most, "{shown} {recorded} {event}");
        }
    }
}
