//! HDF5 files that a process opens repeatedly: HDF5 rereads their metadata each time.

use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Fewest opens of a file by a process.
const AGAIN: u64 = 10;
/// Largest size octave of metadata reads: below 16 KiB.
const SMALL: u8 = 14;

/// Returns a claim about the file with the largest saving.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.class == Class::Open) {
        let of_file = grid.stream(entry).is_some_and(|stream| stream.data_set.is_none());
        if of_file && grid.layer(entry) == Some(Layer::Hdf5) {
            add(opens.entry((entry.process, entry.file)).or_default(), entry.cell.calls);
        }
    }
    opens.retain(|_, count| *count >= AGAIN);
    let again = |entry: &Entry| {
        let within = grid.stream(entry).is_some_and(|stream| stream.in_hdf5);
        let metadata = matches!(entry.class, Class::Open | Class::Metadata | Class::Lock)
            || entry.class == Class::Read && entry.size <= SMALL;
        opens.get(&(entry.process, entry.file)).filter(|_| entry.leaf && within && metadata)
    };
    let mut by: BTreeMap<FileId, Savings> = BTreeMap::new();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if let Some(count) = again(entry) {
            by.entry(entry.file).or_default().push((index, entry.left_ns * (1.0 - 1.0 / *count as f64)));
        }
    }
    let time = |of: &Savings| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let (file, savings) = by.into_iter().max_by(|a, b| time(&a.1).total_cmp(&time(&b.1)))?;
    let (processes, count) = opens
        .iter()
        .filter(|((_, of), _)| *of == file)
        .fold((0_u64, 0_u64), |(processes, all), (_, count)| (processes + 1, all.saturating_add(*count)));
    let name = grid.run.file(file)?.name.clone();
    let about = About { file: Some(name.clone()), calls: Some(count), ..About::default() };
    let words = words::hdf5_reopened(&name, count, processes, time(&savings) as u64, about);
    Some(Claim::new(Finding::new(Code::HDF5_REOPENED, words), savings))
}
