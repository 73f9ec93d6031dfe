//! HDF5 files that a process opens repeatedly: at each open, HDF5 rereads the file's metadata.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Returns one claim (finding with its saving), about the file whose repeated HDF5 opens cost most.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.class == Class::Open) {
        let of_file = cube.stream(cell).is_some_and(|stream| stream.data_set.is_none());
        if of_file && cube.layer(cell) == Some(Layer::Hdf5) {
            add(opens.entry((cell.process, cell.file)).or_default(), cell.sums.calls);
        }
    }
    opens.retain(|_, count| *count >= thresholds.calls_min);
    let again = |cell: &Cell| {
        let within = cube.stream(cell).is_some_and(|stream| stream.in_hdf5);
        let metadata = matches!(cell.class, Class::Open | Class::Metadata | Class::Lock)
            || cell.class == Class::Read && cell.is_below(thresholds.metadata_bytes);
        opens.get(&(cell.process, cell.file)).filter(|_| cell.leaf && within && metadata)
    };
    let mut by: BTreeMap<FileId, Savings> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        if let Some(count) = again(cell) {
            by.entry(cell.file).or_default().push((index, cell.time_ns() * (1.0 - 1.0 / *count as f64)));
        }
    }
    let time = |of: &Savings| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let (file, savings) = by.into_iter().max_by(|a, b| time(&a.1).total_cmp(&time(&b.1)))?;
    let (processes, count) = opens
        .iter()
        .filter(|((_, of), _)| *of == file)
        .fold((0_u64, 0_u64), |(processes, all), (_, count)| (processes + 1, all.saturating_add(*count)));
    let name = cube.run.file(file)?.name.clone();
    let about = About { file: Some(name.clone()), calls: Some(count), ..About::default() };
    let words = words::hdf5_reopened(&name, count, processes, time(&savings) as u64, about);
    Some(Claim::new(Finding::new(Code::HDF5_REOPENED, words), savings))
}
