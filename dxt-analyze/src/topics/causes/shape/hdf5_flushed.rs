//! HDF5 files that are flushed after every few writes: each flush writes all changed metadata and cached chunks, in small pieces or again.

use super::put_together::saved_ns;
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Fewest flushes of a file by a process.
const AGAIN: u64 = 8;
/// Most dataset writes per flush.
const WRITES: u64 = 2;
/// Largest size octave of writes of metadata or pieces: below 128 KiB.
const SMALL: u8 = 17;

/// Bytes written to storage per dataset byte from which whole chunks are rewritten.
const CHUNKS_AGAIN: u64 = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    flushes: u64,
    writes: u64,
    /// Dataset bytes, and bytes of system calls inside HDF5 that write.
    bytes: u64,
    moved: u64,
    /// Time in flushes, and in system calls inside HDF5 that flushes cause, ns.
    flushing_ns: f64,
    changing_ns: f64,
}

impl Use {
    /// True if chunks are rewritten for each of their pieces.
    fn writes_again(&self) -> bool {
        self.bytes > 0 && self.moved >= self.bytes.saturating_mul(CHUNKS_AGAIN)
    }

    /// True if flushes cause such calls: syncs, small writes, and rewritten chunks.
    fn changes(&self, entry: &Entry) -> bool {
        entry.class == Class::Sync || entry.class == Class::Write && (entry.size <= SMALL || self.writes_again())
    }

    /// Part of the system calls' time that all flushes but one cause.
    fn part(&self) -> f64 {
        (self.flushing_ns / self.changing_ns.max(1.0)).min(1.0) * (1.0 - 1.0 / self.flushes.max(1) as f64)
    }
}

/// Returns one claim about all such files.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let inside = |entry: &&Entry| entry.leaf && grid.stream(entry).is_some_and(|stream| stream.in_hdf5);
    let mut uses: BTreeMap<(ProcessId, FileId), Use> = BTreeMap::new();
    for entry in &grid.entries {
        let of = uses.entry((entry.process, entry.file)).or_default();
        match entry.class {
            Class::Sync if grid.layer(entry) == Some(Layer::Hdf5) => {
                add(&mut of.flushes, entry.cell.calls);
                of.flushing_ns += entry.left_ns;
            }
            Class::Write if grid.layer(entry) == Some(Layer::Hdf5) => {
                add(&mut of.writes, entry.cell.calls);
                add(&mut of.bytes, entry.cell.bytes);
            }
            Class::Write if inside(&entry) => add(&mut of.moved, entry.cell.bytes),
            _ => {}
        }
    }
    uses.retain(|_, of| of.flushes >= AGAIN && of.writes <= of.flushes.saturating_mul(WRITES));
    if uses.is_empty() {
        return None;
    }
    for entry in grid.entries.iter().filter(inside) {
        let of = uses.get_mut(&(entry.process, entry.file)).filter(|of| of.changes(entry));
        of.into_iter().for_each(|of| of.changing_ns += entry.left_ns);
    }
    let mut savings = Savings::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| inside(entry)) {
        let of = uses.get(&(entry.process, entry.file)).filter(|of| of.changes(entry));
        if let Some(of) = of {
            // The bytes must be written once, in larger pieces.
            let once = 1.0 - of.bytes as f64 / of.moved.max(1) as f64;
            let less = match entry.class {
                Class::Sync => entry.left_ns,
                _ if entry.size > SMALL => entry.left_ns * once,
                _ => saved_ns(entry.left_ns, entry.cell.bytes, entry.cell.calls),
            };
            savings.push((index, less.max(0.0) * of.part()));
        }
    }
    let sum = |of: fn(&Use) -> u64| uses.values().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let (flushes, writes) = (sum(|of| of.flushes), sum(|of| of.writes));
    let flushing_ns: f64 = uses.values().map(|of| of.flushing_ns).sum();
    let of_files: BTreeSet<FileId> = uses.keys().map(|(_, file)| *file).collect();
    let by: BTreeSet<ProcessId> = uses.keys().map(|(process, _)| *process).collect();
    let one = of_files.first().and_then(|file| grid.run.file(*file)).filter(|_| of_files.len() == 1);
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
    Some(Claim::on_files(grid, Code::HDF5_FLUSHED, savings, words))
}
