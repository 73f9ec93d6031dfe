//! Load of each storage target over time: bytes and time of calls in at most [`LOAD_BINS`] time bins of equal length. An operation counts
//! in each time bin that it overlaps, in proportion to the overlap.

use super::over_time::Timeline;
use crate::limits::{LOAD_BINS, LOAD_SHOWN, LOAD_TARGETS};
use crate::model::{FileLayout, Run};
use crate::sum::Sum;
use serde::Serialize;

/// Exclusive upper bound of storage target indices with a row of their own in the load table; Lustre's indices end at 65,535.
const HIGHEST: usize = u16::MAX as usize;

/// Rows of the load table: one for each storage target, up to a maximum number.
#[derive(Clone, Debug)]
pub struct Rows {
    timeline: Timeline,
    /// Row of each storage target, by target index; targets beyond the first [`LOAD_TARGETS`] share the last row.
    row: Vec<u16>,
    /// Storage target of each row. The last row, which all other targets share, is not included.
    targets: Vec<u32>,
}

impl Rows {
    /// Assigns a row to each storage target that `layouts` name.
    #[must_use]
    pub fn new(run: &Run, layouts: &[Option<FileLayout>]) -> Self {
        let mut row: Vec<u16> = Vec::new();
        let components = layouts.iter().flatten().flat_map(|layout| &layout.layout.components);
        for &target in components.filter(|component| component.active).flat_map(|component| &component.targets) {
            let index = (target as usize).min(HIGHEST);
            if row.len() <= index {
                row.resize(index + 1, u16::MAX);
            }
            row[index] = 0;
        }
        let mut targets = Vec::new();
        for (target, place) in row.iter_mut().enumerate() {
            if *place == 0 && target < HIGHEST && targets.len() < LOAD_TARGETS {
                *place = targets.len() as u16;
                targets.push(target as u32);
            } else {
                *place = u16::MAX;
            }
        }
        Self { timeline: Timeline::of(run, LOAD_BINS), row, targets }
    }

    #[inline]
    fn of(&self, target: u32) -> usize {
        let known = self.row.get(target as usize).map_or(u16::MAX, |&row| row);
        usize::from(known).min(self.targets.len())
    }
}

/// Bytes and time of calls on one storage target in one time bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    bytes: u64,
    time_ns: u64,
}

/// Start and end of an operation in ns since the job's start, and the time bins that contain them.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start_ns: u64,
    end_ns: u64,
    first: usize,
    last: usize,
}

/// Time bin in which the previous operation began, with its start and end in ns since the job's start; a cache that saves divisions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    bin: usize,
    from: u64,
    behind: u64,
}

impl Span {
    /// Computes the time bins of an operation; times are in ns since the job's start. `near` caches the time bin of the previous operation,
    /// which most operations share.
    #[inline]
    #[must_use]
    pub fn new(rows: &Rows, near: &mut Near, start_ns: u64, end_ns: u64) -> Self {
        let timeline = &rows.timeline;
        if !(near.from..near.behind).contains(&start_ns) {
            let bin = timeline.bin(start_ns);
            let from = (bin as u64).saturating_mul(timeline.bin_ns).saturating_add(timeline.start_ns);
            *near = Near { bin, from, behind: from.saturating_add(timeline.bin_ns) };
        }
        let first = near.bin;
        let last = if end_ns <= near.behind { first } else { timeline.bin(end_ns.saturating_sub(1)) };
        Self { start_ns, end_ns, first, last }
    }
}

impl Span {
    /// Returns the time bin that contains the whole operation; `None` if the operation overlaps several bins.
    #[inline]
    #[must_use]
    pub fn only_bin(&self) -> Option<usize> {
        (self.last <= self.first).then_some(self.first)
    }
}

/// Part of an operation that is served by one storage target.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Index of the storage target that serves the part.
    pub target: u32,
    /// Bytes of the operation on the target.
    pub bytes: u64,
    /// Part of the operation's time that is attributed to the target's bytes, ns.
    pub time_ns: u64,
}

/// Bytes and time of calls by row (storage target) and time bin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOverTime(Vec<Cell>);

impl LoadOverTime {
    /// Adds one target's part of an operation to all time bins that the operation overlaps.
    #[inline]
    pub fn add(&mut self, rows: &Rows, span: Span, share: Share) {
        let Timeline { start_ns, bin_ns, .. } = rows.timeline;
        if let Some(bin) = span.only_bin() {
            return self.add_within(rows, bin, share);
        }
        let Span { start_ns: begins, end_ns: ends, first, last } = span;
        let row = self.of(rows, share.target);
        // Uses cumulative sums up to the end of each bin, rounded down, so that all bins add up to the whole.
        let (duration, mut bytes, mut time) = (u128::from(ends - begins).max(1), 0, 0);
        for (bin, cell) in row.iter_mut().enumerate().take(last + 1).skip(first) {
            let end = if bin == last { ends } else { start_ns.saturating_add((bin as u64 + 1).saturating_mul(bin_ns)) };
            let passed = u128::from(end.clamp(begins, ends) - begins);
            let part = |whole: u64| (u128::from(whole) * passed / duration) as u64;
            let (bytes_until, time_until) = (part(share.bytes), part(share.time_ns));
            put(cell, bytes_until - bytes, time_until - time);
            (bytes, time) = (bytes_until, time_until);
        }
    }

    /// Adds one target's part of an operation to the single time bin that contains the operation.
    pub fn add_within(&mut self, rows: &Rows, bin: usize, share: Share) {
        if let Some(cell) = self.of(rows, share.target).get_mut(bin) {
            put(cell, share.bytes, share.time_ns);
        }
    }

    /// Returns the bytes and time of a target's row, one cell per time bin.
    #[inline]
    fn of(&mut self, rows: &Rows, target: u32) -> &mut [Cell] {
        let bins = rows.timeline.bins;
        if self.0.is_empty() {
            self.0 = vec![Cell::default(); (rows.targets.len() + 1) * bins];
        }
        let begin = rows.of(target) * bins;
        self.0.get_mut(begin..begin + bins).unwrap_or_default()
    }

    /// Adds the load of the storage targets that another thread of the analyzer counted.
    pub fn merge(&mut self, other: Self) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            put(mine, theirs.bytes, theirs.time_ns);
        }
    }

    /// Returns the load for tables and JSON; `None` if no bytes went to a known storage target.
    #[must_use]
    pub fn part(&self, rows: &Rows) -> Option<LoadPart> {
        let Timeline { start_ns, bin_ns, bins } = rows.timeline;
        let mut all: Vec<(Option<u32>, &[Cell])> =
            self.0.chunks_exact(bins).enumerate().map(|(row, cells)| (rows.targets.get(row).copied(), cells)).collect();
        all.retain(|(target, cells)| target.is_some() || cells.iter().any(|cell| *cell != Cell::default()));
        let sum = |cells: &[Cell]| cells.iter().map(|cell| cell.bytes).sum::<Sum>().get();
        if all.iter().all(|(_, cells)| sum(cells) == 0) {
            return None;
        }
        let moments: Vec<MomentPart> = (0..bins).filter_map(|bin| moment(rows, &all, bin)).collect();
        let busiest = moments.iter().map(|moment| moment.busiest_bytes).sum::<Sum>().get();
        let bytes = moments.iter().map(|moment| moment.bytes).sum::<Sum>().get();
        // Targets are sorted by bytes, most first. The row that sums the targets without their own row is last.
        all.sort_by_key(|(target, cells)| (target.is_none(), std::cmp::Reverse(sum(cells)), *target));
        let shown = all.len().min(LOAD_SHOWN);
        let (own, rest) = all.split_at(shown);
        let series = |cells: &[Cell], of: fn(&Cell) -> u64| cells.iter().map(of).collect::<Vec<u64>>();
        let mut targets: Vec<TargetLoad> = own
            .iter()
            .map(|(ost, cells)| TargetLoad {
                ost: *ost,
                bytes: series(cells, |cell| cell.bytes),
                time_ns: series(cells, |cell| cell.time_ns),
            })
            .collect();
        if !rest.is_empty() {
            let mut others = vec![Cell::default(); bins];
            for (_, cells) in rest {
                others.iter_mut().zip(*cells).for_each(|(mine, theirs)| put(mine, theirs.bytes, theirs.time_ns));
            }
            targets.push(TargetLoad {
                ost: None,
                bytes: series(&others, |cell| cell.bytes),
                time_ns: series(&others, |cell| cell.time_ns),
            });
        }
        targets.sort_by_key(|target| (target.ost.is_none(), target.ost));
        let parallelism = if busiest > 0 { bytes as f64 / busiest as f64 } else { 0.0 };
        Some(LoadPart { start_ns, bin_ns, known_targets: rows.targets.len() as u64, parallelism, targets, moments })
    }
}

#[inline]
fn put(cell: &mut Cell, bytes: u64, time_ns: u64) {
    cell.bytes = cell.bytes.saturating_add(bytes);
    cell.time_ns = cell.time_ns.saturating_add(time_ns);
}

fn moment(rows: &Rows, all: &[(Option<u32>, &[Cell])], bin: usize) -> Option<MomentPart> {
    let at = |cells: &[Cell]| cells.get(bin).copied().unwrap_or_default();
    let own = || all.iter().filter_map(|(target, cells)| Some(((*target)?, at(cells))));
    let (ost, busiest) = own().max_by_key(|(target, cell)| (cell.bytes, std::cmp::Reverse(*target)))?;
    let bytes = all.iter().map(|(_, cells)| at(cells).bytes).sum::<Sum>().get();
    (bytes > 0 && busiest.bytes > 0).then(|| MomentPart {
        start_ns: rows.timeline.start_ns.saturating_add((bin as u64).saturating_mul(rows.timeline.bin_ns)),
        bytes,
        busy_targets: own().filter(|(_, cell)| cell.bytes > 0).count() as u64,
        busiest: ost,
        busiest_bytes: busiest.bytes,
        busiest_to_mean: busiest.bytes as f64 * rows.targets.len() as f64 / bytes as f64,
    })
}

/// Load of the storage targets over time, in time bins of equal length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadPart {
    /// Start of the first time bin, ns since the job's start.
    pub start_ns: u64,
    /// Length of a time bin of the load, ns.
    pub bin_ns: u64,
    /// Number of storage targets that the layouts name, used or not.
    pub known_targets: u64,
    /// Mean number of targets that work in parallel: total bytes / sum over time bins of the busiest target's bytes.
    pub parallelism: f64,
    /// Load of the targets with most bytes, sorted by index; the entry with index `None` sums all other targets.
    pub targets: Vec<TargetLoad>,
    /// Time bins in which any target got bytes, in order of time.
    pub moments: Vec<MomentPart>,
}

/// Load of one storage target over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetLoad {
    /// OST index of the target; `None` for the sum of all targets without an entry of their own.
    pub ost: Option<u32>,
    /// Bytes read from and written to the target in each time bin.
    pub bytes: Vec<u64>,
    /// Time of calls on the target in each time bin, ns; the time of a call on several targets is divided in proportion to bytes.
    pub time_ns: Vec<u64>,
}

/// Load of all storage targets in one time bin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MomentPart {
    /// Start of the time bin, ns since the job's start.
    pub start_ns: u64,
    /// Bytes read from and written to all targets together in the time bin.
    pub bytes: u64,
    /// Number of storage targets that got any bytes in the time bin.
    pub busy_targets: u64,
    /// OST index of the busiest target, which got most bytes.
    pub busiest: u32,
    /// Bytes read from and written to the busiest target in the time bin.
    pub busiest_bytes: u64,
    /// Bytes on the busiest target / mean bytes over all targets that the layouts name.
    pub busiest_to_mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(targets: &[u32], bin_ns: u64, bins: usize) -> Rows {
        let mut row = vec![u16::MAX; 400];
        targets.iter().enumerate().for_each(|(place, &target)| row[target as usize] = place as u16);
        Rows { timeline: Timeline { start_ns: 1000, bin_ns, bins }, row, targets: targets.to_vec() }
    }

    #[test]
    fn an_operation_lies_in_bins_by_its_time_and_nothing_is_lost() {
        let rows = rows(&[3, 7], 100, 4);
        let mut load = LoadOverTime::default();
        let mut add = |target, start, end, bytes| {
            load.add(
                &rows,
                Span::new(&rows, &mut Near::default(), start, end),
                Share { target, bytes, time_ns: end - start },
            );
        };
        add(7, 1050, 1250, 1001);
        add(3, 1100, 1200, 64);
        add(3, 1399, 1399, 5);
        add(399, 1000, 1010, 6);
        let part = load.part(&rows).unwrap();
        let of = |ost| part.targets.iter().find(|target| target.ost == ost).unwrap();
        assert_eq!(of(Some(7)).bytes, [250, 500, 251, 0]);
        assert_eq!(of(Some(7)).time_ns, [50, 100, 50, 0]);
        assert_eq!(of(Some(3)).bytes, [0, 64, 0, 5]);
        assert_eq!(of(None).bytes, [6, 0, 0, 0]);
        let busiest: Vec<(u32, u64)> =
            part.moments.iter().map(|moment| (moment.busiest, moment.busy_targets)).collect();
        assert_eq!(busiest, [(7, 1), (7, 2), (7, 1), (3, 1)]);
        assert_eq!(part.moments[1].busiest_to_mean, 500.0 * 2.0 / 564.0);
        let mut twice = load.clone();
        twice.merge(load);
        assert_eq!(twice.part(&rows).unwrap().targets[1].bytes, [500, 1000, 502, 0]);
    }

    #[test]
    fn most_targets_of_a_large_file_system_are_summed() {
        let all: Vec<u32> = (0..300).collect();
        let rows = rows(&all, 100, 1);
        let mut load = LoadOverTime::default();
        for target in 0..300 {
            load.add(
                &rows,
                Span::new(&rows, &mut Near::default(), 1000, 1010),
                Share { target, bytes: u64::from(target), time_ns: 1 },
            );
        }
        let part = load.part(&rows).unwrap();
        assert_eq!((part.targets.len(), part.known_targets), (LOAD_SHOWN + 1, 300));
        // The last entry is the sum of the 44 targets with fewest bytes: 0 to 43 bytes.
        assert_eq!(part.targets.last().map(|last| (last.ost, last.bytes[0])), Some((None, 43 * 44 / 2)));
        assert!(LoadOverTime::default().part(&rows).is_none());
    }
}
