//! HDF5 files that are flushed after every few writes: each flush writes all changed metadata and cached chunks, in small pieces or
//! repeatedly.

use super::put_together::saved_ns;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    flushes: u64,
    writes: u64,
    /// Bytes of datasets that the program writes to the file.
    bytes: u64,
    /// Bytes that system calls inside HDF5 write to the file.
    moved: u64,
    /// Time that processes spend in flushes of the file, ns.
    flushing_ns: f64,
    /// Time in the system calls inside HDF5 that flushes cause (syncs, small writes), ns.
    changing_ns: f64,
}

impl Use {
    /// True if whole chunks are rewritten for each piece written to them.
    fn writes_again(&self, thresholds: &Thresholds) -> bool {
        self.bytes > 0 && self.moved >= self.bytes.saturating_mul(thresholds.repeated_min)
    }

    /// True if flushes cause the calls of the cell (group of similar calls of a process): syncs, small writes and, if chunks are rewritten,
    /// all writes.
    fn changes(&self, thresholds: &Thresholds, cell: &Cell) -> bool {
        cell.class == Class::Sync
            || cell.class == Class::Write && (cell.is_below(thresholds.block_bytes) || self.writes_again(thresholds))
    }

    /// Returns the part of the time of calls that flushes cause (`changing_ns`) that would be saved if the file were flushed once.
    fn part(&self) -> f64 {
        (self.flushing_ns / self.changing_ns.max(1.0)).min(1.0) * (1.0 - 1.0 / self.flushes.max(1) as f64)
    }
}

/// Returns one claim (finding with its saving) about all files that are flushed too often.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let inside = |cell: &&Cell| cell.leaf && cube.stream(cell).is_some_and(|stream| stream.in_hdf5);
    let mut uses: BTreeMap<(ProcessId, FileId), Use> = BTreeMap::new();
    for cell in &cube.cells {
        let of = uses.entry((cell.process, cell.file)).or_default();
        match cell.class {
            Class::Sync if cube.layer(cell) == Some(Layer::Hdf5) => {
                add(&mut of.flushes, cell.sums.calls);
                of.flushing_ns += cell.time_ns();
            }
            Class::Write if cube.layer(cell) == Some(Layer::Hdf5) => {
                add(&mut of.writes, cell.sums.calls);
                add(&mut of.bytes, cell.sums.bytes);
            }
            Class::Write if inside(&cell) => add(&mut of.moved, cell.sums.bytes),
            _ => {}
        }
    }
    uses.retain(|_, of| {
        of.flushes >= thresholds.calls_min && of.writes <= of.flushes.saturating_mul(thresholds.repeated_min)
    });
    if uses.is_empty() {
        return None;
    }
    for cell in cube.cells.iter().filter(inside) {
        let of = uses.get_mut(&(cell.process, cell.file)).filter(|of| of.changes(thresholds, cell));
        of.into_iter().for_each(|of| of.changing_ns += cell.time_ns());
    }
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| inside(cell)) {
        let of = uses.get(&(cell.process, cell.file)).filter(|of| of.changes(thresholds, cell));
        if let Some(of) = of {
            // The bytes must be written once, in larger pieces.
            let once = 1.0 - of.bytes as f64 / of.moved.max(1) as f64;
            let less = match cell.class {
                Class::Sync => cell.time_ns(),
                _ if !cell.is_below(thresholds.block_bytes) => cell.time_ns() * once,
                _ => saved_ns(thresholds, cell.time_ns(), cell.sums.bytes, cell.sums.calls),
            };
            savings.push((index, less.max(0.0) * of.part()));
        }
    }
    let sum = |of: fn(&Use) -> u64| uses.values().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let (flushes, writes) = (sum(|of| of.flushes), sum(|of| of.writes));
    let flushing_ns: f64 = uses.values().map(|of| of.flushing_ns).sum();
    let of_files: BTreeSet<FileId> = uses.keys().map(|(_, file)| *file).collect();
    let by: BTreeSet<ProcessId> = uses.keys().map(|(process, _)| *process).collect();
    let one = of_files.first().and_then(|file| cube.run.file(*file)).filter(|_| of_files.len() == 1);
    let name = one.map(|file| file.name.clone());
    let of = words::Flushed {
        files: of_files.len() as u64,
        file: name.as_deref(),
        flushes,
        time_ns: flushing_ns,
        processes: by.len() as u64,
        writes,
    };
    let about = About { file: name.clone(), calls: Some(flushes), ..About::default() };
    let words = |lost: Option<_>| words::hdf5_flushed(&of, about, lost.filter(|_| of_files.len() > 1));
    // Between its system calls, a flush serializes and searches the metadata. (Ranks may wait for each other in flushes.)
    let mut outside: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for ((process, _), of) in uses.iter().filter(|_| cube.run.ranks() < 2) {
        let ns = (of.flushing_ns - of.changing_ns).max(0.0) * (1.0 - 1.0 / of.flushes as f64);
        *outside.entry(*process).or_default() += ns;
    }
    let (waiting_ns, outside_ns) = (outside.values().copied().fold(0.0, f64::max), outside.values().sum());
    Some(Claim { waiting_ns, outside_ns, ..Claim::on_files(cube, Code::HDF5_FLUSHED, savings, words) })
}
