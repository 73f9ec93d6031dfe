//! Finds the folder or file name suffix whose files have most of a finding's lost time, and cost more per call than other files.

use super::{Cell, Cube};
use crate::model::FileId;
use std::collections::BTreeMap;
use std::path::Path;

/// Least part of the lost time on files of one kind (folder or suffix), for a finding to name this kind.
const MOST: f64 = 0.8;
/// Least ratio of the time lost per call on files of the named kind to that on other files. A kind that merely has most of the calls is not
/// named.
const DEARER: f64 = 3.0;

/// Least number of calls on other files, as a part of the calls on files of this kind, for a comparison.
const OTHERS: f64 = 0.1;

/// Returns `files in DIR` or `files *.END` if these files have most of `savings` (cell index, ns saved) and lose far more time per call
/// than other files; else `None`. `counts`: true for cells whose calls count.
#[must_use]
pub fn dearest(cube: &Cube<'_>, savings: &[(u32, f64)], counts: impl Fn(&Cell) -> bool) -> Option<String> {
    let mut calls: BTreeMap<FileId, f64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        *calls.entry(cell.file).or_default() += cell.sums.calls as f64;
    }
    let mut costs: BTreeMap<FileId, f64> = BTreeMap::new();
    for (index, ns) in savings {
        if let Some(cell) = cube.cells.get(*index as usize) {
            *costs.entry(cell.file).or_default() += ns;
        }
    }
    let path = |file: FileId| Path::new(cube.run.file_name(file));
    let folder = |file: FileId| Some(format!("files in {}", path(file).parent()?.display()));
    let ending = |file: FileId| Some(format!("files *.{}", path(file).extension()?.to_str()?));
    one_of(&calls, &costs, folder).or_else(|| one_of(&calls, &costs, ending))
}

/// Returns the kind (folder or suffix) whose files have nearly all of the cost; `None` if there is none. `calls`, `costs`: number of calls,
/// and time lost in ns, by file; `kind`: returns the name of a file's kind.
fn one_of(
    calls: &BTreeMap<FileId, f64>,
    costs: &BTreeMap<FileId, f64>,
    kind: impl Fn(FileId) -> Option<String>,
) -> Option<String> {
    let mut by: BTreeMap<Option<String>, (f64, f64, u32)> = BTreeMap::new();
    for (file, calls) in calls {
        let of = by.entry(kind(*file)).or_default();
        *of = (of.0 + calls, of.1 + costs.get(file).copied().unwrap_or(0.0), of.2 + 1);
    }
    let all = by.values().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let (name, (calls, costs, files)) = by.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let each = |costs: f64, calls: f64| costs / calls.max(1.0);
    // A single file is named itself.
    let is = files > 1
        && all.0 - calls >= calls * OTHERS
        && costs >= all.1 * MOST
        && each(costs, calls) >= each(all.1 - costs, all.0 - calls) * DEARER;
    name.filter(|_| is)
}
