//! Calls that cost more than they should by their number or their place: syncs after writes, metadata calls that take long, reads that only
//! serve writes of less than a block.

use super::class::Class;
use super::grid::{Entry, Grid};
use super::replay::Shortened;
use crate::model::{FileId, ProcessId, StreamIx};
use crate::shared::totals::add;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

/// What a metadata call takes that a server answers at once, ns.
pub const QUICK_NS: f64 = 300_000.0;
/// Writes per sync from which on syncs are few.
const PER_SYNC: u64 = 4;
/// Syncs of a file without writes from which they are many.
const MANY: u64 = 16;
/// Closes of C streams up to which they are no matter of metadata.
const FEW_CLOSES: u64 = 16;
/// Metadata calls of a process from which on they are many.
const MANY_METADATA: u64 = 200;
/// Bytes of a file that is a block or less: what is read of it is what is written.
const ONE_BLOCK: u64 = 4096;
/// Octave of the longest reads that fill the rest of a block: 64 KiB.
const BLOCK: u8 = 17;

/// Syncs and the writes that they follow.
#[derive(Clone, Debug)]
pub struct Syncs {
    /// How many.
    pub syncs: u64,
    /// Writes to the same files.
    pub writes: u64,
    /// Files.
    pub files: usize,
    /// What one sync of each process on each file would save.
    pub shortened: Shortened,
}

fn once(grid: &Grid<'_>, counts: impl Fn(&Entry) -> bool) -> Shortened {
    let mut calls: BTreeMap<(ProcessId, StreamIx), u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| counts(entry)) {
        add(calls.entry((entry.process, entry.stream)).or_default(), entry.cell.calls);
    }
    let all = |entry: &Entry| calls.get(&(entry.process, entry.stream)).copied().unwrap_or(1).max(1) as f64;
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry));
    theirs.map(|(index, entry)| (index, entry.left_ns * (1.0 - 1.0 / all(entry)))).collect()
}

/// Files that are synced for every few writes.
#[must_use]
pub fn syncs(grid: &Grid<'_>) -> Option<Syncs> {
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
    let shortened = once(grid, |entry| entry.leaf && entry.class == Class::Sync && of.contains_key(&entry.file));
    (!of.is_empty()).then_some(Syncs { syncs, writes, files: of.len(), shortened })
}

/// Syncs that are few, and take much of the time in calls.
#[derive(Clone, Debug)]
pub struct LongSyncs {
    /// How many.
    pub syncs: u64,
    /// Time in them, ns.
    pub time_ns: f64,
    /// What would be saved without.
    pub shortened: Shortened,
}

/// Those of all files, if they take at least `share` of the time in calls.
#[must_use]
pub fn long_syncs(grid: &Grid<'_>, share: f64) -> Option<LongSyncs> {
    let all: f64 = grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.left_ns).sum();
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| entry.leaf && entry.class == Class::Sync);
    let (mut syncs, mut shortened) = (0, Shortened::new());
    for (index, entry) in theirs {
        add(&mut syncs, entry.cell.calls);
        shortened.push((index, entry.left_ns));
    }
    let time_ns: f64 = shortened.iter().map(|(_, ns)| ns).sum();
    (syncs > 0 && time_ns >= all * share).then_some(LongSyncs { syncs, time_ns, shortened })
}

/// Metadata calls that take longer than a server that is not busy.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Calls, and their time, ns.
    pub calls: u64,
    /// See above.
    pub time_ns: f64,
    /// The operation that takes most of it.
    pub most: String,
    /// What quick answers would save, or fewer calls where they are many.
    pub shortened: Shortened,
}

/// Opens and other metadata calls that reach the system.
#[must_use]
pub fn is_metadata(entry: &Entry) -> bool {
    entry.leaf && matches!(entry.class, Class::Open | Class::Metadata)
}

/// Those of all processes, of the operations that usually take long; `None` if there are none.
#[must_use]
pub fn slow_metadata(grid: &Grid<'_>) -> Option<Slow> {
    let op = |entry: &Entry| grid.stream(entry).map_or(0, |stream| stream.op);
    let mut by: BTreeMap<u16, (u64, f64)> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| is_metadata(entry)) {
        let of = by.entry(op(entry)).or_default();
        *of = (of.0.saturating_add(entry.cell.calls), of.1 + entry.left_ns);
    }
    // Many quick ones of another operation make these no quicker. A C stream that is closed writes what it holds.
    let writes = |op: u16| {
        let op = grid.run.ops.get(usize::from(op));
        op.is_some_and(|op| op.layer == Some(Layer::Stdio) && op.class == Some(OpClass::Close))
    };
    by.retain(|op, (calls, time)| *time >= QUICK_NS * *calls as f64 && (*calls >= FEW_CLOSES || !writes(*op)));
    // Where a process makes many, it is their number that can be mended; of few only how long each takes.
    let mut of_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| is_metadata(entry) && by.contains_key(&op(entry))) {
        add(of_process.entry(entry.process).or_default(), entry.cell.calls);
    }
    let many = |entry: &Entry| of_process.get(&entry.process).is_some_and(|calls| *calls >= MANY_METADATA);
    let mut shortened = Shortened::new();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        let stays = if many(entry) { 0.0 } else { QUICK_NS * entry.cell.calls as f64 };
        let less = entry.left_ns - stays;
        if is_metadata(entry) && less > 0.0 && by.contains_key(&op(entry)) {
            shortened.push((index, less));
        }
    }
    let (calls, time_ns) = by.values().fold((0_u64, 0.0), |sum, of| (sum.0.saturating_add(of.0), sum.1 + of.1));
    let (most, _) = by.into_iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let most = grid.run.ops.get(usize::from(most))?.name.clone();
    (!shortened.is_empty()).then_some(Slow { calls, time_ns, most, shortened })
}

/// Reads that fill up blocks that are written in part.
#[derive(Clone, Debug)]
pub struct Filling {
    /// Such reads, and the writes beside them.
    pub reads: u64,
    /// See above.
    pub writes: u64,
    /// What whole blocks would save.
    pub shortened: Shortened,
}

/// Small reads, about one or two for each write of the same process on the same file.
#[must_use]
pub fn filling(grid: &Grid<'_>) -> Option<Filling> {
    let mut of: BTreeMap<(ProcessId, FileId), (u64, u64, u64)> = BTreeMap::new();
    let mut until: BTreeMap<FileId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && !entry.inside) {
        let reaches = until.entry(entry.file).or_default();
        *reaches = (*reaches).max(entry.cell.range.1);
        let sums = of.entry((entry.process, entry.file)).or_default();
        match entry.class {
            Class::Read if entry.size <= BLOCK => add(&mut sums.0, entry.cell.calls),
            Class::Read => add(&mut sums.2, entry.cell.calls),
            Class::Write => add(&mut sums.1, entry.cell.calls),
            _ => {}
        }
    }
    of.retain(|(_, file), (small, writes, large)| {
        until.get(file).is_none_or(|bytes| *bytes == 0 || *bytes > ONE_BLOCK)
            && *large == 0
            && *writes >= 4
            && (0.8..=2.2).contains(&(*small as f64 / *writes as f64))
    });
    let (reads, writes) =
        of.values().fold((0_u64, 0_u64), |sum, of| (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1)));
    let is = |entry: &Entry| entry.leaf && entry.class == Class::Read && of.contains_key(&(entry.process, entry.file));
    let shortened: Shortened = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| is(entry))
        .map(|(index, entry)| (index, entry.left_ns))
        .collect();
    (!shortened.is_empty()).then_some(Filling { reads, writes, shortened })
}
