//! Offsets that calls do not name: what is exact, and what others may have changed, which the trace says.

use crate::harness::{Launch, Op, Order, Scratch, Traces, assert_same, workload};
use std::collections::BTreeMap;
use trace_format::meta::stream_flags;

fn note(traces: &Traces, what: &str) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.contains(what)).map(|note| note.count).sum()
}

/// Whether streams of this file and operation are marked as estimates.
fn marked(traces: &Traces, name: &str, op: &str) -> Vec<bool> {
    let mut found = Vec::new();
    for (process, job) in traces.processes.iter().zip(traces.jobs.iter().cycle()) {
        for stream in &process.block.streams {
            let is_op = job.ops.iter().any(|def| def.code == stream.op && def.name == op);
            if is_op && process.paths[stream.file as usize].ends_with(name) {
                found.push(stream.flags & stream_flags::ESTIMATED != 0);
            }
        }
    }
    found
}

#[test]
fn appended_bytes_are_where_the_program_finds_them() {
    let scratch = Scratch::new();
    let (log, traces) = Launch::new(&scratch, workload("appends")).arg(scratch.data()).traced();
    let told: Vec<Op> = traces.segments.iter().map(|seg| seg.op.clone()).collect();
    assert!(log.len() > 20, "{log:?}");
    assert_same(Order::Thread, &log, &told);
    // What leaves the position alone can only be looked for at the end of the file: pwrite and pwritev2 three times.
    assert_eq!(note(&traces, "estimate"), 3);
}

#[test]
fn offsets_that_others_may_have_changed_are_estimates() {
    for mode in ["trace", "counters"] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("appends")).arg(scratch.data()).arg("shared");
        let (_, traces) = launch.env("DXT_ENABLE", mode).traced();
        for shared in ["/shared0", "/shared1"] {
            let mut marks = marked(&traces, shared, "write");
            marks.sort_unstable();
            // The first write was before the fork. What is only counted has no streams for it.
            let expected = if mode == "trace" { vec![false, true, true] } else { vec![false, false] };
            assert_eq!(marks, expected, "{shared} {mode}");
        }
        // Each process has a description of its own, and the kernel moves it behind what was appended.
        assert_eq!(marked(&traces, "/each", "write"), [false, false], "{mode}");
        assert_eq!(note(&traces, "estimate"), 2000, "{mode}");
        if mode == "trace" {
            let mut places: Vec<i64> = Vec::new();
            let each = traces.segments.iter().filter(|seg| seg.op.path.ends_with("/each") && seg.op.name == "write");
            places.extend(each.map(|seg| seg.op.offset));
            places.sort_unstable();
            assert!(places.iter().enumerate().all(|(at, place)| *place == 8 * at as i64), "{places:?}");
        }
    }
}

#[test]
fn a_file_too_far_down_for_a_path_is_recorded() {
    let scratch = Scratch::new();
    let (_, traces) = Launch::new(&scratch, workload("appends")).arg(scratch.data()).arg("deep").traced();
    let mut calls: BTreeMap<(String, String), u64> = BTreeMap::new();
    for seg in traces.segments.iter().filter(|seg| seg.op.path.starts_with("/.dev/")) {
        *calls.entry((seg.op.path.clone(), seg.op.name.clone())).or_default() += 1;
    }
    let counts: Vec<(&str, u64)> = calls.iter().map(|((_, name), count)| (name.as_str(), *count)).collect();
    assert_eq!(counts, [("close", 2), ("open", 2), ("write", 2)], "{calls:?}");
    let paths: Vec<&String> = calls.keys().map(|(path, _)| path).collect();
    assert!(paths.windows(2).all(|pair| pair[0] == pair[1]), "{paths:?}");
}

#[test]
fn bytes_of_unlocked_streams_are_counted() {
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, workload("unlocked")).arg(scratch.data()).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    let expected: u64 = outcome.stdout.trim().parse().expect("it prints a number");
    assert!(expected > 60_000);
    assert_eq!(note(&traces, "getc_unlocked"), expected);
    // The streams' positions are right again behind them.
    let own: Vec<(i64, u64)> = traces
        .segments
        .iter()
        .filter(|seg| seg.op.path.ends_with("/file") && matches!(seg.op.name.as_str(), "read" | "write"))
        .map(|seg| (seg.op.offset, seg.op.length))
        .collect();
    assert_eq!(own, [(20_000, 10), (40_117, 10), (9000, 50), (9081, 3), (9083, 1), (9084, 1)]);
}
