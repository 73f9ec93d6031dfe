//! Tests of asynchronous operations, which overlap with the program's computation, and of calls that wait for them.

use super::{AIO_WRITE, BARRIER, MS, SUBMIT, WAIT, report, saves_ms, sentence, stepped};
use crate::common::facts::{assert_nothing_stated, assert_says, assert_stated, text_has};
use crate::common::{Builder, process};
use serde_json::{Value, json};

const FILE: &str = "/scratch/data";

/// Returns the JSON report on a synthetic process that submits an asynchronous write every 20 ms. The submitting call takes `submit` ms,
/// and the write completes after 10 ms. `wait`: interval in which the program waits, in ms since the submission; `None` if it never waits.
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
    let waits = assert_stated(&found, "DXT-V016", &json!({"calls": 100, "time_ns": 500 * MS}));
    // All calls are to blame, as the program waits for what it submits.
    assert_says(waits, &["500 ms"]);
    assert_eq!((part_ms(&found, "asynchronous_ns"), part_ms(&found, "no_io_ns")), (500, 500));
    assert_eq!(saves_ms(&found, "DXT-V016"), Some(500));
}

#[test]
fn calls_that_do_what_they_should_only_begin_are_named() {
    let found = steps(9, Some((9, 10)));
    let submits = assert_stated(&found, "DXT-V016", &json!({"calls": 100, "time_ns": 500 * MS}));
    // Only the submitting calls are to blame: 9 ms each.
    assert_says(submits, &["450 ms"]);
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
    assert_nothing_stated(&found);
    assert_eq!(found["verdict"]["io_matters"], false);
    let background = found["verdict"]["background_share"].as_f64();
    assert!(background.is_some_and(|share| (share - 0.5).abs() < 0.01), "{background:?}");
    assert!(text_has(sentence(&found), &["in flight", "50 %"]), "{}", sentence(&found));
    assert_eq!(saves_ms(&found, "DXT-V016"), None);
}

#[test]
fn ranks_that_meet_are_one_thread_each() {
    // The synchronization calls of a rank have a thread entry of their own, though a waiting rank does not compute meanwhile. The rank's
    // first call may be one of them.
    for begins_with_one in [false, true] {
        let calls = |one: &mut Builder, rank: u64, step: u64| {
            let (from, at) = (step * 100 * MS + (1 + rank % 2) * MS, ((rank * 10 + step) << 20) as i64);
            if begins_with_one && step == 0 {
                one.add("", BARRIER, 0, 0, 0, 0, MS / 10);
            }
            one.add(FILE, AIO_WRITE, 0, at, 1 << 20, from, from + 30 * MS);
            one.add(FILE, SUBMIT, 0, -1, 0, from, from + MS);
            one.add(FILE, WAIT, 0, -1, 0, from + MS, from + 30 * MS);
            from + 95 * MS
        };
        let found = report(stepped(&calls), 1000);
        // Each rank submits for 1 ms and waits for 29 ms, ten times.
        assert_says(assert_stated(&found, "DXT-V016", &json!({"calls": 80, "time_ns": 1200 * MS})), &["1.20 s"]);
        let saves = saves_ms(&found, "DXT-V016").unwrap_or(0);
        assert!((270..=300).contains(&saves), "{saves} of 300 ms");
    }
}

#[test]
fn a_rank_that_waits_for_its_operations_is_slow_and_who_hands_over_as_quickly_as_others_is_not_asked() {
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let from = step * 100 * MS;
        for piece in 0..2_u64 {
            let begin = from + piece * MS / 10;
            let takes = if rank == 3 { 70 } else { 25 };
            let at = ((rank * 20 + step * 2 + piece) << 20) as i64;
            one.add(FILE, AIO_WRITE, 0, at, 1 << 20, begin, begin + takes * MS);
            one.add(FILE, SUBMIT, 0, -1, 0, begin, begin + 5000 + (rank * 7 + step * 13 + piece * 3) % 10 * 500);
        }
        // Each rank computes for 30 ms, then waits, for completed operations or for pending ones.
        let until = if rank == 3 { 70 * MS } else { 30 * MS + 2000 + (rank * 5 + step * 3) % 7 * 300 };
        one.add(FILE, WAIT, 0, -1, 0, from + 30 * MS, from + until);
        from + until
    };
    let found = report(stepped(&calls), 1000);
    // Each of ten steps has one wait, and twice as many calls that submit operations.
    let facts = json!({"rank": 3, "calls": 10, "operation": "waits for asynchronous I/O"});
    assert_stated(&found, "DXT-O002", &facts);
    let saves = saves_ms(&found, "DXT-O002").unwrap_or(0);
    assert!((380..=400).contains(&saves), "{saves} of 400 ms");
}
