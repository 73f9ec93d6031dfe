//! A thread that takes longer for its reads or writes than others with the same work, which wait for it. If the same thread is slow in most
//! processes, its role is the cause, not its place.

use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::reading::at_work::{AtWork, Own, SlowThread};
use crate::topics::causes::replay::{Savings, Work};
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Least part of the processes with several threads in which the same thread is slow.
const MOST: f64 = 0.5;

/// Returns a claim about the same thread of most processes, or about threads of single processes.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let least = &grid.run.thresholds;
    let with = grid.at_work.iter().flatten().count();
    let all: BTreeMap<ProcessId, SlowThread> = grid
        .run
        .numbered_processes()
        .filter_map(|(number, _)| Some((number, grid.at_work.get(number.index())?.as_ref()?.slow?)))
        .filter(|(_, slow)| slow.above >= least.min_slowdown.ln() && slow.p <= least.false_discovery_rate)
        .collect();
    let mut similar: BTreeMap<(Class, usize, usize), BTreeSet<ProcessId>> = BTreeMap::new();
    for (number, slow) in &all {
        similar.entry((slow.class, slow.place, slow.of)).or_default().insert(*number);
    }
    let most = similar.into_values().max_by_key(BTreeSet::len)?;
    let same = most.len() > 1 && most.len() as f64 >= with as f64 * MOST;
    // Among many processes, one may have a slow thread by chance.
    let sure = |slow: &SlowThread| slow.p * with as f64 <= least.false_discovery_rate;
    let found: BTreeMap<ProcessId, SlowThread> =
        all.into_iter().filter(|(number, slow)| if same { most.contains(number) } else { sure(slow) }).collect();
    let work = Work::of(grid, false);
    let (saved, savings) = (saved(grid, &work, &found), savings(grid, &found));
    // Cells sum the calls of all threads: their saving is less than that of the slow thread, and the rest counts as waiting.
    let waiting_ns = (saved - work.saved(grid, &savings)).max(0.0);
    let (number, slow) = found.iter().max_by(|a, b| a.1.above.total_cmp(&b.1.above).then(b.0.cmp(a.0)))?;
    let times = found.values().map(|slow| slow.above).sum::<f64>() / found.len() as f64;
    let mut calls = 0;
    found.values().for_each(|slow| add(&mut calls, slow.calls));
    let rank = grid.run.process(*number).map(|process| process.rank).filter(|rank| *rank >= 0 && found.len() == 1);
    let about = About {
        rank,
        file: own_file(slow.own).map(|file| grid.run.file_name(file).to_owned()),
        calls: Some(calls),
        ..About::default()
    };
    let own = own_file(slow.own).map(|file| (grid.run.file_name(file), matches!(slow.own, Own::Part(_))));
    let of = words::SlowThread {
        class: slow.class,
        number: slow.place + 1,
        of: slow.of,
        tid: slow.tid,
        process: &grid.run.process_name(*number),
        found: found.len() as u64,
        same,
        times: times.exp(),
        calls,
        p: found.values().map(|slow| slow.p).fold(0.0, f64::max),
        own,
    };
    let claim = Claim::new(Finding::new(Code::SLOW_THREAD, words::slow_thread(&of, about)), savings);
    Some(Claim { waiting_ns, ..claim })
}

const fn own_file(own: Own) -> Option<FileId> {
    match own {
        Own::Nothing => None,
        Own::File(file) | Own::Part(file) => Some(file),
    }
}

/// Returns the threads' excess, spread over all calls of their processes: single calls of a thread are not known.
fn savings(grid: &Grid<'_>, found: &BTreeMap<ProcessId, SlowThread>) -> Savings {
    let of = |entry: &Entry| found.get(&entry.process).filter(|slow| entry.leaf && entry.class == slow.class);
    let mut all: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| of(entry).is_some()) {
        *all.entry(entry.process).or_default() += entry.left_ns;
    }
    let part = |entry: &Entry| Some(of(entry)?.beyond_ns / all.get(&entry.process)?.max(1.0));
    let entries = (0_u32..).zip(&grid.entries);
    entries.filter_map(|(index, entry)| Some((index, entry.left_ns * part(entry)?.min(1.0)))).collect()
}

/// Returns the saving if these threads were as fast as the others, ns: by phase, for the process with most time.
fn saved(grid: &Grid<'_>, work: &Work, found: &BTreeMap<ProcessId, SlowThread>) -> f64 {
    let phases = grid.slots.phases();
    let (mut now, mut then) = (vec![0.0_f64; phases], vec![0.0_f64; phases]);
    for (number, _) in grid.run.numbered_processes() {
        let of: Option<&AtWork> = grid.at_work.get(number.index()).and_then(Option::as_ref);
        let is_slow = found.contains_key(&number);
        let known: BTreeMap<usize, (u64, u64)> = of
            .map(|of| of.phases.iter().map(|(phase, now, then)| (*phase as usize, (*now, *then))).collect())
            .unwrap_or_default();
        for (phase, (now, then)) in now.iter_mut().zip(&mut then).enumerate() {
            let (mine, other) = match known.get(&phase) {
                Some((mine, other)) => (*mine as f64, if is_slow { *other } else { *mine } as f64),
                None if of.is_none() => (work.time(phase, number), work.time(phase, number)),
                None => (0.0, 0.0),
            };
            (*now, *then) = (now.max(mine), then.max(other));
        }
    }
    now.iter().zip(&then).map(|(now, then)| (now - then).max(0.0)).sum()
}
