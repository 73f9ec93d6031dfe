//! Files that a process opens repeatedly, measured by the time of opens and closes.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Returns one claim (finding with its saving) about all files that are opened repeatedly.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let counts = |cell: &Cell| {
        let within = cube.stream(cell).map(|stream| stream.within());
        cell.leaf && cell.class == Class::Open && within != Some(Within::Mpiio)
    };
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        add(opens.entry((cell.process, cell.file)).or_default(), cell.sums.calls);
    }
    opens.retain(|_, count| *count >= thresholds.few_min);
    let closes = |cell: &Cell| cube.stream(cell).is_some_and(|stream| cube.run.op(stream).name == "close");
    let mut by: BTreeMap<FileId, Savings> = BTreeMap::new();
    // By file: number and time of opens, and of closes.
    let mut times: BTreeMap<FileId, [(u64, f64); 2]> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell) || cell.leaf && closes(cell)) {
        let Some(count) = opens.get(&(cell.process, cell.file)) else { continue };
        let usual = cell.time_ns() - cell.beyond_ns(1.0);
        let of = &mut times.entry(cell.file).or_default()[usize::from(cell.class != Class::Open)];
        *of = (of.0.saturating_add(cell.sums.calls), of.1 + usual);
        by.entry(cell.file).or_default().push((index, usual * (1.0 - 1.0 / *count as f64)));
    }
    let cost = |of: &Savings| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let all: f64 = by.values().map(cost).sum();
    let (dearest, most) = by.iter().map(|(file, of)| (*file, cost(of))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let alone = most >= all * thresholds.most_share;
    by.retain(|file, _| !alone || *file == dearest);
    opens.retain(|(_, file), _| by.contains_key(file));
    let count = opens.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let processes = opens.keys().map(|(process, _)| process).collect::<BTreeSet<_>>().len() as u64;
    let name = cube.run.file(dearest)?.name.clone();
    let mut theirs = cube.cells.iter().filter(|cell| by.contains_key(&cell.file) && counts(cell));
    let listed = theirs.all(|cell| cube.lists(cell));
    let sum = |which: usize| {
        let theirs = by.keys().filter_map(|file| times.get(file)).filter_map(|of| of.get(which));
        theirs.fold((0_u64, 0.0), |sum, of| (sum.0.saturating_add(of.0), sum.1 + of.1))
    };
    let (opening, closing) = (sum(0), sum(1));
    let dear = (opening.1 + closing.1) * thresholds.quarter_share;
    let of = words::Reopened {
        listed,
        file: alone.then_some(name.as_str()),
        files: by.len() as u64,
        opens: count,
        pairs: opens.len() as u64,
        processes,
        opening: (opening.1 >= dear || closing.1 < dear).then_some(opening),
        closing: (closing.1 >= dear).then_some(closing),
        again_ns: all as u64,
    };
    let about = About { file: alone.then(|| name.clone()), calls: Some(count), ..About::default() };
    let words = words::reopened(&of, about);
    let savings = by.into_values().flatten().collect();
    Some(Claim::new(Finding::new(Code::REPEATED_OPENS, words), savings))
}
