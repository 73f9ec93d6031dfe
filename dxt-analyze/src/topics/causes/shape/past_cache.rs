//! Calls that wait for storage because of the open flags: writes with O_SYNC or O_DSYNC, and small requests with O_DIRECT.

use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::model::{Class, Manner};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Returns claims (findings with their savings) about synchronous writes, and about reads and writes that bypass the cache.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let plain = plain(cube);
    let is = |class: Class, wanted: &dyn Fn(&Cell, Manner) -> bool| {
        let counts = move |cell: &Cell| {
            let manner = cube.stream(cell).map_or_else(Manner::default, |stream| stream.manner);
            cell.leaf && cell.class == class && wanted(cell, manner)
        };
        sums(cube, &plain, class, counts)
    };
    let small = |cell: &Cell, manner: Manner| {
        manner.is_direct() && !manner.is_through() && cell.is_below(cube.run.thresholds.direct_bytes)
    };
    let through =
        |(of, all)| Claim::on_files(cube, Code::WRITTEN_THROUGH, all, |lost| words::written_through(&of, lost));
    let direct = |(of, all)| Claim::on_files(cube, Code::PAST_CACHE, all, |lost| words::past_cache(&of, lost));
    let mut out: Vec<Claim> =
        is(Class::Write, &|_: &Cell, manner: Manner| manner.is_through()).map(through).into_iter().collect();
    out.extend([Class::Read, Class::Write].into_iter().filter_map(|class| is(class, &small)).map(direct));
    out
}

/// Returns the mean duration of calls through the page cache, ns, by class (reads, writes, ...) and size octave (bit length of the bytes).
fn plain(cube: &Cube<'_>) -> BTreeMap<(Class, u8), f64> {
    let mut of: BTreeMap<(Class, u8), (u64, f64)> = BTreeMap::new();
    let through_cache = |cell: &&Cell| {
        let stream = cube.stream(cell);
        cell.leaf && stream.is_some_and(|stream| !stream.manner.is_through() && !stream.manner.is_direct())
    };
    for cell in cube.cells.iter().filter(through_cache) {
        let sums = of.entry((cell.class, cell.size)).or_default();
        add(&mut sums.0, cell.sums.calls);
        sums.1 += cell.time_ns();
    }
    of.retain(|_, (calls, _)| *calls >= cube.run.thresholds.calls_min);
    of.into_iter().map(|(key, (calls, time))| (key, time / calls as f64)).collect()
}

fn sums(
    cube: &Cube<'_>,
    plain: &BTreeMap<(Class, u8), f64>,
    class: Class,
    counts: impl Fn(&Cell) -> bool,
) -> Option<(words::Uncached, Savings)> {
    let thresholds = &cube.run.thresholds;
    let mut found = words::Uncached { class, calls: 0, bytes: 0, time_ns: 0.0, flags: BTreeMap::new() };
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell)) {
        let (calls, bytes) = (cell.sums.calls as f64, cell.sums.bytes as f64);
        add(&mut found.calls, cell.sums.calls);
        add(&mut found.bytes, cell.sums.bytes);
        found.time_ns += cell.time_ns();
        let else_ns = plain
            .get(&(class, cell.size))
            .map_or(calls * thresholds.in_memory_ns + bytes * thresholds.transfer_ns_per_byte, |ns| ns * calls);
        if cell.time_ns() > else_ns {
            savings.push((index, cell.time_ns() - else_ns));
            let manner = cube.stream(cell).map_or_else(Manner::default, |stream| stream.manner);
            add(found.flags.entry(manner).or_default(), cell.sums.calls);
        }
    }
    (!savings.is_empty()).then_some((found, savings))
}
