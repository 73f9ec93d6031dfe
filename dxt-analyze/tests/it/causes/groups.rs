//! Tests that a slowdown is attributed to the right one of several candidates: groups of ranks, ranks or files, files or requests, library
//! or program, targets.

use super::{BARRIER, MS, evidence, met_at_the_end, report, saves_ms};
use crate::common::facts::{
    assert_costs_ms, assert_found, assert_saves_ms, assert_says, assert_stated, brief, of_code, text_has,
};
use crate::common::{Builder, op, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json};
use trace_format::meta::stream_flags::NESTED;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

/// Returns the JSON report on 24 synthetic ranks on three nodes in twelve steps. In each step, a rank makes four writes of 4 MiB, whose
/// very different durations add up to about 40 ms, then all synchronize. `times(rank)` scales the durations, in percent.
fn in_steps(times: impl Fn(u64) -> u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, &format!("n{}", rank / 8));
        for step in 0..12_u64 {
            let mut now = step * 300 * MS;
            for call in 0..4_u64 {
                let part = [1, 4, 12, 23][((rank * 5 + step * 3 + call) % 4) as usize];
                let takes = part * MS * times(rank) / 100 + (rank * 7 + step * 13 + call) % 10 * MS / 10;
                let at = ((step * 24 + rank) * 4 + call) << 22;
                one.write("/scratch/shared", at as i64, 4 << 20, now, now + takes);
                now += takes;
            }
            one.add("", BARRIER, 0, 0, 0, now, (step + 1) * 300 * MS);
        }
        one
    };
    report((0..24).map(rank).collect(), 3600)
}

#[test]
fn ranks_that_are_in_calls_for_longer_than_all_others_are_reported_together() {
    let found = in_steps(|rank| if (10..13).contains(&rank) { 170 } else { 100 });
    let group = assert_found(&found, "DXT-C015", &json!({"node": "n1"}));
    assert_costs_ms(group, 957..=1057);
    assert_says(group, &["ranks 10-12"]);
    let found = in_steps(|rank| if rank >= 16 { 170 } else { 100 });
    let group = assert_found(&found, "DXT-C015", &json!({"node": "n2"}));
    assert_costs_ms(group, 2554..=2822);
    assert_says(group, &["node n2", "ranks 16-23"]);
    // Equal ranks, a slope without a gap, and a small gap are no slow group.
    for (text, found) in [
        ("similar", in_steps(|_| 100)),
        ("a slope", in_steps(|rank| 100 + rank * 4)),
        ("little", in_steps(|rank| if rank < 3 { 115 } else { 100 })),
    ] {
        assert_eq!(of_code(&found, "DXT-C015"), None, "{text}");
    }
}

#[test]
fn a_small_input_that_one_rank_reads_is_no_matter_beside_what_several_write() {
    // Rank 0 of 16 reads 6 kB for all, and ranks 0 to 3 write five times as much as the others.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        if rank == 0 {
            one.add("/in/input.nml", op::POSIX_READ, 0, 0, 6000, 0, MS);
        }
        for step in 0..10_u64 {
            let mut now = step * 100 * MS + 2 * MS;
            for call in 0..if rank < 4 { 10 } else { 2 } {
                let takes = 5 * MS + (rank * 7 + step * 3 + call) % 10 * MS / 20;
                one.write(&format!("/lus/{rank}"), ((step * 10 + call) << 20) as i64, 1 << 20, now, now + takes);
                now += takes;
            }
            one.add("", BARRIER, 0, 0, 0, now, (step + 1) * 100 * MS);
        }
        one
    };
    let found = report((0..16).map(rank).collect(), 1000);
    let most = assert_stated(&found, "DXT-C014", &json!({"rank": 0, "bytes": 100 << 20}));
    assert_saves_ms(most, 298.0..=330.0);
    assert_says(most, &["ranks 0-3", "write", "2.5 times"]);
    assert_eq!(saves_ms(&found, "DXT-C013"), None);
}

/// Returns the JSON report on four synthetic ranks, each with `files` files. In each of `passes` passes, a rank makes one call of 20 KiB
/// (operation code `which`) on each file. An open takes `open_us` µs, and a call `call_us` µs.
fn small_files(which: u16, (files, passes): (u64, u64), (open_us, call_us): (u64, u64)) -> Value {
    let rank = |rank: u64| {
        let (mut one, mut now) = (process(rank as i32, "n"), 0);
        for call in 0..files * passes {
            let name = format!("/set/{rank}/{}", call % files);
            let mut add = |op: u16, length: u64, us: u64| {
                let at = if length > 0 { 0 } else { -1 };
                one.add(&name, op, 0, at, length, now, now + us * 1000);
                now += us * 1000;
            };
            add(op::POSIX_OPEN, 0, open_us);
            add(which, 20 << 10, call_us + (rank * 7 + call * 13) % 10 * 10);
            add(op::POSIX_CLOSE, 0, 20);
        }
        (one, now)
    };
    met_at_the_end((0..4).map(rank).collect())
}

#[test]
fn requests_that_are_whole_files_are_a_matter_of_many_files() {
    for (which, called) in [(op::POSIX_READ, "read"), (op::POSIX_WRITE, "written"), (op::STDIO_WRITE, "written")] {
        // The cases are fast opens with slow transfers, and many passes over very many files.
        for (count, times) in [((60, 1), (100, 4000)), ((300, 4), (300, 1000))] {
            let found = small_files(which, count, times);
            let whole = (count.0 * count.1 * (times.0 + times.1)) as f64 / 1000.0;
            let many = assert_stated(&found, "DXT-V022", &json!({}));
            assert_saves_ms(many, whole * 0.9..=whole * 1.1);
            assert_says(many, &[called]);
            assert!(text_has(&many["evidence"].to_string(), &["20.0 KiB"]), "{many}");
            for small in ["DXT-C004", "DXT-C005"] {
                assert!(saves_ms(&found, small).unwrap_or(0) == 0, "{small}: {}", brief(&found));
            }
        }
    }
    // One file is read in many short reads: larger reads are possible.
    let mut one = process(0, "n");
    one.add("/set/one", op::POSIX_OPEN, 0, -1, 0, 0, MS / 10);
    for call in 0..1200_u64 {
        let from = MS + call * 4 * MS / 5;
        one.add("/set/one", op::POSIX_READ, 0, ((call * 20) << 10) as i64, 20 << 10, from, from + 4 * MS / 5);
    }
    let found = report(vec![one], 970);
    assert_stated(&found, "DXT-C029", &json!({"calls": 1200, "operation": "reads"}));
    assert_eq!(["DXT-V022", "DXT-V023"].map(|code| of_code(&found, code)), [None; 2]);
}

/// A few hundred reads that each wait for storage are too small, even if each moves 32 KiB.
#[test]
fn hundreds_of_reads_without_read_ahead_are_too_small() {
    let run = |each: u64| {
        let mut one = process(-1, "n");
        one.add("/set/one", op::POSIX_OPEN, 0, -1, 0, 0, MS / 10);
        for call in 0..600_u64 {
            let from = MS + call * 2 * MS;
            one.add("/set/one", op::POSIX_READ, 0, (call << 15) as i64, 32 << 10, from, from + each);
        }
        report(vec![one], 1210)
    };
    assert_stated(&run(1_200_000), "DXT-C029", &json!({"calls": 600, "operation": "reads"}));
    assert_eq!(of_code(&run(200_000), "DXT-C029"), None);
}

#[test]
fn what_mpiio_cuts_collective_calls_into_is_the_librarys() {
    // Each of 16 ranks on two nodes requests 1 MiB in a collective call with 16 writes of 64 KiB inside.
    let rank = |rank: u64, collective: bool| {
        let mut one = process(rank as i32, &format!("n{}", rank / 8));
        for step in 0..10_u64 {
            let (from, at) = (step * 100 * MS, (step * 16 + rank) << 20);
            for call in 0..16_u64 {
                let (begin, end) =
                    (from + (call * 4 + 1) * MS, from + (call * 4 + 5) * MS - (rank + call) % 7 * 10_000);
                let nested = if collective { NESTED } else { 0 };
                one.add("/lus/out", op::POSIX_WRITE, nested, (at + (call << 16)) as i64, 64 << 10, begin, end);
            }
            if collective {
                one.add("/lus/out", op::MPIIO_WRITE_ALL, 0, at as i64, 1 << 20, from, from + 66 * MS);
            } else {
                one.add("", BARRIER, 0, 0, 0, from + 66 * MS, from + 67 * MS);
            }
        }
        one
    };
    let found = report((0..16).map(|number| rank(number, true)).collect(), 1000);
    let split = assert_stated(&found, "DXT-L007", &json!({"file": "/lus/out", "operation": "write"}));
    assert_says(split, &["64.0 KiB", "16 ranks"]);
    let commands = split["commands"].to_string();
    assert!(commands.contains("cb_nodes 2") && commands.contains("cb_buffer_size"), "{commands}");
    // Without MPI-IO, the small writes are the program's own.
    let found = report((0..16).map(|number| rank(number, false)).collect(), 1000);
    assert_stated(&found, "DXT-C030", &json!({"calls": 2560, "operation": "writes"}));
}

/// Returns the JSON report on eight synthetic ranks that each write a file of their own in each of eight steps. Rank 3 takes five times as
/// long in the last step. If `opens_too` is true, its opens and closes are slow as well.
fn own_files(opens_too: bool, one_file: bool) -> Value {
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, &format!("n{}", rank / 4));
        for step in 0..8_u64 {
            let mut now = step * 600 * MS;
            let slow = rank == 3 && (step == 7 || one_file);
            let name = if one_file { format!("/lus/part.{rank}") } else { format!("/lus/{step}/part.{rank}") };
            let mut add = |op: u16, at: i64, length: u64, us: u64| {
                let us = us + (rank * 7 + step * 13 + at.unsigned_abs() / (1 << 20)) % 10 * us / 100;
                one.add(&name, op, 0, at, length, now, now + us * 1000);
                now += us * 1000;
            };
            let other = if slow && opens_too { 5 } else { 1 };
            add(op::POSIX_OPEN, -1, 0, 400 * other);
            for call in 0..8_u64 {
                let at = if one_file { step * 8 + call } else { call };
                add(op::POSIX_WRITE, (at << 20) as i64, 1 << 20, if slow { 50_000 } else { 10_000 });
            }
            add(op::POSIX_CLOSE, -1, 0, 200 * other);
            one.add("", BARRIER, 0, 0, 0, now, (step + 1) * 600 * MS);
        }
        // A write of rank 0 to another file makes files comparable.
        if rank == 0 {
            one.write("/lus/log", 0, 1 << 20, 4800 * MS, 4810 * MS);
        }
        one
    };
    report((0..8).map(rank).collect(), 4820)
}

#[test]
fn a_slow_file_that_one_rank_alone_uses_is_reported_with_the_rank() {
    let found = own_files(true, false);
    let facts = json!({"rank": 3, "file": "/lus/7/part.3", "calls": 8, "operation": "writes"});
    assert_stated(&found, "DXT-O002", &facts);
    let found = own_files(false, false);
    let facts = json!({"rank": null, "file": "/lus/7/part.3", "calls": 8, "operation": "writes"});
    assert_says(assert_stated(&found, "DXT-O005", &facts), &["rank 3"]);
    assert_stated(&own_files(false, true), "DXT-O002", &json!({"rank": 3, "calls": 64}));
}

/// Returns the JSON report on 32 synthetic ranks that write 1 MiB each, `apart` MiB from each other, to a file on eight storage targets. A
/// target serves one write at a time, in 3 ms.
fn strided(apart: u64) -> Value {
    let ranks = 32;
    let mut all: Vec<Builder> = (0..ranks).map(|rank| process(rank as i32, &format!("n{}", rank / 8))).collect();
    for one in &mut all {
        let file = one.file("/lus/plane");
        let bytes = lustre(1 << 20, &(0..8).collect::<Vec<u32>>());
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
    }
    for step in 0..8_u64 {
        let (from, mut free) = (step * 200 * MS, [0_u64; 8]);
        for (rank, one) in (0..ranks).zip(&mut all) {
            // In each step, another rank is served first.
            let place = (rank * 13 + step * 5) % ranks;
            let at = (step * ranks + place) * apart + 5;
            let free = &mut free[(at % 8) as usize];
            *free += 3 * MS;
            one.write("/lus/plane", (at << 20) as i64, 1 << 20, from, from + *free);
            one.add("", BARRIER, 0, 0, 0, from + *free, from + 150 * MS);
        }
    }
    report(all, 1600)
}

#[test]
fn a_stride_that_meets_few_of_many_targets_is_reported() {
    let found = strided(8);
    let few = assert_stated(&found, "DXT-V011", &json!({"file": "/lus/plane"}));
    assert_saves_ms(few, 639.0..=705.0);
    assert_says(few, &["1 of the 8 OSTs", "OST 5", "100 %"]);
    assert!(text_has(&evidence(&found), &["8.00 MiB", "8 stripes", "1.00 MiB"]), "{few}");
    let commands = few["commands"].to_string();
    assert!(commands.contains("lfs setstripe -c 7 -S 1M /lus"), "{commands}");
    assert_eq!(of_code(&strided(9), "DXT-V011"), None);
}

#[test]
fn scratch_data_that_are_read_back_and_overwritten_have_two_findings_and_no_time_twice() {
    let rank = |rank: u64| {
        let (mut one, name, mut now) = (process(rank as i32, "n"), format!("/lus/tmp.{rank}"), 0);
        for pass in 0..6_u64 {
            for which in [op::POSIX_WRITE, op::POSIX_READ] {
                for call in 0..8_u64 {
                    let takes = 6 * MS + (rank * 7 + pass * 3 + call) % 10 * MS / 20;
                    one.add(&name, which, 0, (call << 22) as i64, 4 << 20, now, now + takes);
                    now += takes;
                }
            }
        }
        (one, now)
    };
    let found = met_at_the_end((0..4).map(rank).collect());
    // Each of both costs about half, and the 96 calls of a rank take about 600 ms.
    let overwritten = assert_found(&found, "DXT-C027", &json!({"bytes": 640 << 20}));
    let back = assert_found(&found, "DXT-C026", &json!({"bytes": 768 << 20}));
    assert_costs_ms(overwritten, 940..=1050);
    assert_costs_ms(back, 1140..=1250);
    for finding in [overwritten, back] {
        assert_saves_ms(finding, 240.0..=310.0);
    }
    let together = found["verdict"]["together"]["saves_ns"].as_u64().unwrap() / MS;
    assert!((500..=620).contains(&together), "{together} ms");
}
