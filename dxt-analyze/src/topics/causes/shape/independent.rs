//! Small calls of MPI-IO that ranks make one by one on files they share: collective ones would put the pieces of all ranks together.

use super::put_together::put_together;
use crate::findings::{About, Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::shared::totals::add;
use crate::text::units as show;
use crate::topics::causes::claim::{Claim, files, finding};
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Octave of the longest small call: less than 256 KiB.
const SMALL: u8 = 18;
/// Calls of a file at least, on the mean over the ranks that make them.
const CALLS: u64 = 8;

/// Calls on a file.
#[derive(Debug, Default)]
struct Found {
    calls: u64,
    bytes: u64,
    time_ns: f64,
    of_hdf5: u64,
    collective: u64,
    ranks: BTreeSet<ProcessId>,
}

/// Of reads and of writes, all files together.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(grid, class)).collect()
}

fn of_class(grid: &Grid<'_>, class: Class) -> Option<Claim> {
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    let of_mpi = |entry: &&Entry| entry.class == class && grid.layer(entry) == Some(Layer::Mpiio);
    for entry in grid.entries.iter().filter(of_mpi) {
        let found = by.entry(entry.file).or_default();
        if entry.collective {
            add(&mut found.collective, entry.cell.calls);
        } else if entry.size > 0 && entry.size <= SMALL {
            add(&mut found.calls, entry.cell.calls);
            add(&mut found.bytes, entry.cell.bytes);
            found.time_ns += entry.left_ns;
            let in_hdf5 = grid.stream(entry).is_some_and(|stream| stream.in_hdf5);
            add(&mut found.of_hdf5, if in_hdf5 { entry.cell.calls } else { 0 });
            found.ranks.insert(entry.process);
        }
    }
    by.retain(|_, found| {
        let ranks = found.ranks.len() as u64;
        ranks > 1 && found.calls >= ranks * CALLS && found.calls > found.collective
    });
    let is = |entry: &Entry| {
        entry.leaf && entry.inside && entry.class == class && entry.size <= SMALL && by.contains_key(&entry.file)
    };
    let shortened = put_together(grid, is);
    let (dearest, most) = by.iter().max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns))?;
    if shortened.is_empty() {
        return None;
    }
    let sum = |of: fn(&Found) -> u64| by.values().map(of).fold(0_u64, u64::saturating_add);
    let (calls, bytes, of_hdf5) = (sum(|of| of.calls), sum(|of| of.bytes), sum(|of| of.of_hdf5));
    let time_ns: f64 = by.values().map(|of| of.time_ns).sum();
    let name = grid.run.file_name(*dearest).to_owned();
    let hdf5 = of_hdf5 > calls / 2;
    let on = match by.len() {
        1 => format!("the shared file {name}"),
        count => show::counted(count as u64, "shared file"),
    };
    let title = format!(
        "{} small independent {} {} of {} on {on}: {} and {} each on average",
        show::count(calls),
        if hdf5 { "HDF5" } else { "MPI-IO" },
        class.plural(),
        show::counted(most.ranks.len() as u64, "rank"),
        show::bytes(bytes / calls.max(1)),
        show::duration((time_ns / calls.max(1) as f64) as u64)
    );
    let hint = if hdf5 {
        "make the transfers collective (H5Pset_dxpl_mpio with H5FD_MPIO_COLLECTIVE; h5py: `with dataset.collective:`): aggregators then make few large requests"
    } else {
        "let all ranks call MPI_File_write_all or MPI_File_read_all with a file view: aggregators then make few large requests"
    };
    let collective = sum(|of| of.collective);
    let words = format!(
        "{} in these calls, summed over all ranks; {} collective {} on these files",
        show::duration(time_ns as u64),
        show::count(collective),
        class.agree(collective)
    );
    let about =
        About { file: Some(name), calls: Some(calls), processes: Some(most.ranks.len() as u64), ..About::default() };
    let evidence = std::iter::once(Evidence::of(words, about)).chain(files(grid, &shortened)).collect();
    Some(Claim::new(finding(Code::INDEPENDENT, title, evidence, hint), shortened))
}
