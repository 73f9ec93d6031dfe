//! Run time saved by more aggregators: while only a few of them read and write, all ranks of the collective call wait. The number that
//! could work at once is known (limited by ranks, nodes and the stripes of a call), but not the bandwidth that storage gives them: the
//! saving is a range.

use crate::cube::reading::callers::collective_callers;
use crate::cube::{Cell, Cube};
use crate::findings::Finding;
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use std::collections::{BTreeMap, BTreeSet};

/// Aggregators of the collective reads, or writes, on one file.
#[derive(Clone, Copy, Debug)]
struct Moved {
    /// Number of processes that move bytes in this run.
    now: usize,
    /// Expected number of processes that could move bytes at the same time.
    enough: usize,
    /// Upper bound of the number of processes that could move bytes at the same time.
    most: usize,
}

/// Adds a saving to a finding about too few aggregators on a file, as a claim; `None` if nothing is saved.
///
/// `theirs`: cells (sums over similar calls) that move the file's bytes, each with its index in the cube; `inside`: time of system calls made
/// inside collective calls, by class, ns.
pub(super) fn claim(
    cube: &Cube<'_>,
    finding: &Finding,
    theirs: &[(u32, &Cell)],
    inside: &dyn Fn(Class) -> f64,
) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let callers = collective_callers(cube.run);
    let mut by: BTreeMap<(FileId, Class), Vec<(u32, &Cell)>> = BTreeMap::new();
    for (index, cell) in theirs.iter().filter(|(_, cell)| !cell.is_below(thresholds.small_bytes)) {
        by.entry((cell.file, cell.class)).or_default().push((*index, cell));
    }
    let (mut savings, mut low, mut high) = (Savings::new(), 0.0, 0.0);
    for ((file, class), cells) in by {
        let Some(who) = callers.get(&file) else { continue };
        let moved = moved(cube, (file, class), who, &cells);
        let all: f64 = cells.iter().map(|(_, cell)| cell.time_ns()).sum();
        let within = if inside(class) > 0.0 { (inside(class) / all.max(1.0)).min(1.0) } else { 1.0 };
        for (index, cell) in cells {
            let left_ns = cell.time_ns() * within;
            let ns = left_ns * saved(moved.now, moved.enough, cell.spread.0);
            if ns > 0.0 {
                savings.push((index, ns));
                low += left_ns
                    * saved(moved.now, moved.enough.min(moved.now * thresholds.repeated_min as usize), cell.spread.0);
                high += left_ns * saved(moved.now, moved.most, cell.spread.0);
            }
        }
    }
    let all: f64 = savings.iter().map(|(_, ns)| ns).sum();
    let range = (all > 0.0).then(|| ((low / all).min(1.0), (high / all).max(1.0)))?;
    Some(Claim { range: Some(range), ..Claim::new(finding.clone(), savings) })
}

/// Returns the part of the time saved if `then` processes do the work of `now`.
///
/// A call lasts until its slowest process is done, and the more processes there are, the slower is the slowest. `spread`: standard
/// deviation of the logarithm of request times.
fn saved(now: usize, then: usize, spread: f64) -> f64 {
    if then <= now {
        return 0.0;
    }
    let slowest = (spread * (largest_of(then) - largest_of(now))).exp();
    (1.0 - now as f64 / then as f64 * slowest).max(0.0)
}

/// Returns the expected maximum of `count` values of the standard normal distribution (Blom 1958; Abramowitz & Stegun, 26.2.22).
fn largest_of(count: usize) -> f64 {
    let beyond = 0.625 / (count.max(1) as f64 + 0.25);
    let t = (-2.0 * beyond.ln()).sqrt();
    t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t)
}

fn moved(cube: &Cube<'_>, of: (FileId, Class), callers: &BTreeSet<ProcessId>, cells: &[(u32, &Cell)]) -> Moved {
    let thresholds = &cube.run.thresholds;
    let mut bytes: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for (_, cell) in cells {
        add(bytes.entry(cell.process).or_default(), cell.sums.bytes);
    }
    let busiest = bytes.values().copied().max().unwrap_or(0);
    let now =
        bytes.values().filter(|bytes| **bytes > 0 && **bytes as f64 >= busiest as f64 * thresholds.minor_share).count();
    let nodes = callers.iter().filter_map(|process| cube.run.process(*process)).map(|process| process.node);
    let nodes = nodes.collect::<BTreeSet<u32>>().len();
    let (pieces, stripes) = stripes_of_a_call(cube, of, bytes.values().fold(0, |sum, bytes| sum + u128::from(*bytes)));
    // An aggregator gets whole stripes: more aggregators than stripes per call would idle.
    let could = callers.len().min(pieces);
    let enough = if now == 1 { nodes.max(thresholds.few_min as usize) } else { nodes }.min(could);
    Moved { now, enough, most: stripes.max(enough).min(could) }
}

/// Returns the number of stripes that a collective call reaches, on average (`usize::MAX` if the layout or the calls are unknown), and the
/// stripe count of the file's widest layout component (0 if unknown).
fn stripes_of_a_call(cube: &Cube<'_>, (file, class): (FileId, Class), bytes: u128) -> (usize, usize) {
    let layout = cube.run.file(file).and_then(|file| file.layout.as_ref());
    let layout = layout.and_then(|layout| layout.layout.components.iter().max_by_key(|one| one.targets.len()));
    let Some(layout) = layout.filter(|layout| !layout.targets.is_empty()) else { return (usize::MAX, 0) };
    let mut by: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let outer = |cell: &&Cell| cell.collective && (cell.file, cell.class) == (file, class);
    for cell in cube.cells.iter().filter(outer) {
        add(by.entry(cell.process).or_default(), cell.sums.calls);
    }
    let calls = by.values().copied().max().unwrap_or(0);
    let each = bytes.checked_div(u128::from(calls)).map(|each| each.div_ceil(u128::from(layout.stripe_size.max(1))));
    (each.and_then(|each| usize::try_from(each).ok()).unwrap_or(usize::MAX).max(1), layout.targets.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_several_decides() {
        for (count, mean) in [(1, 0.0), (2, 0.56), (4, 1.03), (8, 1.42), (32, 2.07)] {
            assert!((largest_of(count) - mean).abs() < 0.05, "{count}: {}", largest_of(count));
        }
        assert!((saved(1, 4, 0.0) - 0.75).abs() < 1e-9);
        assert!((0.5..0.65).contains(&saved(1, 4, 0.5)));
        assert!(saved(4, 4, 0.1) <= 0.0);
    }
}
