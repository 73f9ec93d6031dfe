//! Tests the portions that a process reserves, and a process without a budget.

use super::*;
use std::ffi::CStr;

/// Without a budget there must be no quota, and thus no file and no lock; nothing is counted.
#[test]
fn without_a_budget_there_is_no_quota() {
    let environment: &[(&CStr, &str)] = &[(c"DXT_ENABLE", "trace"), (c"DXT_JOB_ID", "7"), (c"SLURM_JOB_ID", "7")];
    prepare(&config::read(&environment).ok().flatten().unwrap(), &environment, |_| None);
    assert!(covers_trace(u64::MAX / 2) && begin_spool(1 << 40) && !is_least() && !is_spent_on_names(|| 0));
    assert!(Piece::Segments.take(1 << 40) && Piece::Others.take(1 << 40));
    settle(5);
    give_back();
    assert!(quota().is_none() && prepared().is_none() && !IS_NOTED.load(Ordering::Relaxed) && !has_refused());
    assert_eq!((REQUESTS.load(Ordering::Relaxed), WAITED.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn portions_are_neither_too_small_nor_all_there_is() {
    let (k, all, gigabyte) = (1 << 10, u64::MAX, 1 << 30);
    let one = |bytes: u64, most: u64, free: u64| portion(gigabyte, bytes, bytes, most, free);
    // Grants whole quanta; the last portion is the remainder.
    assert_eq!([gigabyte, 2 * k, 0].map(|free| one(k, all, free)), [1 << 20, 2 * k, 0]);
    // Grants at most the share, and never less than needed.
    assert_eq!([5 * k, 2 * k].map(|most| one(3 * k, most, gigabyte)), [5 * k, 0]);
    // A starting process accepts less.
    let begin = |free: u64, most: u64| portion(256 * k, 320 * k, 16 * k, most, free);
    assert_eq!([256 * k, 128 * k, 20 * k, 15 * k].map(|free| begin(free, all)), [128 * k, 64 * k, 16 * k, 0]);
    assert_eq!((begin(256 * k, 20 * k), begin(256 * k, 15 * k)), (20 * k, 0));
}
