//! Shown and counted as missed is what is in the trace, exactly, however often the agent is killed.

use super::{Running, agent, events, in_intervals, lines, not_seen, recorded};
use crate::harness::{Launch, Scratch, library, workload};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls of each of two threads.
const CALLS: &str = "60000";

/// A traced program that waits for `go` when it has made its calls.
fn program(scratch: &Scratch, variables: &[(&str, &str)], how: &str) -> std::process::Child {
    let mut command = Command::new(workload("live"));
    command.args([CALLS, "2", "go", how]).current_dir(scratch.root());
    command.env("DXT_ENABLE", "trace").env("DXT_SPOOL", scratch.spools()).env("DXT_OUTPUT_DIR", scratch.traces());
    command.envs(variables.iter().copied()).env("LD_PRELOAD", library());
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

/// Kills agents again and again while the program runs; the last one sees its end.
fn killed(variables: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    let to = ["--to", "events:events", "--to", "intervals:intervals", "--state", "state", "--until-end"];
    // It makes its calls while agents come and go, and ends while one looks.
    let mut program = program(&scratch, variables, "end");
    let mut random = 7_u64;
    for _ in 0..12 {
        let agent = Running::new(agent(&scratch, &to));
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(10 + (random >> 33) % 250));
        drop(agent);
    }
    let last = Running::new(agent(&scratch, &to));
    // It has begun when there is something new in its state.
    let state = scratch.data().join("state");
    let before = std::fs::metadata(&state).map(|about| about.modified().unwrap()).ok();
    let has_looked = || std::fs::metadata(&state).is_ok_and(|about| Some(about.modified().unwrap()) != before);
    while !has_looked() {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    assert!(program.wait().unwrap().success());
    last.end();
    scratch
}

/// In whatever way the program's buffer overflows.
#[test]
fn what_is_shown_and_what_is_missed_is_what_is_in_the_trace() {
    for overflow in ["compact", "spill", "fold"] {
        let scratch = killed(&[("DXT_OVERFLOW", overflow), ("DXT_BUFFER_MAX", "1M")]);
        let (segments, folded) = recorded(&scratch);
        let (shown, sums) = (lines(&scratch, "events"), lines(&scratch, "intervals"));
        assert_eq!(events(&shown), segments, "{overflow}");
        assert_eq!(not_seen(&sums, "counted"), folded, "{overflow}");
        assert_eq!(in_intervals(&sums).0, segments + folded, "{overflow}");
        assert_eq!(segments + folded, 120_002, "{overflow}");
        assert_eq!(folded > 0, overflow == "fold");
    }
}

/// Counters mode has no events, and exact sums.
#[test]
fn counters_are_shown_while_they_grow() {
    let scratch = killed(&[("DXT_ENABLE", "counters"), ("DXT_LIVE", "1")]);
    let (segments, counted) = recorded(&scratch);
    let sums = lines(&scratch, "intervals");
    assert_eq!((segments, in_intervals(&sums)), (0, (counted, counted)));
    assert_eq!((events(&lines(&scratch, "events")), counted), (0, 120_002));
}

/// Short calls are in counters only; they are shown as that.
#[test]
fn what_a_filter_keeps_no_segments_of_is_counted() {
    let scratch = killed(&[("DXT_MIN_SIZE", "200"), ("DXT_BUFFER_MAX", "1M")]);
    let (segments, counted) = recorded(&scratch);
    assert_eq!(events(&lines(&scratch, "events")), segments);
    let sums = lines(&scratch, "intervals");
    assert_eq!((in_intervals(&sums), not_seen(&sums, "counted")), ((segments + counted, counted), counted));
    assert!(segments + counted == 120_002 && counted > 40_000, "{segments} + {counted}");
}

/// One that is killed has no trace: what it had recorded is shown all the same.
#[test]
fn a_process_that_is_killed_is_shown_to_its_last_call() {
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--until-end"]));
    let mut program = program(&scratch, &[], "die");
    std::fs::write(scratch.root().join("go"), "").unwrap();
    program.wait().unwrap();
    agent.end();
    assert_eq!(events(&lines(&scratch, "events")), 120_002);
    // Its spool stays, for `recover`.
    assert_eq!(std::fs::read_dir(scratch.spools()).unwrap().count(), 1);
}

/// Sums are exact whatever is passed on; an event says what it stands for.
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
    // Opens and closes are all there.
    let ends = |event: &&serde_json::Value| matches!(event["op"].as_str(), Some("open" | "close"));
    assert_eq!((events.len(), events.iter().filter(ends).count()), (1_202, 2));
    let stand_for = |event: &serde_json::Value| event["stands_for"] == if ends(&event) { 1 } else { 100 };
    assert!(events.iter().all(stand_for));
    // Others' form cannot say so, but for its counts.
    let rows = lines(&scratch, "rows");
    assert_eq!((rows.len(), rows.iter().map(|row| row["cnt"].as_u64()).max()), (1_202, Some(Some(120_000))));
    assert_eq!(said.matches("cannot say that they stand for 100 calls each").count(), 1, "{said}");
    assert_eq!(in_intervals(&lines(&scratch, "intervals")).0, 120_002);
}

/// A destination that takes nothing is said once, and what it does not take is counted.
#[test]
fn a_full_disk_is_said_and_counted() {
    let scratch = Scratch::new();
    let to = ["--to", "events:/dev/full", "--to", "intervals:intervals", "--until-end"];
    let agent = Running::new(agent(&scratch, &to));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args([CALLS, "2", "go"]).traced();
    let (_, said) = agent.end_with(3);
    assert_eq!(said.lines().filter(|line| line.contains("/dev/full")).count(), 1, "{said}");
    assert!(said.contains("120002 events were not taken"), "{said}");
}
