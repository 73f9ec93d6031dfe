//! A thread that takes longer for its reads or writes than other threads of its process with the same work, which wait for it. If the
//! thread at the same position is slow in most processes, its role is the cause, not where it runs.

use crate::cube::reading::at_work::{AtWork, Own, SlowThread};
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::{Savings, Work};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Returns one claim (finding with its saving), about the same thread of most processes or about threads of single processes.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let with = cube.at_work.iter().flatten().count();
    let all: BTreeMap<ProcessId, SlowThread> = cube
        .run
        .numbered_processes()
        .filter_map(|(number, _)| Some((number, cube.at_work.get(number.index())?.as_ref()?.slow?)))
        .filter(|(_, slow)| slow.above >= thresholds.min_slowdown.ln() && slow.p <= thresholds.false_discovery_rate)
        .collect();
    let mut similar: BTreeMap<(Class, usize, usize), BTreeSet<ProcessId>> = BTreeMap::new();
    for (number, slow) in &all {
        similar.entry((slow.class, slow.place, slow.of)).or_default().insert(*number);
    }
    let most = similar.into_values().max_by_key(BTreeSet::len)?;
    let same = most.len() > 1 && most.len() as f64 >= with as f64 * thresholds.half_share;
    // Among many processes, one may have a slow thread by chance.
    let sure = |slow: &SlowThread| slow.p * with as f64 <= thresholds.false_discovery_rate;
    let found: BTreeMap<ProcessId, SlowThread> =
        all.into_iter().filter(|(number, slow)| if same { most.contains(number) } else { sure(slow) }).collect();
    let work = Work::of(cube, false);
    let (saved, savings) = (saved(cube, &work, &found), savings(cube, &found));
    // Cells sum the calls of all threads: their saving is less than that of the slow thread, and the rest counts as waiting.
    let waiting_ns = (saved - work.saved(cube, &savings)).max(0.0);
    let (number, slow) = found.iter().max_by(|a, b| a.1.above.total_cmp(&b.1.above).then(b.0.cmp(a.0)))?;
    let times = found.values().map(|slow| slow.above).sum::<f64>() / found.len() as f64;
    let mut calls = 0;
    found.values().for_each(|slow| add(&mut calls, slow.calls));
    let rank = cube.run.process(*number).map(|process| process.rank).filter(|rank| *rank >= 0 && found.len() == 1);
    let about = About {
        rank,
        file: own_file(slow.own).map(|file| cube.run.file_name(file).to_owned()),
        calls: Some(calls),
        ..About::default()
    };
    let own = own_file(slow.own).map(|file| (cube.run.file_name(file), matches!(slow.own, Own::Part(_))));
    let of = words::SlowThread {
        class: slow.class,
        number: slow.place + 1,
        of: slow.of,
        tid: slow.tid,
        process: &cube.run.process_name(*number),
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

/// Returns the slow threads' excess time, ns, spread over all cells (groups of similar calls) of their processes: cells do not contain
/// which thread made a call.
fn savings(cube: &Cube<'_>, found: &BTreeMap<ProcessId, SlowThread>) -> Savings {
    let of = |cell: &Cell| found.get(&cell.process).filter(|slow| cell.leaf && cell.class == slow.class);
    let mut all: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| of(cell).is_some()) {
        *all.entry(cell.process).or_default() += cell.time_ns();
    }
    let part = |cell: &Cell| Some(of(cell)?.beyond_ns / all.get(&cell.process)?.max(1.0));
    let cells = (0_u32..).zip(&cube.cells);
    cells.filter_map(|(index, cell)| Some((index, cell.time_ns() * part(cell)?.min(1.0)))).collect()
}

/// Returns the run time saved if the slow threads (`found`) were as fast as the other threads of their processes, ns: the longest process
/// of each phase (from one synchronization or pause to the next) counts. `work`: time of each process in calls, by phase.
fn saved(cube: &Cube<'_>, work: &Work, found: &BTreeMap<ProcessId, SlowThread>) -> f64 {
    let phases = cube.slots.phases();
    let (mut now, mut then) = (vec![0.0_f64; phases], vec![0.0_f64; phases]);
    for (number, _) in cube.run.numbered_processes() {
        let of: Option<&AtWork> = cube.at_work.get(number.index()).and_then(Option::as_ref);
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
