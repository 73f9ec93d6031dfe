//! Tests of access patterns that span several processes: checkpoints of one or two calls per rank, steps of a time series, logs with
//! records of varying size, calls under a file view. Variants: varying blocks, ranks in another order or missing, and accesses without a
//! pattern.

use crate::common::{Builder, job, json, op, process, put, trace};
use serde_json::{Value, json as value};
use std::collections::BTreeSet;
use std::path::Path;

const FILE: &str = "/scratch/checkpoint";
const BLOCK: u64 = 1 << 20;

/// Call of a rank: file, operation code, offset, length.
type Call = (String, u16, u64, u64);

/// Writes a trace with the calls of each rank, one per 1,000 ns, 500 ns long. Returns its path.
fn written(folder: &Path, ranks: &[(i32, Vec<Call>)]) -> String {
    let processes = ranks.iter().map(|(rank, calls)| {
        let mut one: Builder = process(*rank, "n");
        for (start, (file, op, offset, length)) in (1..).map(|n| n * 1000).zip(calls) {
            one.add(file, *op, 0, *offset as i64, *length, start, start + 500);
        }
        one
    });
    put(folder, "a.dxt", &trace(&job("signatures", ranks.len() as u32), processes.collect()))
}

/// Returns the signatures found in these calls; asserts that they reproduce every access (`--verify`).
fn said(ranks: &[(i32, Vec<Call>)], more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), ranks);
    let found = json(&[&["signatures", "--format", "json", "--verify", &path], more].concat(), 0);
    assert_eq!(found["verified"]["wrong"], 0, "{found:#}");
    found
}

fn one(found: &Value) -> &Value {
    let [line] = found["global"].as_array().unwrap().as_slice() else { panic!("{:#}", found["global"]) };
    line
}

fn write(offset: u64, length: u64) -> Call {
    (FILE.to_owned(), op::POSIX_WRITE, offset, length)
}

/// Returns a pseudo-random length between 1,000 and 5,999 bytes; lengths follow no rule.
fn vary(n: u64) -> u64 {
    let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    1000 + (mixed ^ (mixed >> 27)) % 5000
}

#[test]
fn a_checkpoint_of_one_call_of_each_rank_is_a_line() {
    for op in [op::POSIX_WRITE, op::POSIX_READ] {
        let ranks: Vec<_> =
            (0..16).map(|rank| (rank, vec![(FILE.to_owned(), op, rank as u64 * BLOCK, BLOCK)])).collect();
        let found = said(&ranks, &[]);
        let line = one(&found);
        assert_eq!((&line["processes"], &line["spatial"]), (&value!("ranks 0-15"), &value!("contiguous")));
        assert_eq!((&line["shift_per_rank"], &line["contiguous"]), (&value!(BLOCK), &value!([0, 16 * BLOCK])));
        assert_eq!(line["signature"].as_str().unwrap().split(' ').next(), Some("1"));
        assert_eq!(found["verified"]["covered"], 16);
        // A single call of one rank is no pattern.
        let local = said(&ranks, &["--level", "local"]);
        assert_eq!(local["verified"]["covered"], 0);
    }
}

#[test]
fn a_header_and_a_block_of_each_rank_are_a_line() {
    let calls = |rank: u64| vec![write(rank * (BLOCK + 24), 24), write(rank * (BLOCK + 24) + 24, BLOCK)];
    let ranks: Vec<_> = (0..8).map(|rank| (rank, calls(rank as u64))).collect();
    let found = said(&ranks, &[]);
    let line = one(&found);
    assert_eq!((&line["spatial"], &line["accesses"]), (&value!("contiguous"), &value!(16)));
    assert_eq!((&line["contiguous"], &line["start_ns"]), (&value!([0, 8 * (BLOCK + 24)]), &value!(1000)));
    assert_eq!((&line["last_start_ns"], &line["end_ns"]), (&value!(2000), &value!(2500)));
}

#[test]
fn blocks_with_gaps_have_a_stride() {
    let ranks: Vec<_> = (0..8).map(|rank| (rank, vec![write(rank as u64 * 2 * BLOCK, BLOCK)])).collect();
    let found = said(&ranks, &[]);
    assert_eq!((&one(&found)["spatial"], &one(&found)["contiguous"]), (&value!("fixed stride"), &Value::Null));
}

/// Patterns over ranks are found even if rank 0 writes a header before its block and some ranks write nothing.
#[test]
fn a_header_of_one_rank_does_not_hide_the_others() {
    let calls = |rank: u64| {
        let block = write(4096 + rank * BLOCK, BLOCK);
        if rank == 0 { vec![write(0, 64), block] } else { vec![block] }
    };
    let ranks: Vec<_> = (0..16).map(|rank| (rank, calls(rank as u64))).collect();
    let found = said(&ranks, &[]);
    assert_eq!(found["verified"]["covered"], 16, "{found:#}");
    let line = &found["global"][0];
    assert_eq!((&line["processes"], &line["contiguous"]), (&value!("ranks 0-15"), &value!([4096, 16 * BLOCK])));
    let some: Vec<_> = (0..16).filter(|rank| rank % 7 != 5).map(|rank| (rank, calls(rank as u64))).collect();
    let found = said(&some, &[]);
    assert_eq!(found["verified"]["covered"], 14, "{found:#}");
}

#[test]
fn blocks_that_vary_and_ranks_in_another_order_fill_the_file() {
    let lengths: Vec<u64> = (0..32).map(vary).collect();
    let at = |place: u64| lengths.iter().take(place as usize).sum::<u64>();
    for (order, words) in [(1, "where the one before ends"), (5, "in another order")] {
        let place = |rank: u64| rank * order % 32;
        let calls = |rank: u64| vec![write(at(place(rank)), lengths[place(rank) as usize])];
        let ranks: Vec<_> = (0..32).map(|rank| (rank, calls(rank as u64))).collect();
        let found = said(&ranks, &[]);
        let line = one(&found);
        assert_eq!((&line["spatial"], &line["variable_size"]), (&value!("contiguous"), &value!(true)), "{line:#}");
        assert_eq!(line["contiguous"], value!([0, lengths.iter().sum::<u64>()]));
        assert!(line["shift"].as_str().unwrap().starts_with(words), "{line:#}");
        assert_eq!((&line["processes"], &found["verified"]["covered"]), (&value!("ranks 0-31"), &value!(32)));
    }
    // Blocks have varying lengths and equal distances.
    let ranks: Vec<_> = (0..32).map(|rank| (rank, vec![write(rank as u64 * BLOCK, vary(rank as u64))])).collect();
    let found = said(&ranks, &[]);
    let line = one(&found);
    assert_eq!((&line["spatial"], &line["shift_per_rank"]), (&value!("fixed stride"), &value!(BLOCK)), "{line:#}");
}

#[test]
fn steps_of_a_series_are_a_line() {
    for (form, steps) in [(4, 6_u64), (1, 12)] {
        let file = |step: u64| format!("/scratch/step_{step:0form$}.dat");
        let calls =
            |rank: u64| (0..steps).map(|step| (file(step * 100), op::POSIX_WRITE, rank * BLOCK, BLOCK)).collect();
        let ranks: Vec<_> = (0..8).map(|rank| (rank, calls(rank as u64))).collect();
        let found = said(&ranks, &[]);
        let line = one(&found);
        assert_eq!((&line["file"], &line["files"]), (&value!("/scratch/step_*.dat"), &value!(steps)));
        assert_eq!((&line["shift_per_rank"], &line["contiguous"]), (&value!(BLOCK), &value!([0, 8 * BLOCK])));
        assert_eq!((&line["repetition"], &line["spatial"]), (&value!("repeating"), &value!("contiguous")));
        assert_eq!(found["verified"]["covered"], 8 * steps);
    }
    // Two ranks suffice if files repeat their accesses; files with other accesses stay separate.
    let file = |step: u64| format!("/scratch/step{step}");
    let calls = |rank: u64| {
        let step = |step: u64| (file(step), op::POSIX_WRITE, rank * BLOCK * (1 + step / 5), BLOCK);
        (0..6).map(step).collect()
    };
    let found = said(&[(0, calls(0)), (1, calls(1))], &[]);
    assert_eq!((&found["global"][0]["files"], &found["global"][0]["process_count"]), (&value!(5), &value!(2)));
}

#[test]
fn accesses_in_no_order_stay_without_a_pattern() {
    let ranks: Vec<_> = (0..16).map(|rank| (rank, vec![write(vary(rank as u64) * BLOCK, BLOCK)])).collect();
    let found = said(&ranks, &[]);
    assert_eq!((&one(&found)["spatial"], &one(&found)["signature"]), (&value!("random"), &value!("")));
    // Two points always lie on a line, so they are no pattern.
    let found = said(&[(0, vec![write(0, BLOCK)]), (1, vec![write(BLOCK, BLOCK)])], &[]);
    assert_eq!(found["verified"]["covered"], 0);
}

#[test]
fn records_that_vary_in_size_are_contiguous() {
    let log = |length: &dyn Fn(u64) -> u64, backward: bool| {
        let mut at = if backward { 1 << 40 } else { 0 };
        let mut next = |n: u64| {
            let length = length(n);
            at = if backward { at - length } else { at };
            let call = write(at, length);
            at = if backward { at } else { at + length };
            call
        };
        (0..1000).map(&mut next).collect::<Vec<Call>>()
    };
    for (length, backward, spatial) in [
        (&vary as &dyn Fn(u64) -> u64, false, "contiguous"),
        (&|n| 100 + n * 7, false, "contiguous"),
        (&|n| 10 + n * n, false, "contiguous"),
        (&vary, true, "negative"),
    ] {
        for level in ["local", "global"] {
            let found = said(&[(0, log(length, backward))], &["--level", level]);
            let rows = found[level].as_array().unwrap();
            assert!(rows.iter().all(|row| row["spatial"] == spatial), "{rows:#?}");
            let words = format!("{{WRITE, <{spatial}, 1>, <single>, ");
            assert!(rows[0]["pattern_signature"].as_str().unwrap().starts_with(&words), "{rows:#?}");
            assert_eq!(rows.last().unwrap()["signature"], "", "no loop makes them again");
        }
    }
    // Accesses are tested with occasional jumps, and without an order.
    let jump = |call: Call, n: usize| write(call.2 + n as u64 / 40 * BLOCK, call.3);
    let jumps = log(&vary, false).into_iter().enumerate().map(|(n, call)| jump(call, n)).collect();
    assert_eq!(said(&[(0, jumps)], &[])["global"][0]["spatial"], "combination");
    let nowhere = (0..1000).map(|n| write(vary(n) * 8192, vary(n + 5000))).collect();
    assert_eq!(said(&[(0, nowhere)], &[])["global"][0]["spatial"], "random");
    // Accesses have varying lengths at a fixed stride.
    let even = (0..1000).map(|n| write(n * 8192, vary(n))).collect();
    assert_eq!(said(&[(0, even)], &[])["global"][0]["spatial"], "fixed stride");
}

#[test]
fn blocks_and_a_jump_are_a_combination() {
    let of = |each: &dyn Fn(u64) -> u64| {
        let found = said(&[(0, (0..90).map(|n| write(each(n), 512)).collect())], &[]);
        one(&found)["spatial"].as_str().unwrap().to_owned()
    };
    assert_eq!(of(&|n| n / 9 * 100_000 + n % 9 * 512), "combination");
    assert_eq!(of(&|n| n / 9 * 100_000 + n % 9 * 1024), "2-d strided");
    assert_eq!(of(&|n| n * 512), "contiguous");
}

#[test]
fn regular_accesses_have_a_pattern_signature_too() {
    let found = said(&[(0, (0..90).map(|n| write(n * 8192, 4096)).collect())], &[]);
    let line = one(&found);
    assert_eq!(line["pattern_signature"], "{WRITE, <fixed stride, 1>, <single>, <medium, fixed>, <fixed>}");
    assert_eq!((&line["last_start_ns"], &line["end_ns"]), (&value!(90_000), &value!(90_500)));
}

#[test]
fn ranks_of_a_line_are_those_that_did_it() {
    let ranks: Vec<_> =
        (0..40).filter(|rank| rank % 3 == 1).map(|rank| (rank, vec![write(rank as u64 * 100, 100)])).collect();
    let found = said(&ranks, &["--top", "1000"]);
    let names: BTreeSet<&str> =
        found["global"].as_array().unwrap().iter().filter_map(|row| row["processes"].as_str()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!((one(&found)["process_count"].as_u64(), &one(&found)["spatial"]), (Some(13), &value!("fixed stride")));
}
