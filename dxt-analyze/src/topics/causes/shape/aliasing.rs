//! Stripe aliasing: requests of most ranks begin on one storage target in one time window and on another in the next. Each target gets its
//! share over the run, yet most idle at any time. The cause is blocks whose distance is a multiple of stripe count times stripe size.
//!
//! Runs in the second pass over the trace. Takes the [`ALIASING_FILES`] files that most processes use and that have at least `few_min` targets.
//! Counts processes that begin requests on each target, per time window as long as the median call. If there are more than [`ALIASING_WINDOWS`]
//! windows, a sample chosen by hash is kept.

use crate::cube::Cube;
use crate::cube::reading::parts::LOG_BITS;
use crate::cube::reading::sums::log;
use crate::cube::reading::usual::{Kind, Usual};
use crate::findings::{About, Code, Finding};
use crate::layouts::placed::Placed;
use crate::limits::{ALIASING_FILES, ALIASING_GROUPS, ALIASING_WINDOWS};
use crate::model::{Class, FileId, FileLayout, ProcessId, Run};
use crate::replay::Savings;
use crate::scan::{Analysis, Block};
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use strength_reduce::StrengthReducedU64;
use trace_format::layout::Layout;

#[derive(Debug)]
struct Of<'a> {
    file: FileId,
    layout: &'a Layout,
    groups: FxHashMap<u32, usize>,
    count: usize,
    /// Longest counted request, bytes: a longer one reaches many of the targets at once.
    longest: u64,
}

/// Second-pass analysis that finds stripe aliasing: ranks that hit one storage target at a time.
#[derive(Debug)]
pub struct Aliasing<'a> {
    thresholds: &'a Thresholds,
    files: Vec<Of<'a>>,
    width_ns: StrengthReducedU64,
    /// Sampling rate: one of this many time windows is kept.
    one_in: StrengthReducedU64,
}

/// Requests that begin on one group of targets in one time window.
///
/// `count`: processes; `last`: the process counted last; `stripe`: the stripe in which most processes begin, by majority vote; `votes`:
/// votes for that stripe less votes for others. Processes that begin in one and the same stripe share it, which is not aliasing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    count: u32,
    last: Option<ProcessId>,
    stripe: u64,
    votes: u32,
    /// Number of requests that begin on the targets of the group in the time window.
    calls: u32,
    /// Sum of the logarithms of the requests' durations, as a fixed-point number.
    logs: i64,
}

impl Begun {
    fn add(&mut self, process: ProcessId, stripe: u64, log: i64) {
        (self.calls, self.logs) = (self.calls.saturating_add(1), self.logs.saturating_add(log));
        if self.last == Some(process) {
            return;
        }
        self.vote(stripe, 1);
        (self.count, self.last) = (self.count.saturating_add(1), Some(process));
    }

    /// Adds counts from the part of the trace that another thread of the analyzer has read. No process is counted twice, since one thread
    /// reads all calls of a process.
    fn join(&mut self, other: &Self) {
        self.vote(other.stripe, other.votes);
        self.count = self.count.saturating_add(other.count);
        (self.calls, self.logs) = (self.calls.saturating_add(other.calls), self.logs.saturating_add(other.logs));
    }

    fn vote(&mut self, stripe: u64, votes: u32) {
        if self.stripe == stripe {
            self.votes = self.votes.saturating_add(votes);
        } else if votes > self.votes {
            (self.stripe, self.votes) = (stripe, votes - self.votes);
        } else {
            self.votes -= votes;
        }
    }
}

type Moment = Vec<Begun>;

/// Counts of requests and processes per group of targets, by index of the file in [`Aliasing`] and number of the time window.
pub type Partial = FxHashMap<(usize, u64), Moment>;

impl<'a> Aliasing<'a> {
    /// Chooses the files to examine. `usual`: usual durations by kind of call, whose median is the length of a time window.
    #[must_use]
    pub fn new(run: &'a Run, usual: &FxHashMap<Kind, Usual>, layouts: &'a [Option<FileLayout>]) -> Self {
        let is_data = |kind: &Kind| run.ops.get(usize::from(kind.op)).is_some_and(crate::model::Op::is_data);
        let mut medians: Vec<u64> =
            usual.iter().filter(|(kind, _)| is_data(kind)).map(|(_, usual)| usual.median_ns as u64).collect();
        medians.sort_unstable();
        let width_ns = medians.get(medians.len() / 2).copied().unwrap_or(0).max(1);
        let mut processes: BTreeMap<FileId, u32> = BTreeMap::new();
        for process in &run.processes {
            let mut files: Vec<FileId> = process.streams.iter().filter(|one| one.storage).map(|one| one.file).collect();
            files.sort_unstable();
            files.dedup();
            files.into_iter().for_each(|file| *processes.entry(file).or_default() += 1);
        }
        let of = |(file, count): (FileId, u32)| {
            let layout =
                &layouts.get(file.index())?.as_ref().filter(|_| u64::from(count) >= run.thresholds.few_min)?.layout;
            Self::of(&run.thresholds, file, layout)
        };
        let span = run.length_ns();
        // Files of most processes come first.
        let mut shared: Vec<(FileId, u32)> = processes.into_iter().collect();
        shared.sort_by_key(|(file, count)| (std::cmp::Reverse(*count), *file));
        Self {
            thresholds: &run.thresholds,
            files: shared.into_iter().filter_map(of).take(ALIASING_FILES).collect(),
            width_ns: StrengthReducedU64::new(width_ns),
            one_in: StrengthReducedU64::new((span / width_ns / ALIASING_WINDOWS).max(1)),
        }
    }

    fn of(thresholds: &Thresholds, file: FileId, layout: &'a Layout) -> Option<Of<'a>> {
        let mut targets: Vec<u32> = layout.components.iter().flat_map(|one| &one.targets).copied().collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() < thresholds.few_min as usize {
            return None;
        }
        let count = targets.len().min(ALIASING_GROUPS);
        let all = targets.len();
        let groups = targets.into_iter().enumerate().map(|(at, target)| (target, at * count / all)).collect();
        let longest = layout.components.iter().map(|one| one.stripe_size.saturating_mul(one.targets.len() as u64 / 2));
        Some(Of { file, layout, groups, count, longest: longest.min()? })
    }

    /// True if the time window with number `moment` is kept in the sample.
    #[inline]
    fn keeps(&self, moment: u64) -> bool {
        self.one_in.get() == 1 || (moment.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % self.one_in == 0
    }

    /// Returns the files with aliasing, and, for each target, the mean number of processes that begin a request at once, from all counted
    /// time windows.
    #[must_use]
    pub fn found(&self, partial: &Partial) -> Found {
        Found { files: self.aliased(partial), together: self.together(partial) }
    }

    /// Returns the number of processes that begin a request on a target in the same time window, mean over requests, by target.
    fn together(&self, partial: &Partial) -> BTreeMap<u32, f64> {
        let mut sums: Vec<Vec<(f64, f64)>> = self.files.iter().map(|of| vec![(0.0, 0.0); of.count]).collect();
        for ((place, _), moment) in partial {
            let Some(sums) = sums.get_mut(*place) else { continue };
            for (sum, begun) in sums.iter_mut().zip(moment) {
                let count = f64::from(begun.count);
                *sum = (sum.0 + count, sum.1 + count * count);
            }
        }
        let mut of: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        // With several targets per group, the target of a request is unknown.
        for (file, sums) in self.files.iter().zip(&sums).filter(|(file, _)| file.groups.len() == file.count) {
            for (&target, &group) in &file.groups {
                let (requests, squares) = sums.get(group).copied().unwrap_or_default();
                let sum = of.entry(target).or_default();
                *sum = (sum.0 + requests, sum.1 + squares);
            }
        }
        of.into_iter().map(|(target, (requests, squares))| (target, squares / requests.max(1.0))).collect()
    }

    fn aliased(&self, partial: &Partial) -> Vec<Aliased> {
        let thresholds = self.thresholds;
        let of = |(place, of): (usize, &Of<'_>)| {
            let mut all: Vec<&Moment> = Vec::new();
            let mut sums = vec![0_u64; of.count];
            for ((_, _), moment) in partial.iter().filter(|((at, _), _)| *at == place) {
                sums.iter_mut().zip(moment).for_each(|(sum, of)| *sum += u64::from(of.count));
                all.push(moment);
            }
            let begun = |moment: &Moment| moment.iter().map(|of| of.count).sum::<u32>();
            let busiest_of = |moment: &Moment| moment.iter().max_by_key(|of| of.count).copied().unwrap_or_default();
            let most = |moment: &Moment| busiest_of(moment).count;
            all.retain(|moment| u64::from(begun(moment)) >= thresholds.few_min);
            let is = |moment: &&&Moment| {
                let most = busiest_of(moment);
                f64::from(most.count) >= f64::from(begun(moment)) * thresholds.most_share
                    && most.votes <= most.count / 2
            };
            let aliased = all.iter().filter(is).count();
            let requests: u64 = sums.iter().sum();
            let busiest = sums.iter().copied().max().unwrap_or(0) as f64;
            if all.len() < thresholds.calls_min as usize
                || (aliased as f64) < all.len() as f64 * thresholds.half_share
                || busiest * of.count as f64 > requests as f64 * thresholds.treble_ratio
            {
                return None;
            }
            let (together, apart): (Vec<&Moment>, Vec<&Moment>) = all.iter().copied().partition(|moment| is(&moment));
            if !waits_more(thresholds, &together, &apart) {
                return None;
            }
            let at_once = all.iter().map(|moment| f64::from(most(moment))).sum::<f64>() / all.len() as f64;
            Some(Aliased { file: of.file, targets: of.groups.len(), share: aliased as f64 / all.len() as f64, at_once })
        };
        self.files.iter().enumerate().filter_map(of).collect()
    }
}

/// True if requests that begin together on one target (`together`) take longer than others (`apart`), or if `apart` has too few time
/// windows to compare.
fn waits_more(thresholds: &Thresholds, together: &[&Moment], apart: &[&Moment]) -> bool {
    let mean = |moments: &[&Moment]| {
        let all = || moments.iter().flat_map(|moment| moment.iter());
        let calls: u64 = all().map(|of| u64::from(of.calls)).fold(0, u64::saturating_add);
        let logs: i64 = all().map(|of| of.logs).fold(0, i64::saturating_add);
        logs as f64 / f64::from(1 << LOG_BITS) / calls.max(1) as f64
    };
    apart.len() < thresholds.calls_min as usize || mean(together) >= mean(apart) + thresholds.similar_ratio.ln()
}

impl Analysis for Aliasing<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &trace_format::frame::BlockHead) -> bool {
        !self.files.is_empty()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if self.files.is_empty() {
            return;
        }
        let place = |stream: &crate::model::Stream| {
            self.files.iter().position(|of| of.file == stream.file).filter(|_| stream.storage && stream.chosen)
        };
        let places: Vec<Option<usize>> = block.process.streams.iter().map(place).collect();
        let shift = block.process.shift_ns;
        for stretch in block.stretches() {
            let Some(place) = places.get(stretch.stream.index()).copied().flatten() else { continue };
            let Some(of) = self.files.get(place) else { continue };
            let placed = Placed::new(of.layout);
            for row in stretch.rows() {
                if row.length == 0 || row.length > of.longest {
                    continue;
                }
                let moment = row.start.saturating_add(shift) / self.width_ns;
                if !self.keeps(moment) {
                    continue;
                }
                let at = u64::try_from(row.offset).ok().and_then(|offset| placed.locate(offset));
                let Some((stripe, target)) = at else { continue };
                let Some(group) = target.and_then(|target| of.groups.get(&target)) else { continue };
                let counts = partial.entry((place, moment)).or_insert_with(|| vec![Begun::default(); of.count]);
                if let Some(of) = counts.get_mut(*group) {
                    of.add(block.number, stripe, log(row.duration_ns()));
                }
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, counts) in other {
            match into.get_mut(&key) {
                Some(mine) => mine.iter_mut().zip(&counts).for_each(|(mine, theirs)| mine.join(theirs)),
                None => {
                    into.insert(key, counts);
                }
            }
        }
    }
}

/// Result of the second pass: files with stripe aliasing, and the mean number of processes that begin a request on a target at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Files with stripe aliasing (most ranks hit one target at a time, and later another).
    pub files: Vec<Aliased>,
    /// By target: processes that begin a request on it in the same time window, mean over requests.
    pub together: BTreeMap<u32, f64>,
}

/// A file with stripe aliasing: its requests hit one target after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Aliased {
    /// File with stripe aliasing, as an index into [`Run::files`].
    pub file: FileId,
    /// Number of storage targets that the file lies on.
    pub targets: usize,
    /// Part of the time windows in which most requests begin on one target.
    pub share: f64,
    /// Processes that begin requests on the busiest target of a time window, mean over windows.
    pub at_once: f64,
}

/// Returns one claim (finding with its saving) per file with stripe aliasing. Saving: time of calls much longer than the fastest of their
/// kind, less the wait that remains if requests were spread over all targets.
#[must_use]
pub fn claims(cube: &Cube<'_>, found: &[Aliased]) -> Vec<Claim> {
    found.iter().filter_map(|aliased| claim(cube, aliased)).collect()
}

fn claim(cube: &Cube<'_>, aliased: &Aliased) -> Option<Claim> {
    let is = |cell: &crate::cube::Cell| {
        let data = matches!(cell.class, Class::Read | Class::Write);
        cell.leaf && data && cell.file == aliased.file && cell.sums.shortest_ns > 0
    };
    let mut fastest: BTreeMap<(u8, Class), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| is(cell)) {
        let known = fastest.entry((cell.size, cell.class)).or_insert(u64::MAX);
        *known = (*known).min(cell.sums.shortest_ns);
    }
    // Calls per target if requests were spread over all targets.
    let each = (aliased.at_once / aliased.targets as f64).max(1.0);
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell)) {
        let Some(&fastest) = fastest.get(&(cell.size, cell.class)) else { continue };
        let less = cell.time_ns() - fastest as f64 * each * cell.sums.calls as f64;
        if cell.usual_ns >= fastest as f64 * cube.run.thresholds.double_ratio && less > 0.0 {
            savings.push((index, less));
        }
    }
    if savings.is_empty() {
        return None;
    }
    let name = cube.run.file(aliased.file)?.name.clone();
    let about = About { file: Some(name.clone()), ..About::default() };
    let words = words::aliasing(&name, aliased.share, aliased.targets as u64, aliased.at_once, about);
    Some(Claim::new(Finding::new(Code::ALIASING, words), savings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_take_no_longer_together_do_not_wait_for_each_other() {
        let moment = |ns: u64| {
            let mut of = Begun::default();
            (0..4).for_each(|rank| of.add(ProcessId(rank), u64::from(rank), log(ns)));
            vec![of]
        };
        let (quick, slow) = (moment(1_000_000), moment(3_000_000));
        let thresholds = Thresholds::default();
        let enough = thresholds.calls_min as usize;
        let (many, few) = (vec![&quick; enough], vec![&quick; enough - 1]);
        assert!(waits_more(&thresholds, &[&slow], &many) && !waits_more(&thresholds, &[&quick], &many));
        assert!(waits_more(&thresholds, &[&quick], &few), "too few tell nothing");
    }
}
