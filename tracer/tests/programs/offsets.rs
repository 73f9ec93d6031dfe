//! Tests of offsets that are not arguments of their calls (file positions, appends): exact offsets, and offsets that other threads or
//! processes may have changed, which the trace marks as estimated.

use crate::harness::{Launch, Op, Order, Scratch, Traces, assert_same, workload};
use std::collections::BTreeMap;
use trace_format::meta::stream_flags;

fn note(traces: &Traces, what: &str) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.contains(what)).map(|note| note.count).sum()
}

/// Returns, for each stream of operation `op` on file `name`, true if its offsets are marked as estimated.
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
    let reported: Vec<Op> = traces.segments.iter().map(|seg| seg.op.clone()).collect();
    assert!(log.len() > 20, "{log:?}");
    assert_same(Order::Thread, &log, &reported);
    // Calls that keep the position can only be located at the end of the file: pwrite and pwritev2, three times.
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
            // The first write preceded the fork. In counters mode, there are no separate streams for estimates.
            let expected = if mode == "trace" { vec![false, true, true] } else { vec![false, false] };
            assert_eq!(marks, expected, "{shared} {mode}");
        }
        // Each process has its own open file description, whose position the kernel moves after the appended data.
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

/// Runs threads that share a file position, in the way `way`. Returns the number of writes with an exact offset, and of writes with an
/// estimated offset. Asserts that the bytes at each exact offset are those of the writing thread, and that no exact offset occurs twice.
fn turns(way: &str) -> (usize, u64) {
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, workload("turns")).arg(scratch.data()).arg(way).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let lines = outcome.stdout.lines().map(|line| line.split(' ').map(number).collect::<Vec<_>>());
    let records: BTreeMap<i64, (u64, u64)> = lines.map(|line| (line[0] as i64, (line[1], line[2]))).collect();
    let traces = Traces::read(&scratch.traces());
    let certain = traces.segments.iter().filter(|seg| seg.op.path.ends_with("/file") && !seg.estimated);
    // Writes of a signal handler are twice as long, and belong to the interrupted thread.
    let certain: Vec<(i64, u32)> = certain
        .filter(|seg| matches!(seg.op.name.as_str(), "write" | "copy_write"))
        .map(|seg| {
            let there = records.get(&seg.op.offset).map(|(length, _)| *length);
            assert_eq!(there, Some(seg.op.length), "{way}: what is at {}", seg.op.offset);
            (seg.op.offset, if seg.op.length == 16 { 0 } else { seg.op.tid })
        })
        .collect();
    let writer = |offset: &i64| records.get(offset).map(|(_, thread)| *thread).expect("an offset that was written to");
    // Threads of the trace are matched to threads of the program by the majority of their bytes.
    let mut votes: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for (offset, tid) in &certain {
        *votes.entry((*tid, writer(offset))).or_default() += 1;
    }
    let mut seen = std::collections::BTreeSet::new();
    for (offset, tid) in &certain {
        let of_tid = votes.iter().filter(|((voter, _), _)| voter == tid);
        let thread = of_tid.max_by_key(|(_, votes)| **votes).map(|((_, thread), _)| *thread);
        assert_eq!(Some(writer(offset)), thread, "{way}: the bytes at {offset} are another thread's");
        assert!(seen.insert(*offset), "{way}: {offset} was written to once");
    }
    (certain.len(), note(&traces, "estimate"))
}

#[test]
fn a_turn_that_was_taken_over_leaves_estimates() {
    // Once the turn was taken over, offsets are uncertain, including that of the call that held the turn.
    assert_eq!(turns("slow"), (0, 42));
}

#[test]
fn threads_take_turns_on_the_descriptor_of_a_stream() {
    let (certain, estimates) = turns("stream");
    // If a thread is descheduled for long, turns are taken over.
    assert_eq!(certain as u64 + estimates, 4 * 3000);
}

#[test]
fn handlers_that_move_the_position_of_the_call_they_interrupt() {
    let (certain, estimates) = turns("handler");
    assert!(certain as u64 + estimates >= 4 * 3000, "{certain} certain, {estimates} estimates");
}

#[test]
fn handlers_that_move_the_position_of_the_only_thread() {
    let (certain, estimates) = turns("alone");
    assert!(certain as u64 + estimates >= 30_000 && certain > 1000, "{certain} certain, {estimates} estimates");
}

#[test]
fn a_call_that_was_left_by_a_jump_leaves_no_wrong_position() {
    let (certain, estimates) = turns("jumps");
    // Each abandoned call causes one query of the position, but no uncertainty.
    assert!(certain > 10_000 && estimates == 0, "{certain} certain, {estimates} estimates");
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
    // The recorded positions of the streams are correct again after the unlocked calls.
    let own: Vec<(i64, u64)> = traces
        .segments
        .iter()
        .filter(|seg| seg.op.path.ends_with("/file") && matches!(seg.op.name.as_str(), "read" | "write"))
        .map(|seg| (seg.op.offset, seg.op.length))
        .collect();
    assert_eq!(own, [(20_000, 10), (40_117, 10), (9000, 50), (9081, 3), (9083, 1), (9084, 1)]);
}
