//! Compares the ranks and files of two runs: all pairs together by a signed-rank test; each rank or file with the others by the modified
//! z-score of ln(slowdown).

use super::files::{How, Matched};
use super::operations::over_pairs;
use super::result::{Totalled, UnitRow, Units};
use super::side::{FileSum, Side};
use super::sums::UnitSum;
use crate::model::{FileId, Run};
use crate::shared::stats::Robust;
use crate::thresholds::Thresholds;
use std::collections::BTreeSet;

/// Rank or file, before it is tested for being an outlier.
struct Unit {
    row: UnitRow,
    /// Totals of the rank's or file's reads and writes, in the first run and in the second; `None` if not in both.
    data: Option<(UnitSum, UnitSum)>,
}

/// Compares ranks, matched by rank number, between two runs.
#[must_use]
pub fn ranks(before: &Side, after: &Side, least: &Thresholds) -> Units {
    let all: BTreeSet<u64> = before.ranks.keys().chain(after.ranks.keys()).copied().collect();
    let units = all.into_iter().map(|rank| {
        let pair = (before.ranks.get(&rank).copied(), after.ranks.get(&rank).copied());
        let row = empty(rank.to_string(), pair.0.map(|sum| totalled(&sum)), pair.1.map(|sum| totalled(&sum)));
        Unit { row, data: pair.0.zip(pair.1) }
    });
    judged(units.collect(), least)
}

/// Compares files as paired by `matched`, whose indices refer to the two lists of files in `kept`.
#[must_use]
pub fn files(
    runs: (&Run, &Run),
    sides: (&Side, &Side),
    kept: (&[FileId], &[FileId]),
    matched: &Matched,
    least: &Thresholds,
) -> Units {
    let name = |run: &Run, file: FileId| run.file_name(file).to_owned();
    let sum = |side: &Side, file: FileId| side.files.get(&file).copied().unwrap_or_default();
    let pairs = matched.pairs.iter().filter_map(|&(one, two, how)| {
        let (one, two) = (*kept.0.get(one)?, *kept.1.get(two)?);
        let (first, second) = (sum(sides.0, one), sum(sides.1, two));
        let mut row = empty(name(runs.0, one), Some(of_file(&first)), Some(of_file(&second)));
        row.matched_by = Some(how);
        row.other = (how != How::Path).then(|| name(runs.1, two));
        Some(Unit { row, data: Some((data(&first), data(&second))) })
    });
    let gone = matched.gone.iter().filter_map(|&place| {
        let file = *kept.0.get(place)?;
        Some(Unit { row: empty(name(runs.0, file), Some(of_file(&sum(sides.0, file))), None), data: None })
    });
    let new = matched.new.iter().filter_map(|&place| {
        let file = *kept.1.get(place)?;
        Some(Unit { row: empty(name(runs.1, file), None, Some(of_file(&sum(sides.1, file)))), data: None })
    });
    let set = matched.set.iter().map(|(ours, theirs)| {
        let of = |run: &Run, side: &Side, kept: &[FileId], places: &[usize]| {
            let files: Vec<FileId> = places.iter().filter_map(|&place| kept.get(place).copied()).collect();
            let mut all = FileSum::default();
            files.iter().for_each(|&file| all.merge(&sum(side, file)));
            let first = files.first().map(|&file| name(run, file)).unwrap_or_default();
            let more = files.len().saturating_sub(1);
            (if more > 0 { format!("{first} and {more} more") } else { first }, all)
        };
        let ((one, first), (two, second)) = (of(runs.0, sides.0, kept.0, ours), of(runs.1, sides.1, kept.1, theirs));
        let mut row = empty(one, Some(of_file(&first)), Some(of_file(&second)));
        row.matched_by = Some(How::DataSet);
        row.other = Some(two);
        Unit { row, data: Some((data(&first), data(&second))) }
    });
    judged(pairs.chain(set).chain(gone).chain(new).collect(), least)
}

fn empty(unit: String, before: Option<Totalled>, after: Option<Totalled>) -> UnitRow {
    UnitRow { unit, other: None, matched_by: None, before, after, slower: None, z: None, outlier: false }
}

fn totalled(sum: &UnitSum) -> Totalled {
    Totalled { calls: sum.operations, bytes: sum.bytes, time_ns: sum.time_ns }
}

fn of_file(sum: &FileSum) -> Totalled {
    Totalled { bytes: sum.read.saturating_add(sum.written), ..totalled(&sum.calls) }
}

fn data(sum: &FileSum) -> UnitSum {
    let bytes = sum.read.saturating_add(sum.written);
    UnitSum { operations: sum.calls.operations, bytes, time_ns: sum.data_ns }
}

fn judged(mut units: Vec<Unit>, least: &Thresholds) -> Units {
    // The measure is time per byte, so ranks and files that move no bytes are omitted.
    let value = |sum: &UnitSum| (sum.bytes > 0 && sum.time_ns > 0).then(|| sum.time_ns as f64 / sum.bytes as f64);
    let pair = |unit: &Unit| unit.data.and_then(|(one, two)| Some((value(&one)?, value(&two)?)));
    let pairs: Vec<(f64, f64)> = units.iter().filter_map(pair).collect();
    let logs: Vec<f64> = pairs.iter().map(|(one, two)| (two / one).ln()).collect();
    let robust = Robust::of(&logs).filter(|_| logs.len() as u64 >= least.units_min_sample);
    for unit in &mut units {
        let Some((one, two)) = pair(unit) else { continue };
        let (ratio, log) = (two / one, (two / one).ln());
        unit.row.slower = Some(ratio);
        if let Some(robust) = &robust {
            let z = robust.z(log);
            unit.row.z = Some(z);
            // Outliers are slower than in the first run, and slowed down more than the others.
            let against_rest = (log - robust.median).exp();
            unit.row.outlier =
                z >= least.modified_z && ratio >= least.min_slowdown && against_rest >= least.min_slowdown;
        }
    }
    let test = over_pairs(&pairs, false, least);
    let mut rows: Vec<UnitRow> = units.into_iter().map(|unit| unit.row).collect();
    let time = |row: &UnitRow| {
        let of = |side: Option<Totalled>| side.map_or(0, |sum| sum.time_ns);
        of(row.before).abs_diff(of(row.after))
    };
    rows.sort_by_key(|row| (!row.outlier, std::cmp::Reverse(time(row))));
    Units { test, rows }
}
