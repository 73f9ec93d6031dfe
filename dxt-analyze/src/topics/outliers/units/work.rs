//! Adds up operations, bytes and time of each unit (rank, node, file or storage target) by request size class, so that only similar
//! requests are compared: small requests are slow everywhere.
//!
//! For storage targets, only calls of the layer that reaches storage count. An operation that spans several targets counts on each of them;
//! its time is divided in proportion to bytes, the best available estimate. Operations that have only counters count if all of their
//! bytes are on one target.

use super::one_target::one_target;
use super::windows::Near;
use super::{UnitKind, Windows};
use crate::layouts::placed::Placed;
use crate::model::{FileId, FileLayout, Process, ProcessId, Run, Stream};
use crate::scan::{Analysis, Block, Stretch};
use crate::shared::groups::{Group, group_of};
use crate::shared::sum_cache::InTurn;
use crate::shared::targets::share_ns;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::Counters;

/// Value of [`Cell::weight`] for one operation that counts fully on one unit (rank, node, target or file).
pub const WHOLE: u64 = 1 << 20;

/// Totals over the operations of one unit (rank, node, file or storage target) in one request size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Number of operations of one unit (rank, node, target or file) in one request size class.
    pub operations: u64,
    /// Bytes that the operations of one unit (rank, node, target or file) in one request size class transferred.
    pub bytes: u64,
    /// Sum of the durations of the operations of one unit (rank, node, target or file) in one request size class, ns.
    pub time_ns: u64,
    /// Sum of the squared durations of the operations, ns².
    pub squares: u128,
    /// Weighted number of operations, in units of 1/[`WHOLE`]: an operation on several storage targets counts on each by its share of
    /// bytes.
    pub weight: u64,
}

impl Cell {
    /// Adds the totals of other operations of the same unit (rank, node, target or file) and size class.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.squares = self.squares.saturating_add(other.squares);
        self.weight = self.weight.saturating_add(other.weight);
    }

    #[inline]
    pub(super) fn of(bytes: u64, time_ns: u64, weight: u64) -> Self {
        let squares = u128::from(time_ns) * u128::from(time_ns);
        Self { operations: 1, bytes, time_ns, squares, weight }
    }

    #[inline]
    fn add(&mut self, bytes: u64, time_ns: u64) {
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.squares = self.squares.saturating_add(u128::from(time_ns) * u128::from(time_ns));
        self.weight = self.weight.saturating_add(WHOLE);
    }

    /// Creates the totals of operations that have only counters; assumes that their durations are equal.
    fn of_counted(all: &Counters) -> Self {
        Self {
            operations: all.segments,
            bytes: all.bytes,
            time_ns: all.duration,
            squares: u128::from(all.duration) * u128::from(all.duration) / u128::from(all.segments.max(1)),
            weight: all.segments.saturating_mul(WHOLE),
        }
    }
}

/// Returns the size class of a request: class c > 0 holds sizes in [2^(c-1), 2^c) bytes, class 0 only size 0.
#[inline]
#[must_use]
pub fn size_class(length: u64) -> u8 {
    (u64::BITS - length.leading_zeros()) as u8
}

/// Totals of one unit (rank, node, target or file) by request size class, smallest sizes first.
pub type UnitWork = BTreeMap<u8, Cell>;

/// Totals by (group of operations, time window), then by key of the unit (rank, node, target or file).
pub type Grouped = BTreeMap<(Group, u32), BTreeMap<u64, UnitWork>>;

/// Key of totals: group index, time window, key of the unit (rank, node, target or file), request size class.
type Key = (u32, u32, u64, u8);

/// Pass over the segments that adds up totals by unit (rank, node, file or storage target).
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Kind of units that are compared: ranks, nodes, files or storage targets.
    pub kind: UnitKind,
    /// Groups of operations, indexed by [`crate::shared::groups::group_index`].
    pub groups: &'a [Option<Group>],
    /// Stripe layout of each file of the run; required if units are storage targets.
    pub layouts: &'a [Option<FileLayout>],
    /// Time windows of the run that are compared separately.
    pub windows: &'a Windows,
}

/// Totals by group of operations, time window, unit (rank, node, target or file) and request size class.
pub type Partial = FxHashMap<Key, Cell>;

impl Work<'_> {
    /// Returns the key of the unit (rank, node or file) to which all operations of `stream` belong; `None` if no unit does. Not for storage
    /// targets.
    pub(super) fn unit(&self, number: ProcessId, process: &Process, stream: &Stream) -> Option<u64> {
        if self.kind == UnitKind::File { Some(u64::from(stream.file.0)) } else { self.kind.of_process(number, process) }
    }

    fn targets(&self, partial: &mut Partial, block: &Block<'_>) {
        let shift = block.process.shift_ns;
        let mut open: InTurn<Key, Cell> = InTurn::default();
        let mut put = |(key, cell): (Key, Cell)| partial.entry(key).or_default().merge(&cell);
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream).filter(|stream| stream.storage) else { continue };
            let Some(group) = group_of(self.groups, stream) else { continue };
            let Some(Some(layout)) = self.layouts.get(stream.file.index()) else { continue };
            let (placed, mut near) = (Placed::new(&layout.layout), Near::default());
            for row in stretch.rows() {
                let (Ok(offset), true) = (u64::try_from(row.offset), row.length > 0) else { continue };
                let Some(window) = near.of(self.windows, row.start.saturating_add(shift)) else { continue };
                let (duration, class) = (row.duration_ns(), size_class(row.length));
                if let Some(target) = placed.target(offset, row.length)
                    && let Some(cell) = open.find(target as usize, &(group as u32, window, u64::from(target), class))
                {
                    cell.add(row.length, duration);
                    continue;
                }
                placed.spread(offset, row.length, |target, bytes| {
                    let Some(target) = target else { return };
                    let weight = share_ns(WHOLE, bytes, row.length);
                    let cell = Cell::of(bytes, share_ns(duration, bytes, row.length), weight);
                    let key = (group as u32, window, u64::from(target), class);
                    let before = open.add(target as usize, key, cell, |sum, more| sum.merge(&more));
                    before.into_iter().for_each(&mut put);
                });
            }
        }
        open.rest().for_each(put);
    }
}

impl Analysis for Work<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if self.kind == UnitKind::Target {
            return self.targets(partial, block);
        }
        let shift = block.process.shift_ns;
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let Some(group) = group_of(self.groups, stream) else { continue };
            let Some(unit) = self.unit(block.number, block.process, stream) else { continue };
            sums(stretch, self.windows, shift, |window, class, sum| {
                partial.entry((group as u32, window, unit, class)).or_default().merge(sum);
            });
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        merge(into, other);
    }
}

/// Adds up successive calls in the same time window and size class (neighbours mostly are). Calls `put` with window, size class and totals
/// of each such run of calls.
#[inline]
fn sums(calls: Stretch<'_>, windows: &Windows, shift: u64, mut put: impl FnMut(u32, u8, &Cell)) {
    let (mut near, mut like, mut sum) = (Near::default(), (0, 0), Cell::default());
    for row in calls.rows() {
        let Some(window) = near.of(windows, row.start.saturating_add(shift)) else { continue };
        let now = (window, size_class(row.length));
        if like != now {
            let (window, class) = std::mem::replace(&mut like, now);
            put_any(window, class, &std::mem::take(&mut sum), &mut put);
        }
        sum.add(row.length, row.duration_ns());
    }
    put_any(like.0, like.1, &sum, &mut put);
}

fn put_any(window: u32, class: u8, sum: &Cell, put: &mut impl FnMut(u32, u8, &Cell)) {
    if sum.operations > 0 {
        put(window, class, sum);
    }
}

/// Pass over the segments that adds up totals by process, from which the totals of ranks and nodes are derived.
#[derive(Clone, Copy, Debug)]
pub struct ByProcess<'a> {
    /// Groups of operations, indexed by [`crate::shared::groups::group_index`].
    pub groups: &'a [Option<Group>],
    /// Time windows of the run that are compared separately.
    pub windows: &'a Windows,
}

impl ByProcess<'_> {
    /// Derives the totals of units that consist of whole processes (ranks, nodes) from totals by process.
    #[must_use]
    pub fn of(run: &Run, kind: UnitKind, by_process: &Partial) -> Partial {
        let mut out = Partial::default();
        for (&(group, window, process, class), cell) in by_process {
            let number = ProcessId(u32::try_from(process).unwrap_or(u32::MAX));
            let unit = run.process(number).and_then(|process| kind.of_process(number, process));
            if let Some(unit) = unit {
                out.entry((group, window, unit, class)).or_default().merge(cell);
            }
        }
        out
    }
}

impl Analysis for ByProcess<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let (shift, process) = (block.process.shift_ns, u64::from(block.number.0));
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let Some(group) = group_of(self.groups, stream) else { continue };
            sums(stretch, self.windows, shift, |window, class, sum| {
                partial.entry((group as u32, window, process, class)).or_default().merge(sum);
            });
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        merge(into, other);
    }
}

fn merge(into: &mut Partial, other: Partial) {
    for (key, cell) in other {
        into.entry(key).or_default().merge(&cell);
    }
}

/// Calls of one operation on one file by one caller (a stream) that have only counters, no segments.
pub(super) struct Counted<'a> {
    pub(super) number: ProcessId,
    pub(super) process: &'a Process,
    pub(super) stream: &'a Stream,
    /// Index of the group of the operations, see [`crate::shared::groups::group_index`].
    pub(super) group: usize,
    /// Time window that contains all of the operations; `None` if the operations may lie in several windows.
    pub(super) window: Option<u32>,
    /// Request size class of the operations' mean size.
    pub(super) class: u8,
    /// Totals (number, bytes and time) of the operations that have only counters.
    pub(super) cell: Cell,
    /// Counters of the operations without segments, as recorded.
    pub(super) all: &'a Counters,
}

impl Counted<'_> {
    /// Returns the storage target that served all operations that have only counters; `None` if the file's layout does not determine one
    /// target.
    pub(super) fn target(&self, layouts: &[Option<FileLayout>]) -> Option<u32> {
        one_target(layouts.get(self.stream.file.index())?.as_ref()?, self.all)
    }
}

/// Iterates over the operations that have only counters, one item per stream (one operation, file and caller).
pub(super) fn counted<'a>(run: &'a Run, analysis: &'a Work<'_>) -> impl Iterator<Item = Counted<'a>> {
    let of_process = move |(number, process): (ProcessId, &'a Process)| {
        process.missing.iter().filter_map(move |missing| {
            let stream = process.stream_with_id(missing.stream)?;
            let group = group_of(analysis.groups, stream)?;
            let all = &missing.counters;
            let at = |time: u64| analysis.windows.of(time.saturating_add(process.shift_ns));
            let window = at(all.first_start).filter(|first| at(all.last_end.saturating_sub(1)) == Some(*first));
            let class = size_class(all.bytes / all.segments.max(1));
            let cell = Cell::of_counted(all);
            Some(Counted { number, process, stream, group, window, class, cell, all })
        })
    };
    run.numbered_processes().flat_map(of_process)
}

/// Numbers of operations without segments that no total includes, because their time window or storage target is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsure {
    /// Number of operations without segments whose time window is unknown.
    pub windows: u64,
    /// Number of operations without segments on files with several storage targets, where it is unknown which target served them.
    pub targets: u64,
}

/// Returns the pairs (group of operations, storage target) that have segments, or that have counters from several files or several
/// processes. Other pairs cannot be judged:
/// if only one process used the target, with only one file, then the process, the file or the target may be the slow one.
fn reported_by_several(run: &Run, analysis: &Work<'_>, partial: &Partial) -> BTreeSet<(u32, u32)> {
    let of_segments = partial.keys().filter_map(|(group, _, target, _)| Some((*group, u32::try_from(*target).ok()?)));
    let mut reported: BTreeSet<(u32, u32)> = of_segments.collect();
    let mut first: FxHashMap<(u32, u32), (ProcessId, FileId)> = FxHashMap::default();
    for counted in counted(run, analysis).filter(|counted| counted.stream.storage && counted.all.bytes > 0) {
        let Some(target) = counted.target(analysis.layouts) else { continue };
        let (key, who) = ((counted.group as u32, target), (counted.number, counted.stream.file));
        if *first.entry(key).or_insert(who) != who || !counted.process.reduction.is_none() {
            reported.insert(key);
        }
    }
    reported
}

/// Returns the totals by group, time window and unit, including operations without segments, and the numbers of operations that no total
/// includes. Operations without segments count in the size class of the mean request size of their kind of call on their file.
#[must_use]
pub fn with_missing(run: &Run, analysis: &Work<'_>, mut partial: Partial) -> (Grouped, Unsure) {
    let mut unsure = Unsure::default();
    let reported =
        if analysis.kind == UnitKind::Target { reported_by_several(run, analysis, &partial) } else { BTreeSet::new() };
    for counted in counted(run, analysis) {
        let unit = match analysis.kind {
            UnitKind::Target => {
                let reaches = counted.stream.storage && counted.all.bytes > 0;
                let target = counted.target(analysis.layouts).filter(|_| reaches);
                let layout = analysis.layouts.get(counted.stream.file.index());
                if target.is_none() && reaches && layout.is_some_and(Option::is_some) {
                    unsure.targets = unsure.targets.saturating_add(counted.all.segments);
                }
                target.filter(|target| reported.contains(&(counted.group as u32, *target))).map(u64::from)
            }
            _ => analysis.unit(counted.number, counted.process, counted.stream),
        };
        let Some(unit) = unit else { continue };
        let Some(window) = counted.window else {
            unsure.windows = unsure.windows.saturating_add(counted.all.segments);
            continue;
        };
        let key = (counted.group as u32, window, unit, counted.class);
        partial.entry(key).or_default().merge(&counted.cell);
    }
    let mut out = Grouped::new();
    // Ranks whose node is unknown belong to no node.
    let is_known = |unit: u64| analysis.kind != UnitKind::Node || unit < run.nodes.len() as u64;
    for ((group, window, unit, class), cell) in partial.into_iter().filter(|((_, _, unit, _), _)| is_known(*unit)) {
        if let Some(Some(group)) = analysis.groups.get(group as usize) {
            let unit = out.entry((group.clone(), window)).or_default().entry(unit).or_default();
            unit.entry(class).or_default().merge(&cell);
        }
    }
    (out, unsure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 4095, 4096].map(size_class), [0, 1, 2, 2, 3, 12, 13]);
        assert_eq!(size_class(u64::MAX), 64);
    }
}
