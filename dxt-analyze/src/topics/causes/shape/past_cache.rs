//! Calls that wait for storage because of the open flags: writes with O_SYNC or O_DSYNC, and small requests with O_DIRECT.

use crate::findings::Code;
use crate::model::{Class, Manner};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Largest size octave of requests whose wait dominates: below 256 KiB.
const SMALL: u8 = 18;
/// Time per call and per byte through the page cache, ns, if the run has no such calls to compare with.
const NS_PER_CALL: f64 = 2_000.0;
const NS_PER_BYTE: f64 = 1.0;
/// Fewest such calls for their mean to count.
const ENOUGH: u64 = 10;

/// Returns claims about synchronous writes, and about reads and writes that bypass the cache.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    let plain = plain(grid);
    let is = |class: Class, wanted: fn(&Entry, Manner) -> bool| {
        let counts = move |entry: &Entry| {
            let manner = grid.stream(entry).map_or_else(Manner::default, |stream| stream.manner);
            entry.leaf && entry.class == class && wanted(entry, manner)
        };
        sums(grid, &plain, class, counts)
    };
    let small = |entry: &Entry, manner: Manner| manner.is_direct() && !manner.is_through() && entry.size <= SMALL;
    let through =
        |(of, all)| Claim::on_files(grid, Code::WRITTEN_THROUGH, all, |lost| words::written_through(&of, lost));
    let direct = |(of, all)| Claim::on_files(grid, Code::PAST_CACHE, all, |lost| words::past_cache(&of, lost));
    let mut out: Vec<Claim> = is(Class::Write, |_, manner| manner.is_through()).map(through).into_iter().collect();
    out.extend([Class::Read, Class::Write].into_iter().filter_map(|class| is(class, small)).map(direct));
    out
}

/// Returns the mean duration of calls through the page cache, ns, by class and size octave.
fn plain(grid: &Grid<'_>) -> BTreeMap<(Class, u8), f64> {
    let mut of: BTreeMap<(Class, u8), (u64, f64)> = BTreeMap::new();
    let through_cache = |entry: &&Entry| {
        let stream = grid.stream(entry);
        entry.leaf && stream.is_some_and(|stream| !stream.manner.is_through() && !stream.manner.is_direct())
    };
    for entry in grid.entries.iter().filter(through_cache) {
        let sums = of.entry((entry.class, entry.size)).or_default();
        add(&mut sums.0, entry.cell.calls);
        sums.1 += entry.left_ns;
    }
    of.retain(|_, (calls, _)| *calls >= ENOUGH);
    of.into_iter().map(|(key, (calls, time))| (key, time / calls as f64)).collect()
}

fn sums(
    grid: &Grid<'_>,
    plain: &BTreeMap<(Class, u8), f64>,
    class: Class,
    counts: impl Fn(&Entry) -> bool,
) -> Option<(words::Uncached, Savings)> {
    let mut found = words::Uncached { class, calls: 0, bytes: 0, time_ns: 0.0, flags: BTreeMap::new() };
    let mut savings = Savings::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry)) {
        let (calls, bytes) = (entry.cell.calls as f64, entry.cell.bytes as f64);
        add(&mut found.calls, entry.cell.calls);
        add(&mut found.bytes, entry.cell.bytes);
        found.time_ns += entry.left_ns;
        let else_ns =
            plain.get(&(class, entry.size)).map_or(calls * NS_PER_CALL + bytes * NS_PER_BYTE, |ns| ns * calls);
        if entry.left_ns > else_ns {
            savings.push((index, entry.left_ns - else_ns));
            let manner = grid.stream(entry).map_or_else(Manner::default, |stream| stream.manner);
            add(found.flags.entry(manner).or_default(), entry.cell.calls);
        }
    }
    (!savings.is_empty()).then_some((found, savings))
}
