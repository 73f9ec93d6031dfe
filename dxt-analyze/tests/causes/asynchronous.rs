//! Operations that go on while the program does, and the calls in which it waits for them.

use super::{AIO_WRITE, MS, SUBMIT, WAIT, report, saves_ms, sentence};
use crate::common::process;
use serde_json::Value;

const FILE: &str = "/scratch/data";

/// A process that hands over a write every 20 ms, which ends 10 ms later. The call that does so lasts so long, and the program waits from one
/// moment to the other, if at all; all in ms behind the step's beginning.
fn steps(submit: u64, wait: Option<(u64, u64)>) -> Value {
    let mut one = process(-1, "n");
    for step in 0..50_u64 {
        let from = step * 20 * MS;
        one.add(FILE, AIO_WRITE, 0, (step << 20) as i64, 1 << 20, from, from + 10 * MS);
        one.add(FILE, SUBMIT, 0, -1, 0, from, from + submit * MS);
        if let Some((begin, end)) = wait {
            one.add(FILE, WAIT, 0, -1, 0, from + begin * MS, from + end * MS);
        }
    }
    report(vec![one], 1000)
}

fn part_ms(found: &Value, part: &str) -> u64 {
    found["verdict"]["ledger"][part].as_u64().unwrap_or_default() / MS
}

#[test]
fn what_is_waited_for_at_once_could_go_on_while_the_program_computes() {
    let found = steps(1, Some((1, 10)));
    let expected = "Asynchronous I/O is waited for as soon as it is handed over: the program waits 500 ms";
    assert!(sentence(&found).starts_with(expected), "{}", sentence(&found));
    assert_eq!((part_ms(&found, "asynchronous_ns"), part_ms(&found, "no_io_ns")), (500, 500));
    assert_eq!(saves_ms(&found, "DXT-V016"), Some(500));
}

#[test]
fn calls_that_do_what_they_should_only_begin_are_named() {
    let found = steps(9, Some((9, 10)));
    assert!(sentence(&found).starts_with("Asynchronous I/O is done while it is handed over"), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V016"), Some(500));
}

#[test]
fn what_overlaps_costs_nothing() {
    let found = steps(1, Some((19, 20)));
    assert_eq!(part_ms(&found, "asynchronous_ns"), 100);
    assert_eq!(saves_ms(&found, "DXT-V016"), None);
}

#[test]
fn who_may_look_again_and_again_is_not_said_to_overlap() {
    let found = steps(0, None);
    assert!(sentence(&found).ends_with("whether it waits for them is not on record."), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V016"), None);
}
