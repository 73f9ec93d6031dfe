//! Files that a process opens repeatedly, measured by the time of opens and closes, and of calls that are repeated after each open.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Stream, StreamIx, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

/// Returns one claim (finding with its saving) about all files that are opened repeatedly.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let counts = |cell: &Cell| {
        let succeeds = |stream: &Stream| stream.within() != Within::Mpiio && !stream.failed;
        cell.leaf && cell.class == Class::Open && cube.stream(cell).is_none_or(succeeds)
    };
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        add(opens.entry((cell.process, cell.file)).or_default(), cell.sums.calls);
    }
    opens.retain(|_, count| *count >= thresholds.few_min);
    let closes = |cell: &Cell| cube.stream(cell).is_some_and(|stream| cube.run.op(stream).name == "close");
    let repeated = repeated(cube, &opens);
    let mut by: BTreeMap<FileId, Savings> = BTreeMap::new();
    // By file: number and time of opens, of closes, and of calls that are repeated after each open (number of opens there).
    let mut times: BTreeMap<FileId, [(u64, f64); 3]> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| cell.leaf) {
        let Some(count) = opens.get(&(cell.process, cell.file)) else { continue };
        let time_ns = cell.time_ns();
        let again = 1.0 - 1.0 / *count as f64;
        let (which, calls, time, part) = match repeated.get(&(cell.process, cell.stream)) {
            _ if counts(cell) => (0, cell.sums.calls, time_ns, again),
            _ if closes(cell) => (1, cell.sums.calls, time_ns, again),
            Some(part) => (2, 0, time_ns * part, *part),
            None => continue,
        };
        let of = times.entry(cell.file).or_default();
        of[which] = (of[which].0.saturating_add(calls), of[which].1 + time);
        of[2].0 = of[0].0;
        by.entry(cell.file).or_default().push((index, time_ns * part));
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
    let (opening, closing, repeating) = (sum(0), sum(1), sum(2));
    let dear = (opening.1 + closing.1 + repeating.1) * thresholds.quarter_share;
    let of = words::Reopened {
        listed,
        file: alone.then_some(name.as_str()),
        files: by.len() as u64,
        opens: count,
        pairs: opens.len() as u64,
        processes,
        opening: (opening.1 >= dear || closing.1 < dear).then_some(opening),
        closing: (closing.1 >= dear).then_some(closing),
        repeating: (repeating.1 >= dear).then_some(repeating),
        again_ns: all as u64,
    };
    let about = About { file: alone.then(|| name.clone()), calls: Some(count), ..About::default() };
    let words = words::reopened(&of, about);
    let savings = by.into_values().flatten().collect();
    Some(Claim::new(Finding::new(Code::REPEATED_OPENS, words), savings))
}

/// Returns the part of a stream's time in calls that are repeated after each open, by process and stream, for files with repeated `opens`
/// (by process and file). Reads of files that are read as a whole after each open are left out: an open file would not save them.
fn repeated(cube: &Cube<'_>, opens: &BTreeMap<(ProcessId, FileId), u64>) -> BTreeMap<(ProcessId, StreamIx), f64> {
    let mut read: BTreeMap<(ProcessId, FileId), (u64, u64)> = BTreeMap::new();
    let mut time: BTreeMap<(ProcessId, StreamIx), f64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && opens.contains_key(&(cell.process, cell.file))) {
        *time.entry((cell.process, cell.stream)).or_default() += cell.time_ns();
        if cell.class == Class::Read {
            let (bytes, until) = read.entry((cell.process, cell.file)).or_default();
            add(bytes, cell.sums.bytes);
            *until = (*until).max(cell.sums.range.1);
        }
    }
    let whole = |pair: &(ProcessId, FileId)| {
        let (bytes, until) = read.get(pair).copied().unwrap_or_default();
        let each = bytes as f64 / opens.get(pair).copied().unwrap_or(1).max(1) as f64;
        each >= until as f64 * cube.run.thresholds.nearly_all_share
    };
    let part = |((process, stream), time): ((ProcessId, StreamIx), f64)| {
        let of = cube.run.process(process)?.stream(stream)?;
        let reads = cube.run.op(of).class == Some(OpClass::Read);
        let ns = *cube.repeated.get(&(process, stream)).filter(|_| !reads || !whole(&(process, of.file)))?;
        Some(((process, stream), (ns as f64 / time.max(1.0)).min(1.0)))
    };
    time.into_iter().filter_map(part).collect()
}
