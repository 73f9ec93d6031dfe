//! Tests of simulated prefetching with access patterns for which the result is known.

use super::*;

const CACHE: Cache = Cache { size_bytes: 1 << 20, latency_ns: 1_000_000, unit_bytes: 4096, file_bytes: None };

/// Returns reads at `offsets` within a period, repeated `times` times: one read per 2 ms, each with a duration of 0.
fn reads(offsets: &[u64], length: u64, period: u64, times: u64) -> Vec<Read> {
    let offsets = (0..times).flat_map(|time| offsets.iter().map(move |offset| time * period + offset));
    let timed = offsets.zip((0..).step_by(2_000_000));
    timed.map(|(offset, start_ns)| Read { offset, length, start_ns, end_ns: start_ns }).collect()
}

fn nested(first: u64) -> Vec<Read> {
    reads(&[first, first + 8_192], 4_096, 32_768, 100)
}

fn ahead(reads: &[Read], bytes: u64, cache: &Cache) -> Outcome {
    simulate::<Unforeseen>(reads.iter().copied(), Policy::ReadAhead { bytes }, cache)
}

fn signature(reads: &[Read], calls: u64, cache: &Cache) -> Outcome {
    let next = reads.iter().map(|read| (read.offset, read.length));
    simulate(reads.iter().copied(), Policy::Signature { next, calls }, cache)
}

fn close(value: Option<f64>, wanted: f64) -> bool {
    value.is_some_and(|value| (value - wanted).abs() < 0.01)
}

#[test]
fn the_nested_case_of_four_ranks() {
    for unit_bytes in [1, 512, 4096] {
        for first in [0, 4_096, 16_384, 20_480] {
            let (reads, cache) = (nested(first), Cache { unit_bytes, ..CACHE });
            let short = ahead(&reads, 4_096, &cache);
            assert_eq!((short.coverage(), short.accuracy()), (Some(0.0), Some(0.0)), "{short:?}");
            for bytes in [24_576, 28_672] {
                let long = ahead(&reads, bytes, &cache);
                assert!(close(long.coverage(), 1.0) && close(long.accuracy(), 0.25), "{long:?}");
            }
            let ours = signature(&reads, calls_ahead(&cache, 2_000_000, 4_096), &cache);
            assert!(ours.coverage() >= Some(0.98) && ours.accuracy() == Some(1.0), "{ours:?}");
            assert_eq!((ours.misses_without, ours.misses, ours.late, ours.saves_ns()), (200, 1, 0, 199_000_000));
        }
    }
}

#[test]
fn the_read_ahead_between_covers_the_near_half() {
    let half = ahead(&nested(0), 8_192, &CACHE);
    assert!(close(half.coverage(), 0.5) && close(half.accuracy(), 0.25), "{half:?}");
}

#[test]
fn a_first_byte_off_the_unit_changes_nothing_in_bytes() {
    let cache = Cache { unit_bytes: 1, ..CACHE };
    assert_eq!(ahead(&nested(100), 24_576, &cache), ahead(&nested(0), 24_576, &cache));
}

#[test]
fn issued_one_call_short_is_late_and_as_many_as_it_takes_is_not() {
    // A prefetch distance of four is enough: four intervals of 0.3 ms exceed the latency of 1 ms.
    let reads: Vec<Read> =
        (0..100).map(|n| Read { offset: n << 20, length: 4_096, start_ns: n * 300_000, end_ns: n * 300_000 }).collect();
    let calls = calls_ahead(&CACHE, 300_000, 4_096);
    assert_eq!(calls, 4);
    let enough = signature(&reads, calls, &CACHE);
    assert_eq!((enough.misses, enough.late), (1, 0), "{enough:?}");
    let short = signature(&reads, 3, &CACHE);
    assert!(short.late > 20 && short.misses == 1 && short.coverage() < Some(0.8), "{short:?}");
    // A prefetch that arrives too late still saves three intervals.
    assert!(short.saves_ns() > 0 && short.saves_ns() < enough.saves_ns(), "{short:?}");
}

#[test]
fn what_a_call_waited_for_is_no_interval() {
    // Each read takes the latency, with 0.1 ms between reads: the prefetch distance is ten reads, not one.
    let reads: Vec<Read> = (0..200)
        .map(|n| Read { offset: n << 20, length: 4_096, start_ns: n * 1_100_000, end_ns: n * 1_100_000 + 1_000_000 })
        .collect();
    assert_eq!(calls_ahead(&CACHE, 100_000, 4_096), 10);
    let (ten, one) = (signature(&reads, 10, &CACHE), signature(&reads, 1, &CACHE));
    assert_eq!((ten.misses, ten.late), (1, 0), "{ten:?}");
    // Every other read waits for the latency minus the interval.
    assert_eq!((one.misses, one.late, one.hits), (1, 99, 100), "{one:?}");
    assert_eq!(one.wait_ns, 1_000_000 + 99 * 900_000);
}

#[test]
fn what_the_cache_cannot_keep_is_too_early() {
    let cache = Cache { size_bytes: 8 * 4_096, ..CACHE };
    let reads = reads(&[0], 4_096, 1 << 20, 100);
    let far = signature(&reads, 20, &cache);
    assert!(far.early > 50 && far.early_bytes >= far.early * 4_096, "{far:?}");
    // With the prefetch distance of `calls_ahead`, nothing is evicted before use.
    let near = signature(&reads, calls_ahead(&cache, 0, 4_096), &cache);
    assert_eq!((near.early, near.misses, near.accuracy()), (0, 1, Some(1.0)), "{near:?}");
    // Useless prefetches do not count as too early: their bytes are never read.
    let useless = ahead(&reads, 16_384, &cache);
    assert_eq!((useless.early, useless.accuracy(), useless.coverage()), (0, Some(0.0), Some(0.0)), "{useless:?}");
}

#[test]
fn a_cache_alone_serves_small_reads_of_one_page_and_re_reads() {
    let small =
        simulate::<Unforeseen>(reads(&[0, 1_024, 2_048, 3_072], 1_024, 4_096, 10).into_iter(), Policy::None, &CACHE);
    assert_eq!((small.reads, small.misses, small.hits, small.coverage()), (40, 10, 30, Some(0.0)));
    let again = simulate::<Unforeseen>(reads(&[0], 4_096, 0, 10).into_iter(), Policy::None, &CACHE);
    assert_eq!((again.misses, again.hits, again.accuracy()), (1, 9, None));
}

#[test]
fn backwards_reads_are_foreseen_by_the_pattern_alone() {
    let backwards: Vec<Read> = reads(&[0], 4_096, 4_096, 100)
        .into_iter()
        .map(|read| Read { offset: (1 << 20) - read.offset, ..read })
        .collect();
    assert_eq!(ahead(&backwards, 1 << 16, &CACHE).coverage(), Some(0.0));
    assert!(signature(&backwards, 1, &CACHE).coverage() >= Some(0.98));
}

#[test]
fn nothing_behind_the_end_of_the_file_is_fetched() {
    let cache = Cache { file_bytes: Some(409_600), ..CACHE };
    let sequential = ahead(&reads(&[0], 4_096, 4_096, 100), 1 << 16, &cache);
    assert_eq!((sequential.misses, sequential.accuracy()), (1, Some(1.0)), "{sequential:?}");
}

#[test]
fn a_wrong_pattern_costs_accuracy_and_covers_nothing() {
    let reads = reads(&[0], 4_096, 1 << 20, 50);
    let next = reads.iter().map(|read| (read.offset + (1 << 19), read.length));
    let wrong = simulate(reads.iter().copied(), Policy::Signature { next, calls: 2 }, &CACHE);
    assert_eq!((wrong.coverage(), wrong.accuracy()), (Some(0.0), Some(0.0)), "{wrong:?}");
}

#[test]
fn what_is_lost_is_negative_and_never_beyond_its_type() {
    let outcome = |wait_without_ns, wait_ns| Outcome { wait_without_ns, wait_ns, ..Outcome::default() }.saves_ns();
    assert_eq!((outcome(5, 7), outcome(u64::MAX, u64::MAX - 1)), (-2, 1));
    assert_eq!((outcome(0, u64::MAX), outcome(u64::MAX, 0)), (i64::MIN, i64::MAX));
}

#[test]
fn odd_numbers_are_no_trouble() {
    let odd = [(0, 0, 0, 0), (u64::MAX, u64::MAX, u64::MAX, 0), (u64::MAX - 1, 1, 5, 3), (0, u64::MAX, 0, u64::MAX)];
    let reads = odd.map(|(offset, length, start_ns, end_ns)| Read { offset, length, start_ns, end_ns });
    for size_bytes in [0, 1, u64::MAX] {
        for unit_bytes in [0, 3, u64::MAX] {
            for latency_ns in [0, u64::MAX] {
                let cache = Cache { size_bytes, latency_ns, unit_bytes, file_bytes: None };
                let _ = (ahead(&reads, u64::MAX, &cache).saves_ns(), signature(&reads, u64::MAX, &cache).coverage());
                assert!(calls_ahead(&cache, 0, 0) >= 1);
            }
        }
    }
    // The pattern never ends.
    let next = (0..).map(|n: u64| (n, 0));
    let endless = simulate(reads.into_iter(), Policy::Signature { next, calls: u64::MAX }, &CACHE);
    assert!(endless.reads <= 4);
    assert_eq!(simulate::<Unforeseen>(std::iter::empty(), Policy::None, &CACHE), Outcome::default());
}
