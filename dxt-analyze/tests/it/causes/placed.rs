//! Tests of file placement on storage targets: too many files on one target, too few targets per file, and no advice to use more targets than exist.

use super::{BARRIER, MS, evidence, meet, report, saves_ms, sentence};
use crate::common::facts::{assert_says, assert_stated, assert_states_title_only, brief, text_has};
use crate::common::op::POSIX_READ;
use crate::common::{Builder, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json};
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

const US: u64 = 1000;

fn lay(one: &mut Builder, path: &str, targets: &[u32]) {
    let (file, bytes) = (one.file(path), lustre(1 << 20, targets));
    one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source: LayoutSource::Lustre, bytes });
}

/// Returns the JSON report on 24 synthetic ranks that write 1 MiB eight times in each of six steps, to file `file(rank, step)` on targets
/// `targets(rank, step)`. Each target serves one call at a time, in 500 µs.
fn served(file: impl Fn(u64, u64) -> String, targets: impl Fn(u64, u64) -> Vec<u32>) -> Value {
    let mut all: Vec<Builder> = (0..24).map(|rank| process(rank, &format!("n{}", rank / 6))).collect();
    let mut now = 0;
    for step in 0..6_u64 {
        let (mut free, mut ready) = ([now; 32], [0_u64; 24]);
        for (rank, one) in (0..24_u64).zip(&mut all) {
            ready[rank as usize] = now + 100 * MS + rank * 20 * US;
            lay(one, &file(rank, step), &targets(rank, step));
        }
        for call in 0..8_u64 {
            for (rank, one) in (0..24_u64).zip(&mut all) {
                let (begin, on) = (ready[rank as usize], targets(rank, step));
                let stripe = (rank + call) as usize % on.len();
                let free = &mut free[on[stripe] as usize];
                *free = (*free).max(begin) + (500 + (rank * 7 + call * 3) % 10 * 10) * US;
                let offset = (call * 48 + (rank + call) % on.len() as u64) << 20;
                one.write(&file(rank, step), offset as i64, 1 << 20, begin, *free);
                ready[rank as usize] = *free;
            }
        }
        now = meet(&mut all, &ready);
    }
    report(all, now / MS + 1)
}

#[test]
fn a_target_with_a_third_of_all_files_is_overloaded_and_its_users_are_not_slow() {
    let found = served(
        |rank, step| format!("/lus/{step}/{rank}"),
        |rank, _| vec![if rank % 3 == 0 { 7 } else { rank as u32 % 12 + 8 }],
    );
    let loaded = assert_stated(&found, "DXT-O004", &json!({"ost": 7, "calls": 8 * 6 * 8}));
    assert_says(loaded, &["overloaded", "4.0 times"]);
    assert_eq!(saves_ms(&found, "DXT-O002"), None);
}

#[test]
fn files_that_lie_evenly_on_all_targets_there_are_do_not_wait_for_more() {
    let own = |rank: u64, step: u64| format!("/lus/{step}/{rank}");
    let found = served(own, |rank, _| vec![rank as u32 % 3]);
    assert_eq!(saves_ms(&found, "DXT-V006"), None, "{}", brief(&found));
    // All files are on one target, where servers would not have placed all.
    let found = served(own, |_, _| vec![3]);
    assert_stated(&found, "DXT-V006", &json!({"ost": 3}));
}

#[test]
fn a_shared_file_of_one_target_each_step_is_reported_so_though_steps_use_others() {
    let found = served(|_, step| format!("/lus/dump.{step}"), |_, step| vec![step as u32]);
    assert_says(assert_stated(&found, "DXT-V006", &json!({"ost": null})), &["one OST"]);
    assert!(text_has(&evidence(&found), &["1 OST", "1 stripe"]), "{}", evidence(&found));
}

#[test]
fn a_shared_file_of_one_stripe_is_named_where_nothing_is_odd() {
    // Eight ranks write 20 times; the duration of a write does not depend on the other ranks.
    let run = |targets: &[u32]| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            lay(&mut one, "/lus/dump", targets);
            for call in 0..20_u64 {
                let (from, jitter) = (call * 50 * MS + rank * MS, (rank * 7 + call * 3) % 10 * MS / 10);
                one.write("/lus/dump", ((call * 8 + rank) << 20) as i64, 1 << 20, from, from + 30 * MS + jitter);
            }
            one
        };
        report((0..8).map(rank).collect(), 1000)
    };
    let found = run(&[4]);
    assert_stated(&found, "DXT-V026", &json!({"operation": "writes"}));
    let text = sentence(&found);
    assert!(text_has(text, &["dump", "8 processes", "lfs setstripe -c 8"]), "{text}");
    let found = run(&[1, 2, 3, 4]);
    assert_states_title_only(&found, assert_stated(&found, "DXT-V026", &json!({"operation": "writes"})));
}

#[test]
fn a_header_that_all_read_piece_by_piece_is_one_block() {
    let mut all: Vec<Builder> = (0..16).map(|rank| process(rank, &format!("n{}", rank / 4))).collect();
    let mut free = 0;
    for call in 0..40_u64 {
        for (rank, one) in (0..16_u64).zip(&mut all) {
            free += 300 * US + (rank * 7 + call) % 10 * 5 * US;
            let begin = if call == 0 { 0 } else { free - 16 * 310 * US };
            one.add("/lus/mesh", POSIX_READ, 0, (call * 4096) as i64, 4096, begin, free);
        }
    }
    for one in &mut all {
        one.add("", BARRIER, 0, 0, 0, free + MS, free + 2 * MS);
    }
    let found = report(all, free / MS + 300);
    let block = assert_stated(&found, "DXT-C025", &json!({"file": "/lus/mesh", "offset": 0, "calls": 640}));
    assert_says(block, &["16 processes", "160 KiB"]);
}
