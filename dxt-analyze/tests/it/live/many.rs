//! Test of many processes that begin and end while an agent watches.

use super::{Running, agent, lines, not_seen};
use crate::harness::{Launch, Scratch, workload};
use std::collections::BTreeSet;

/// Each of many short processes is shown with all its calls, or counted as unseen.
#[test]
fn each_process_is_shown_whole_or_counted_as_unseen() {
    const PROCESSES: u64 = 1000;
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--to", "intervals:intervals"]));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    let script = format!("for i in $(seq {PROCESSES}); do \"$0\" 20 1 go & [ $((i % 20)) != 0 ] || wait; done; wait");
    let program = workload("live");
    let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(&program).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    // On a busy machine, the agent reaches the last processes late.
    let length = || std::fs::metadata(scratch.data().join("events")).unwrap().len();
    let mut before = u64::MAX;
    while std::mem::replace(&mut before, length()) != length() {
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&agent.0), rustix::process::Signal::INT).unwrap();
    agent.end();
    // Events of the shell are ignored.
    let events = lines(&scratch, "events");
    let of_program = events.iter().filter(|event| event["file"].as_str().unwrap().ends_with("live.dat"));
    let mut calls = std::collections::BTreeMap::new();
    for event in of_program {
        *calls.entry(event["pid"].as_u64().unwrap()).or_insert(0) += 1;
    }
    assert!(calls.values().all(|calls| *calls == 22), "{calls:?}");
    let unseen = not_seen(&lines(&scratch, "intervals"), "spools");
    assert!(calls.len() as u64 + unseen >= PROCESSES, "{} and {unseen}", calls.len());
    assert!(calls.len() as u64 <= PROCESSES);
    let ids: BTreeSet<&str> = events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), events.len());
}
