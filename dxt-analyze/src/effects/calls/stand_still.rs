//! Repeated outliers of most processes at the same time: storage stops for all, on no particular rank or node.

use super::span;
use crate::cube::{Cell, Cube};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::outlier_test::FEWEST;
use crate::thresholds::Thresholds;
use std::collections::BTreeSet;

/// Stops of storage: times at which most processes are in an outlier (call far longer than its peers).
#[derive(Clone, Debug)]
pub struct StandStill {
    /// Class of the calls that stop (read, write, open and so on).
    pub class: Class,
    /// Times of the stops: begin of the first outlier and end of the last one, ns since the job's start.
    pub spans: Vec<(u64, u64)>,
    /// Mean interval between stops if they are regular, ns.
    pub every_ns: Option<u64>,
    /// Number of outliers (calls far longer than their peers).
    pub far: u64,
    /// Time of the outliers above that of their peers, ns, summed over processes.
    pub extra_ns: f64,
    /// Time saved if outliers took as long as their peers, by cell (similar calls of one process), ns.
    pub savings: Savings,
}

/// Outlier: begin and end in ns since the job's start, and index of its cell (similar calls of one process).
type Long = (u64, u64, u32);

/// Returns the stops of storage that outliers of a class show, if any. `cells`: index and excess (ns) of each cell with outliers;
/// `processes`: number of processes with calls of the class.
#[must_use]
pub(super) fn stand_still(cube: &Cube<'_>, class: Class, cells: &[(u32, f64)], processes: usize) -> Option<StandStill> {
    let thresholds = &cube.run.thresholds;
    let cell = |index: u32| cube.cells.get(index as usize);
    let mut calls: Vec<Long> = cells
        .iter()
        .filter_map(|(index, _)| {
            let (began, end) = span(cell(*index)?)?;
            Some((began, end, *index))
        })
        .collect();
    calls.sort_unstable();
    let need = ((processes as f64 * thresholds.majority_share).ceil() as usize).max(2);
    let groups: Vec<(&[Long], usize)> = at_once(&calls)
        .into_iter()
        .map(|group| (group, most_at_once(group, cell).min(most_end_together(thresholds, group, cell))))
        .filter(|(group, most)| *most >= need && !go_on_meanwhile(cube, class, group))
        .collect();
    let nearly_all = |(_, most): &(&[Long], usize)| *most as f64 >= processes as f64 * thresholds.nearly_all_share;
    let clear = processes >= FEWEST && !groups.is_empty() && groups.iter().all(nearly_all);
    let groups: Vec<&[Long]> = groups.into_iter().map(|(group, _)| group).collect();
    let theirs: BTreeSet<u32> = groups.iter().flat_map(|group| group.iter().map(|call| call.2)).collect();
    let all: f64 = cells.iter().map(|(_, ns)| ns).sum();
    let savings: Savings = cells.iter().filter(|(index, _)| theirs.contains(index)).copied().collect();
    let extra_ns: f64 = savings.iter().map(|(_, ns)| ns).sum();
    if groups.len() < FEWEST && !clear || extra_ns < all * thresholds.majority_share {
        return None;
    }
    let far = savings.iter().filter_map(|(index, _)| cell(*index)).map(|cell| cell.sums.far_calls).sum();
    let whole = |group: &&[Long]| {
        let begin = group.iter().map(|call| call.0).min().unwrap_or(0);
        (begin, group.iter().map(|call| call.1).max().unwrap_or(begin))
    };
    let spans: Vec<(u64, u64)> = groups.iter().map(whole).collect();
    Some(StandStill { class, every_ns: every(thresholds, &spans), spans, far, extra_ns, savings })
}

/// Divides outliers, sorted by begin, into groups: a call joins a group if it begins before another of the group ends.
fn at_once(calls: &[Long]) -> Vec<&[Long]> {
    let (mut out, mut first, mut until) = (Vec::new(), 0, 0);
    for (at, call) in calls.iter().enumerate() {
        if at > first && call.0 >= until {
            out.extend(calls.get(first..at));
            (first, until) = (at, 0);
        }
        until = until.max(call.1);
    }
    out.extend(calls.get(first..).filter(|rest| !rest.is_empty()));
    out
}

/// Returns the largest number of processes that are inside a long call of `group` at the same time. `cell`: returns the cell (similar calls of
/// one process) with an index.
fn most_at_once<'g>(group: &[Long], cell: impl Fn(u32) -> Option<&'g Cell>) -> usize {
    let at = |moment: u64| -> usize {
        let inside = group.iter().filter(|call| call.0 <= moment && moment < call.1);
        inside.filter_map(|call| Some(cell(call.2)?.process)).collect::<BTreeSet<ProcessId>>().len()
    };
    // The maximum is reached where a call begins; of many, a sample suffices.
    let step = group.len().div_ceil(64).max(1);
    group.iter().step_by(step).chain(group.last()).map(|call| at(call.0)).max().unwrap_or(0)
}

/// Returns the largest number of processes whose outliers in `group` end at about the same time. `cell`: returns the cell with an index.
fn most_end_together<'g>(thresholds: &Thresholds, group: &[Long], cell: impl Fn(u32) -> Option<&'g Cell>) -> usize {
    let longest = group.iter().map(|call| call.1.saturating_sub(call.0)).max().unwrap_or(0);
    let within = (longest as f64 * thresholds.third_share) as u64;
    let mut ends: Vec<(u64, ProcessId)> =
        group.iter().filter_map(|call| Some((call.1, cell(call.2)?.process))).collect();
    ends.sort_unstable();
    let from = |(at, first): (usize, &(u64, ProcessId))| {
        let near = ends.iter().skip(at).take_while(|end| end.0 <= first.0.saturating_add(within));
        near.map(|end| end.1).collect::<BTreeSet<ProcessId>>().len()
    };
    let step = ends.len().div_ceil(64).max(1);
    ends.iter().enumerate().step_by(step).map(from).max().unwrap_or(0)
}

/// True if, while the outliers in `group` last, at least as many calls of the class on the same files are fast (at window resolution): then
/// the outliers are independent of each other. Windows at the end are left out: storage that resumes answers some calls first.
fn go_on_meanwhile(cube: &Cube<'_>, class: Class, group: &[Long]) -> bool {
    let longest = group.iter().map(|call| call.1.saturating_sub(call.0)).max().unwrap_or(0);
    let begin = group.iter().map(|call| call.0).min().unwrap_or(0);
    let end = group
        .iter()
        .map(|call| call.1)
        .max()
        .unwrap_or(0)
        .saturating_sub((longest as f64 * cube.run.thresholds.third_share) as u64);
    let (first, last) = (cube.slots.of(begin), cube.slots.of(end.max(begin)));
    let files: BTreeSet<FileId> = group.iter().filter_map(|call| Some(cube.cells.get(call.2 as usize)?.file)).collect();
    let within = |cell: &&Cell| {
        let (from, until) = (usize::from(cell.slot), usize::from(cell.slot) + cube.slots_of_cell);
        let like = cell.leaf && cell.class == class && files.contains(&cell.file);
        like && from > first && until <= last
    };
    let quick = cube.cells.iter().filter(within).map(|cell| cell.sums.calls.saturating_sub(cell.sums.far_calls));
    quick.fold(0_u64, u64::saturating_add) >= group.len() as u64
}

/// Returns the mean interval between the begins of spans, ns, if intervals are regular; else `None`.
fn every(thresholds: &Thresholds, spans: &[(u64, u64)]) -> Option<u64> {
    let between: Vec<f64> = spans.windows(2).map(|two| two[1].0.saturating_sub(two[0].0) as f64).collect();
    if between.len() < FEWEST {
        return None;
    }
    let mean = between.iter().sum::<f64>() / between.len() as f64;
    let squares: f64 = between.iter().map(|ns| (ns - mean).powi(2)).sum();
    let deviation = (squares / (between.len() - 1) as f64).sqrt();
    (deviation <= mean * thresholds.quarter_share).then_some(mean as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_overlap_are_one_group() {
        let calls = [(0, 10, 0), (5, 12, 1), (11, 20, 2), (20, 30, 3), (40, 41, 4)];
        let groups: Vec<usize> = at_once(&calls).into_iter().map(<[Long]>::len).collect();
        assert_eq!(groups, [3, 1, 1]);
        assert!(at_once(&[]).is_empty());
    }

    #[test]
    fn what_comes_regularly_has_a_period() {
        let at =
            |times: &[u64]| every(&Thresholds::default(), &times.iter().map(|&at| (at, at + 1)).collect::<Vec<_>>());
        assert_eq!(at(&[0, 100, 201, 300, 399]), Some(99));
        assert_eq!(at(&[0, 100, 120, 400, 410]), None);
        assert_eq!(at(&[0, 100, 200]), None, "too few");
    }
}
