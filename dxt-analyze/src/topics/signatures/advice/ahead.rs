//! Advice on reads that can be prefetched: simulates the small reads of each pattern through a cache. Compares no prefetching, the system's
//! sequential read-ahead, and prefetching of the reads that the pattern predicts.

use super::{FEWEST, SMALL_BYTES, WAITED_NS};
use crate::model::{FileId, Run};
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::thresholds::fixed::PAGE_BYTES;
use crate::topics::signatures::args::Options;
use crate::topics::signatures::names::{waits, writes};
use crate::topics::signatures::pass::Signed;
use crate::topics::signatures::uses::prefetch::{Cache, Outcome, Policy, Read, Unforeseen, calls_ahead, simulate};
use crate::topics::signatures::words::file;
pub use crate::words::signatures::facts::AheadRow;
use iosig::{Loop, Node, Pattern, expand_nest};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Maximum number of reads to simulate per pattern; more reads would not change the result.
const PLAYED: usize = 1000;
/// Maximum number of patterns to simulate: those with most total time.
const PATTERNS: usize = 16;
/// Default sequential read-ahead of Linux, bytes.
pub(super) const PLAIN_BYTES: u64 = 128 << 10;
/// Maximum ratio of read latency to the interval between reads: beyond it, the program has too little work between reads to hide the
/// latency.
const HIDDEN: u64 = 10;
/// Squared coefficient of variation of the intervals between reads above which reads count as bursts: fewer than one in five intervals
/// makes up most of the mean.
const BURSTS: f64 = 4.0;

/// Squared coefficient of variation of the intervals between reads above which the reads count as bursts: a few long intervals (fewer than
/// one in five) then make up most of the time.
struct Candidate<'a> {
    pattern: &'a Pattern,
    file: FileId,
    reads: u64,
    length: u64,
    latency_ns: u64,
    interval_ns: u64,
}

impl Candidate<'_> {
    fn time_ns(&self) -> u64 {
        self.reads.saturating_mul(self.latency_ns)
    }
}

pub(super) fn rows(run: &Run, signed: &[Signed], options: &Options) -> Vec<AheadRow> {
    let mut similar: BTreeMap<(u64, u64, FileId), Vec<Candidate<'_>>> = BTreeMap::new();
    for of in signed {
        for candidate in of.signature.patterns().filter_map(|pattern| candidate(run, of, pattern)) {
            let shape = Node::Loop(candidate.pattern.nest.clone()).shape();
            similar.entry((shape, candidate.length, candidate.file)).or_default().push(candidate);
        }
    }
    let mut groups: Vec<Vec<Candidate<'_>>> = similar.into_values().collect();
    let time = |group: &[Candidate<'_>]| group.iter().map(|one| one.time_ns()).sum::<Sum>().get();
    groups.sort_by_key(|group| Reverse(time(group)));
    let mut out: Vec<AheadRow> = groups.iter().take(PATTERNS).filter_map(|group| row(run, group, options)).collect();
    out.sort_by_key(|row| Reverse(row.saves_ns));
    out
}

/// Descends through loops that contain only another loop, and returns the innermost loop.
fn innermost(of: &Loop) -> &Loop {
    match of.body.as_slice() {
        [Node::Loop(inner)] => innermost(inner),
        _ => of,
    }
}

/// Returns the pattern as a candidate for prefetching if its reads are small, wait for storage, and have enough time between them; else
/// `None`.
fn candidate<'a>(run: &Run, of: &Signed, pattern: &'a Pattern) -> Option<Candidate<'a>> {
    if !matches!(of.whose.layer, Layer::Posix | Layer::Stdio) || pattern.accesses < FEWEST {
        return None;
    }
    let waited = || of.calls.iter().filter(|calls| waits(run, calls.op));
    let reads = waited().filter(|calls| !writes(run, calls.op));
    let (calls, ns) = reads.fold((0_u64, 0_u64), |sum, of| (sum.0 + of.calls, sum.1.saturating_add(of.time_ns)));
    let all_ns = waited().map(|of| of.time_ns).sum::<Sum>().get();
    let all = waited().map(|of| of.calls).sum::<u64>().max(1);
    let (mut all_leaves, mut of_reads, mut longest) = (0_u64, 0_u64, 0_u64);
    let mut any_unwaited = false;
    for leaf in pattern.nest.leaves() {
        all_leaves += 1;
        any_unwaited |= !waits(run, leaf.op);
        if !writes(run, leaf.op) {
            of_reads += 1;
            longest = longest.max(leaf.length);
        }
    }
    let latency_ns = ns.checked_div(calls)?;
    if any_unwaited || of_reads == 0 || longest >= SMALL_BYTES || longest == 0 || latency_ns < WAITED_NS {
        return None;
    }
    // In a loop nest with reads and writes, the number of reads is proportional to their share of the nest's calls.
    let reads = pattern.accesses.checked_div(all_leaves)?.saturating_mul(of_reads);
    let passed = pattern.last_start_ns.saturating_sub(pattern.start_ns) / (pattern.accesses - 1).max(1);
    // Bursts have long pauses between them and none within, so most reads are followed by no work that could hide their latency.
    let inner = innermost(&pattern.nest);
    let in_bursts = inner.times.squared_variation().is_some_and(|squared| squared > BURSTS);
    let within = inner.times.mean_ns().filter(|_| inner.body.len() == 1).map_or(passed, |mean| passed.min(mean as u64));
    let interval_ns = if in_bursts { 0 } else { within.saturating_sub(all_ns / all) };
    // Without work between reads, nothing can hide their latency.
    if interval_ns.saturating_mul(HIDDEN) < latency_ns {
        return None;
    }
    Some(Candidate { pattern, file: of.whose.file, reads, length: longest, latency_ns, interval_ns })
}

fn row(run: &Run, group: &[Candidate<'_>], options: &Options) -> Option<AheadRow> {
    let first = group.first()?;
    let (cache, calls) = played_with(first, options.cache);
    let plain = play::<Unforeseen>(run, first, Policy::ReadAhead { bytes: PLAIN_BYTES }, &cache);
    let next = accesses(run, first);
    let by_pattern = play(run, first, Policy::Signature { next, calls }, &cache);
    let reads = group.iter().map(|one| one.reads).sum::<Sum>().get();
    let part = |ns: u64| share(ns, by_pattern.wait_without_ns);
    let all_ns = group.iter().map(|one| one.time_ns()).sum::<Sum>().get();
    let of_reads = |count: u64| share(count, by_pattern.reads);
    Some(AheadRow {
        file: file(run, first.file),
        processes: group.len() as u64,
        reads,
        length: first.length,
        latency_ns: first.latency_ns,
        interval_ns: first.interval_ns,
        calls_ahead: calls,
        plain_coverage: plain.coverage().unwrap_or(0.0),
        plain_accuracy: plain.accuracy().unwrap_or(0.0),
        coverage: by_pattern.coverage().unwrap_or(0.0),
        accuracy: by_pattern.accuracy().unwrap_or(0.0),
        too_early: of_reads(by_pattern.early),
        too_late: of_reads(by_pattern.late),
        saves_ns: (all_ns as f64 * part(u64::try_from(by_pattern.saves_ns()).unwrap_or(0)).min(1.0)) as u64,
    })
}

fn played_with(candidate: &Candidate<'_>, size_bytes: u64) -> (Cache, u64) {
    let cache = Cache { size_bytes, latency_ns: candidate.latency_ns, unit_bytes: PAGE_BYTES, file_bytes: None };
    (cache, calls_ahead(&cache, candidate.interval_ns, candidate.length))
}

/// Returns offset and length of each read to simulate, in pattern order.
fn accesses<'a>(run: &'a Run, candidate: &Candidate<'a>) -> impl Iterator<Item = (u64, u64)> + 'a {
    let all = expand_nest(&candidate.pattern.nest).take(PLAYED * 16).filter(|(op, ..)| !writes(run, *op));
    all.map(|(_, offset, length)| (offset, length)).take(PLAYED)
}

/// Simulates the reads under a prefetch `policy`. The times of single reads are unknown: each read gets the mean duration, and starts after
/// the mean interval.
fn play<P: Iterator<Item = (u64, u64)>>(
    run: &Run,
    candidate: &Candidate<'_>,
    policy: Policy<P>,
    cache: &Cache,
) -> Outcome {
    let every = candidate.latency_ns.saturating_add(candidate.interval_ns);
    let reads = (0_u64..).zip(accesses(run, candidate)).map(|(k, (offset, length))| {
        let start_ns = k.saturating_mul(every);
        Read { offset, length, start_ns, end_ns: start_ns.saturating_add(candidate.latency_ns) }
    });
    simulate(reads, policy, cache)
}
