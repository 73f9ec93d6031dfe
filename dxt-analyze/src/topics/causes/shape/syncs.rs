//! Syncs: too many (one after every few writes), or few that take long.

use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId, StreamIx};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Returns claims (findings with their savings) about many syncs and about long ones.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    after_writes(cube).into_iter().chain(that_are_long(cube)).collect()
}

fn after_writes(cube: &Cube<'_>) -> Option<Claim> {
    let found = syncs(cube)?;
    let streams = found.savings.iter().filter_map(|(index, _)| cube.cells.get(*index as usize));
    let flushes = streams.clone().filter(|cell| cube.layer(cell) == Some(Layer::Stdio)).count() * 2 > streams.count();
    let words = |lost| words::sync_per_write(found.syncs, found.writes, found.files as u64, flushes, lost);
    Some(Claim::on_files(cube, Code::SYNC_PER_WRITE, found.savings, words))
}

fn that_are_long(cube: &Cube<'_>) -> Option<Claim> {
    let found = long_syncs(cube, cube.run.thresholds.uncovered_share)?;
    Some(Claim::on_files(cube, Code::SYNC_TIME, found.savings, |lost| {
        words::sync_time(found.syncs, found.time_ns, lost)
    }))
}

#[derive(Clone, Debug)]
struct Syncs {
    syncs: u64,
    writes: u64,
    files: usize,
    /// Time saved if each process synced each file once, ns by cell (group of similar calls).
    savings: Savings,
}

fn once(cube: &Cube<'_>, counts: impl Fn(&Cell) -> bool) -> Savings {
    let mut calls: BTreeMap<(ProcessId, StreamIx), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        add(calls.entry((cell.process, cell.stream)).or_default(), cell.sums.calls);
    }
    let all = |cell: &Cell| calls.get(&(cell.process, cell.stream)).copied().unwrap_or(1).max(1) as f64;
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell));
    theirs.map(|(index, cell)| (index, cell.time_ns() * (1.0 - 1.0 / all(cell)))).collect()
}

/// Finds files with a sync after every few writes; `None` if there are none.
fn syncs(cube: &Cube<'_>) -> Option<Syncs> {
    let thresholds = &cube.run.thresholds;
    let mut of: BTreeMap<FileId, (u64, u64)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        let sums = of.entry(cell.file).or_default();
        match cell.class {
            Class::Sync => add(&mut sums.0, cell.sums.calls),
            Class::Write => add(&mut sums.1, cell.sums.calls),
            _ => {}
        }
    }
    // Mapped files are written without calls.
    of.retain(|_, (syncs, writes)| {
        *syncs > 1
            && (*writes > 0 || *syncs >= thresholds.many_calls_min)
            && *writes <= syncs.saturating_mul(thresholds.few_min)
    });
    let (syncs, writes) =
        of.values().fold((0_u64, 0_u64), |sum, of| (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1)));
    let savings = once(cube, |cell| cell.leaf && cell.class == Class::Sync && of.contains_key(&cell.file));
    (!of.is_empty()).then_some(Syncs { syncs, writes, files: of.len(), savings })
}

#[derive(Clone, Debug)]
struct LongSyncs {
    syncs: u64,
    time_ns: f64,
    savings: Savings,
}

/// Returns the syncs of all files; `None` if they take less than `share` of the time in calls.
fn long_syncs(cube: &Cube<'_>, share: f64) -> Option<LongSyncs> {
    let all: f64 = cube.cells.iter().filter(|cell| cell.leaf).map(|cell| cell.time_ns()).sum();
    // A flush of a C stream writes its buffer, and does not wait for storage.
    let is = |cell: &Cell| cell.leaf && cell.class == Class::Sync && cube.layer(cell) != Some(Layer::Stdio);
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    let (mut syncs, mut savings) = (0, Savings::new());
    for (index, cell) in theirs {
        add(&mut syncs, cell.sums.calls);
        savings.push((index, cell.time_ns()));
    }
    let time_ns: f64 = savings.iter().map(|(_, ns)| ns).sum();
    (syncs > 0 && time_ns >= all * share).then_some(LongSyncs { syncs, time_ns, savings })
}
