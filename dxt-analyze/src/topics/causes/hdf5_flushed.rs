//! HDF5 files that are flushed after every few writes: each time all changed metadata go to storage, and what is cached of chunks, in small pieces.

use super::claim::{Claim, finding};
use super::class::Class;
use super::grid::{Entry, Grid};
use super::put_together::saved_ns;
use super::replay::Shortened;
use crate::findings::{About, Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::shared::totals::add;
use crate::text::units as show;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Times that a process flushes a file, at least.
const AGAIN: u64 = 8;
/// Writes of data sets for each flush, at most.
const WRITES: u64 = 2;
/// Octave of the longest writes that are of metadata, or in pieces: 64 KiB.
const SMALL: u8 = 17;

/// What a process does with a file.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    flushes: u64,
    writes: u64,
    /// Time in flushes, and in system calls inside HDF5 that change the file, ns.
    flushing_ns: f64,
    changing_ns: f64,
}

impl Use {
    /// Part of the time of the system calls that is the flushes', but for one.
    fn part(&self) -> f64 {
        (self.flushing_ns / self.changing_ns.max(1.0)).min(1.0) * (1.0 - 1.0 / self.flushes.max(1) as f64)
    }
}

/// The file that it costs most on.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let changes = |entry: &Entry| {
        let within = grid.stream(entry).is_some_and(|stream| stream.in_hdf5);
        entry.leaf && within && (entry.class == Class::Sync || entry.class == Class::Write && entry.size <= SMALL)
    };
    let mut uses: BTreeMap<(ProcessId, FileId), Use> = BTreeMap::new();
    for entry in &grid.entries {
        let of = uses.entry((entry.process, entry.file)).or_default();
        match entry.class {
            Class::Sync if grid.layer(entry) == Some(Layer::Hdf5) => {
                add(&mut of.flushes, entry.cell.calls);
                of.flushing_ns += entry.left_ns;
            }
            Class::Write if grid.layer(entry) == Some(Layer::Hdf5) => add(&mut of.writes, entry.cell.calls),
            _ if changes(entry) => of.changing_ns += entry.left_ns,
            _ => {}
        }
    }
    uses.retain(|_, of| of.flushes >= AGAIN && of.writes <= of.flushes.saturating_mul(WRITES));
    let mut by: BTreeMap<FileId, Shortened> = BTreeMap::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| changes(entry)) {
        if let Some(of) = uses.get(&(entry.process, entry.file)) {
            // What is written must be written, in larger pieces.
            let less = if entry.class == Class::Sync {
                entry.left_ns
            } else {
                saved_ns(entry.left_ns, entry.cell.bytes, entry.cell.calls)
            };
            by.entry(entry.file).or_default().push((index, less.max(0.0) * of.part()));
        }
    }
    let time = |of: &Shortened| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let (file, shortened) = by.into_iter().max_by(|a, b| time(&a.1).total_cmp(&time(&b.1)))?;
    let mine: Vec<&Use> = uses.iter().filter(|((_, of), _)| *of == file).map(|(_, of)| of).collect();
    let sum = |of: fn(&Use) -> u64| mine.iter().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let (flushes, writes) = (sum(|of| of.flushes), sum(|of| of.writes));
    let flushing_ns: f64 = mine.iter().map(|of| of.flushing_ns).sum();
    let name = grid.run.file(file)?.name.clone();
    let title = format!(
        "the HDF5 file {name} is flushed {} times by {}, for {} of data sets: a flush takes {}",
        show::count(flushes),
        show::processes(mine.len() as u64),
        show::counted(writes, "write"),
        show::duration((flushing_ns / flushes.max(1) as f64) as u64)
    );
    let words = format!("{} in H5Fflush", show::duration(flushing_ns as u64));
    let about = About { file: Some(name), calls: Some(flushes), ..About::default() };
    let hint = "call H5Fflush (h5py: File.flush) for many objects or steps at once: closing a file writes all of it; a larger metadata cache and \
                 block (H5Pset_meta_block_size) make what is written fewer pieces";
    Some(Claim::new(finding(Code::HDF5_FLUSHED, title, vec![Evidence::of(words, about)], hint), shortened))
}
