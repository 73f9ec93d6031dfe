//! Blocks that a process reads and then overwrites completely, so soon that it cannot have used the data: the reads are needless unless the
//! written bytes depend on them. If few bytes of a block change, only those need writing.

use crate::cube::reading::read_before::Pairs;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Severity};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::topics::causes::claim::Claim;
use crate::words::common::Who;
use crate::words::shape as words;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Returns one claim (finding with its saving) about blocks that are read and then overwritten at once, in all files.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    if cube.read_before.is_empty() {
        return None;
    }
    let reads = |cell: &Cell| cell.leaf && !cell.inside && cell.class == Class::Read;
    let mut calls: FxHashMap<(ProcessId, FileId), u64> = FxHashMap::default();
    for cell in cube.cells.iter().filter(|cell| reads(cell)) {
        let of = calls.entry((cell.process, cell.file)).or_default();
        *of = of.saturating_add(cell.sums.calls);
    }
    let part =
        |key: &(ProcessId, FileId), of: &Pairs| of.at_once as f64 / calls.get(key).copied().unwrap_or(0).max(1) as f64;
    let is = |(key, of): &(&(ProcessId, FileId), &Pairs)| {
        of.at_once >= thresholds.calls_min
            && of.at_once as f64 >= of.all as f64 * thresholds.most_share
            && part(key, of) >= thresholds.half_share
    };
    let found: BTreeMap<(ProcessId, FileId), Pairs> =
        cube.read_before.iter().filter(is).map(|(key, of)| (*key, *of)).collect();
    let mut all = Pairs::default();
    let mut by_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for ((process, _), of) in &found {
        all.join(of);
        *by_process.entry(*process).or_default() += of.at_once;
    }
    let ((_, file), _) = found.iter().max_by_key(|(key, of)| (of.bytes, std::cmp::Reverse(**key)))?;
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| reads(cell)) {
        let key = (cell.process, cell.file);
        if let Some(of) = found.get(&key) {
            let time_ns = cell.time_ns();
            savings.push((index, time_ns * part(&key, of).min(1.0)));
        }
    }
    let names: BTreeSet<FileId> = found.keys().map(|(_, file)| *file).collect();
    let name = cube.run.file_name(*file).to_owned();
    let about =
        About { file: Some(name.clone()), calls: Some(all.at_once), bytes: Some(all.bytes), ..About::default() };
    let first = by_process.keys().next().map(|process| cube.run.process_name(*process)).unwrap_or_default();
    let of = words::ReadBefore {
        who: Who::of(by_process.len(), first),
        files: names.len() as u64,
        file: &name,
        blocks: all.at_once,
        bytes: all.bytes,
        between_ns: all.between_ns,
    };
    let claim = Claim::on_files(cube, Code::READ_BEFORE, savings, |lost| words::read_before(&of, about, lost));
    Some(Claim { at_most: Severity::Warn, ..claim })
}
