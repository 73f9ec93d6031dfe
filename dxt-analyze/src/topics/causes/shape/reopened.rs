//! Files that a process opens repeatedly, measured by the time of opens and closes.

use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest opens of a file by a process.
const AGAIN: u64 = 4;
/// Part of the cost on one file from which it alone is reported.
const MOST: f64 = 0.8;
/// Least part of the time in opens, or in closes, to be mentioned.
const TELLS: f64 = 0.25;

/// Returns one claim about all such files.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let counts = |entry: &Entry| {
        let within = grid.stream(entry).map(|stream| stream.within());
        entry.leaf && entry.class == Class::Open && within != Some(Within::Mpiio)
    };
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| counts(entry)) {
        add(opens.entry((entry.process, entry.file)).or_default(), entry.cell.calls);
    }
    opens.retain(|_, count| *count >= AGAIN);
    let closes = |entry: &Entry| grid.stream(entry).is_some_and(|stream| grid.run.op(stream).name == "close");
    let mut by: BTreeMap<FileId, Savings> = BTreeMap::new();
    // By file: number and time of opens, and of closes.
    let mut times: BTreeMap<FileId, [(u64, f64); 2]> = BTreeMap::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry) || entry.leaf && closes(entry))
    {
        let Some(count) = opens.get(&(entry.process, entry.file)) else { continue };
        let usual = entry.left_ns - entry.beyond_ns(1.0);
        let of = &mut times.entry(entry.file).or_default()[usize::from(entry.class != Class::Open)];
        *of = (of.0.saturating_add(entry.cell.calls), of.1 + usual);
        by.entry(entry.file).or_default().push((index, usual * (1.0 - 1.0 / *count as f64)));
    }
    let cost = |of: &Savings| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let all: f64 = by.values().map(cost).sum();
    let (dearest, most) = by.iter().map(|(file, of)| (*file, cost(of))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let alone = most >= all * MOST;
    by.retain(|file, _| !alone || *file == dearest);
    opens.retain(|(_, file), _| by.contains_key(file));
    let count = opens.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let processes = opens.keys().map(|(process, _)| process).collect::<BTreeSet<_>>().len() as u64;
    let name = grid.run.file(dearest)?.name.clone();
    let mut theirs = grid.entries.iter().filter(|entry| by.contains_key(&entry.file) && counts(entry));
    let listed = theirs.all(|entry| grid.lists(entry));
    let sum = |which: usize| {
        let theirs = by.keys().filter_map(|file| times.get(file)).filter_map(|of| of.get(which));
        theirs.fold((0_u64, 0.0), |sum, of| (sum.0.saturating_add(of.0), sum.1 + of.1))
    };
    let (opening, closing) = (sum(0), sum(1));
    let dear = (opening.1 + closing.1) * TELLS;
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
