//! Ranks that move far more bytes than others while these wait: by phases, the time of each against an even share.

use super::class::Class;
use super::grid::{Entry, Grid};
use super::replay::Shortened;
use crate::model::ProcessId;
use crate::shared::stats::median;
use crate::shared::totals::add;
use crate::sum::Sum;
use std::collections::BTreeMap;

/// Bytes of a rank against the mean from which it has more than its share.
const MORE: f64 = 1.3;
/// Share of the time in question that bytes must explain, by their share of the rank's: log lines take long for their few bytes.
const EXPLAINED: f64 = 0.5;
/// Share of the bytes from which one rank does all of it.
const ALL: f64 = 0.95;

/// Who has more than an even share.
#[derive(Clone, Debug)]
pub struct Uneven {
    /// Reads or writes.
    pub class: Class,
    /// Process with most bytes, and those.
    pub most: (ProcessId, u64),
    /// All bytes.
    pub bytes: u64,
    /// Processes that could share them.
    pub processes: u64,
    /// Whether one has all but all.
    pub one: bool,
    /// What would be saved if all had the same.
    pub shortened: Shortened,
}

/// Of reads and of writes that the program asked for itself: collective buffering gives few ranks all bytes by design.
#[must_use]
pub fn uneven(grid: &Grid<'_>) -> Vec<Uneven> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(grid, class)).collect()
}

fn of_class(grid: &Grid<'_>, class: Class) -> Option<Uneven> {
    let siblings = grid.run.ranks() == 0 && are_siblings(grid);
    let alive = if siblings { all_of_them(grid) } else { alive(grid) };
    let processes = alive.iter().copied().max().unwrap_or(0).max(1);
    let counts = |entry: &&Entry| entry.leaf && !entry.inside && entry.class == class;
    if processes < 2 || grid.run.reduced_ranks() > 0 || grid.run.ranks() == 0 && !siblings {
        return None;
    }
    let mut waited_for: BTreeMap<(ProcessId, usize), bool> = BTreeMap::new();
    let (mut by, mut whole) = (BTreeMap::<(usize, ProcessId), u64>::new(), BTreeMap::<ProcessId, u64>::new());
    let mut in_phase = BTreeMap::<usize, u64>::new();
    for entry in grid.entries.iter().filter(counts) {
        add(by.entry((grid.phase(entry), entry.process)).or_default(), entry.cell.bytes);
        add(whole.entry(entry.process).or_default(), entry.cell.bytes);
        add(in_phase.entry(grid.phase(entry)).or_default(), entry.cell.bytes);
    }
    let bytes = whole.values().sum::<Sum>().get();
    let most =
        whole.iter().max_by_key(|(process, bytes)| (**bytes, std::cmp::Reverse(**process))).map(|(p, b)| (*p, *b))?;
    if (most.1 as f64) < bytes as f64 / processes as f64 * MORE {
        return None;
    }
    let mut shortened = Shortened::new();
    let mut amounts = BTreeMap::<ProcessId, [Amount; 2]>::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry)) {
        let phase = grid.phase(entry);
        let mine = by.get(&(phase, entry.process)).copied().unwrap_or_default() as f64;
        let even = in_phase.get(&phase).copied().unwrap_or_default() as f64
            / alive.get(phase).copied().unwrap_or(processes).max(1) as f64;
        // Over the run, not only in this phase: ranks that take turns share the work.
        let over_all =
            whole.get(&entry.process).copied().unwrap_or_default() as f64 * processes as f64 / bytes.max(1) as f64;
        let [too_many, all] = amounts.entry(entry.process).or_default();
        all.add(entry, 1.0);
        let waited = *waited_for.entry((entry.process, phase)).or_insert_with(|| grid.waited_for(entry.process, phase));
        if mine > even * MORE && over_all > MORE && waited {
            too_many.add(entry, 1.0 - even / mine);
            shortened.push((index, entry.left_ns * (1.0 - even / mine)));
        }
    }
    if !amounts.get(&most.0).is_some_and(|[too_many, all]| too_many.is_explained(all)) {
        return None;
    }
    if siblings {
        // Those that end with it have had something else to do: nobody waits.
        let (lag, all) = (lag_ns(grid, most.0), shortened.iter().map(|(_, ns)| ns).sum::<f64>());
        shortened.iter_mut().for_each(|(_, ns)| *ns *= (lag / all.max(1.0)).min(1.0));
    }
    let one = most.1 as f64 >= bytes as f64 * ALL;
    Some(Uneven { class, most, bytes, processes, one, shortened })
}

/// Fewest processes of one parent that share its work.
const SIBLINGS: usize = 3;
/// Part of the time of the one that lives longest in which all of them live, at least, for the same.
const TOGETHER: f64 = 0.1;

/// Whether processes that are no ranks do one job's work together: those of one parent that run one program at the same time. Of others nobody
/// knows: a step of a script does all that is to be done.
fn are_siblings(grid: &Grid<'_>) -> bool {
    let data = |process: &ProcessId| {
        let mut theirs = grid.entries.iter().filter(|entry| entry.process == *process && entry.leaf);
        theirs.any(|entry| matches!(entry.class, Class::Read | Class::Write) && entry.cell.bytes > 0)
    };
    let all: Vec<_> = grid.run.numbered_processes().filter(|(number, _)| data(number)).map(|(_, of)| of).collect();
    let Some(first) = all.first() else { return false };
    let alike = |process: &&crate::model::Process| {
        (process.ppid, process.node, &process.exe) == (first.ppid, first.node, &first.exe)
    };
    let begins = all.iter().map(|process| process.shift_ns).max().unwrap_or(0);
    let ends = all.iter().map(|process| process.end_ns).min().unwrap_or(0);
    let longest = all.iter().map(|process| process.end_ns.saturating_sub(process.shift_ns)).max().unwrap_or(0);
    all.len() >= SIBLINGS && all.iter().all(alike) && ends.saturating_sub(begins) as f64 >= longest as f64 * TOGETHER
}

/// Bytes, and the time that they took, ns.
#[derive(Debug, Default)]
struct Amount {
    bytes: f64,
    ns: f64,
}

impl Amount {
    fn add(&mut self, entry: &Entry, share: f64) {
        self.bytes += entry.cell.bytes as f64 * share;
        self.ns += entry.left_ns * share;
    }

    /// Whether the bytes are about as large a part of `all` as the time is.
    fn is_explained(&self, all: &Self) -> bool {
        self.bytes * all.ns >= self.ns * all.bytes * EXPLAINED
    }
}

/// How long a process lives on when half of the others that do I/O have ended, ns.
fn lag_ns(grid: &Grid<'_>, process: ProcessId) -> f64 {
    let end = |number: ProcessId| grid.run.process(number).map_or(0.0, |of| of.end_ns as f64);
    let all: std::collections::BTreeSet<ProcessId> = grid.entries.iter().map(|entry| entry.process).collect();
    let mut others: Vec<f64> = all.into_iter().filter(|of| *of != process).map(end).collect();
    median(&mut others).map_or(0.0, |usual| (end(process) - usual).max(0.0))
}

/// By phase: all processes that do I/O: those of siblings that have ended had less to do.
fn all_of_them(grid: &Grid<'_>) -> Vec<u64> {
    let all: std::collections::BTreeSet<ProcessId> =
        grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.process).collect();
    vec![all.len() as u64; grid.slots.phases()]
}

/// By phase: processes that could take part. Of jobs that run one after the other each has its own.
fn alive(grid: &Grid<'_>) -> Vec<u64> {
    let lives: Vec<(u64, u64)> = grid
        .run
        .workers()
        .filter(|process| process.reduction.is_none())
        .map(|process| (process.shift_ns, if process.end_ns == 0 { u64::MAX } else { process.end_ns }))
        .collect();
    let spans = (0..grid.slots.phases()).map(|phase| grid.slots.span(phase));
    spans.map(|(from, until)| lives.iter().filter(|life| life.0 < until && life.1 > from).count() as u64).collect()
}
