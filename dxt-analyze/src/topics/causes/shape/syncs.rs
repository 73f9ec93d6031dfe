//! Syncs: many, after every few writes, or few that take long.

use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId, StreamIx};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Most writes per sync for syncs to be many.
const PER_SYNC: u64 = 4;
/// Fewest syncs of a file without writes to be many.
const MANY: u64 = 16;

/// Returns claims about many syncs and about long ones.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    after_writes(grid).into_iter().chain(that_are_long(grid)).collect()
}

fn after_writes(grid: &Grid<'_>) -> Option<Claim> {
    let found = syncs(grid)?;
    let streams = found.savings.iter().filter_map(|(index, _)| grid.entries.get(*index as usize));
    let flushes = streams.clone().filter(|entry| grid.layer(entry) == Some(Layer::Stdio)).count() * 2 > streams.count();
    let words = |lost| words::sync_per_write(found.syncs, found.writes, found.files as u64, flushes, lost);
    Some(Claim::on_files(grid, Code::SYNC_PER_WRITE, found.savings, words))
}

fn that_are_long(grid: &Grid<'_>) -> Option<Claim> {
    let found = long_syncs(grid, grid.run.thresholds.uncovered_share)?;
    Some(Claim::on_files(grid, Code::SYNC_TIME, found.savings, |lost| {
        words::sync_time(found.syncs, found.time_ns, lost)
    }))
}

#[derive(Clone, Debug)]
struct Syncs {
    syncs: u64,
    writes: u64,
    files: usize,
    /// Savings if each process synced each file once.
    savings: Savings,
}

fn once(grid: &Grid<'_>, counts: impl Fn(&Entry) -> bool) -> Savings {
    let mut calls: BTreeMap<(ProcessId, StreamIx), u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| counts(entry)) {
        add(calls.entry((entry.process, entry.stream)).or_default(), entry.cell.calls);
    }
    let all = |entry: &Entry| calls.get(&(entry.process, entry.stream)).copied().unwrap_or(1).max(1) as f64;
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry));
    theirs.map(|(index, entry)| (index, entry.left_ns * (1.0 - 1.0 / all(entry)))).collect()
}

/// Finds files with a sync for every few writes.
fn syncs(grid: &Grid<'_>) -> Option<Syncs> {
    let mut of: BTreeMap<FileId, (u64, u64)> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf) {
        let sums = of.entry(entry.file).or_default();
        match entry.class {
            Class::Sync => add(&mut sums.0, entry.cell.calls),
            Class::Write => add(&mut sums.1, entry.cell.calls),
            _ => {}
        }
    }
    // Mapped files are written without calls.
    of.retain(|_, (syncs, writes)| {
        *syncs > 1 && (*writes > 0 || *syncs >= MANY) && *writes <= syncs.saturating_mul(PER_SYNC)
    });
    let (syncs, writes) =
        of.values().fold((0_u64, 0_u64), |sum, of| (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1)));
    let savings = once(grid, |entry| entry.leaf && entry.class == Class::Sync && of.contains_key(&entry.file));
    (!of.is_empty()).then_some(Syncs { syncs, writes, files: of.len(), savings })
}

#[derive(Clone, Debug)]
struct LongSyncs {
    syncs: u64,
    time_ns: f64,
    savings: Savings,
}

/// Returns the syncs of all files if they take at least `share` of the time in calls.
fn long_syncs(grid: &Grid<'_>, share: f64) -> Option<LongSyncs> {
    let all: f64 = grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.left_ns).sum();
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| entry.leaf && entry.class == Class::Sync);
    let (mut syncs, mut savings) = (0, Savings::new());
    for (index, entry) in theirs {
        add(&mut syncs, entry.cell.calls);
        savings.push((index, entry.left_ns));
    }
    let time_ns: f64 = savings.iter().map(|(_, ns)| ns).sum();
    (syncs > 0 && time_ns >= all * share).then_some(LongSyncs { syncs, time_ns, savings })
}
