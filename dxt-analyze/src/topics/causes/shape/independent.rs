//! Small independent MPI-IO calls of ranks on files that they share: collective calls would merge the pieces of all ranks into large
//! requests.

use super::put_together::put_together;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

#[derive(Debug, Default)]
struct Found {
    calls: u64,
    bytes: u64,
    time_ns: f64,
    of_hdf5: u64,
    collective: u64,
    ranks: BTreeSet<ProcessId>,
}

/// Returns one claim (finding with its saving) about small independent reads and one about small independent writes, each over all files.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class)).collect()
}

fn of_class(cube: &Cube<'_>, class: Class) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    let of_mpi = |cell: &&Cell| cell.class == class && cube.layer(cell) == Some(Layer::Mpiio);
    for cell in cube.cells.iter().filter(of_mpi) {
        let found = by.entry(cell.file).or_default();
        if cell.collective {
            add(&mut found.collective, cell.sums.calls);
        } else if cell.size > 0 && cell.is_below(thresholds.direct_bytes) {
            add(&mut found.calls, cell.sums.calls);
            add(&mut found.bytes, cell.sums.bytes);
            found.time_ns += cell.time_ns();
            let in_hdf5 = cube.stream(cell).is_some_and(|stream| stream.in_hdf5);
            add(&mut found.of_hdf5, if in_hdf5 { cell.sums.calls } else { 0 });
            found.ranks.insert(cell.process);
        }
    }
    by.retain(|_, found| {
        let ranks = found.ranks.len() as u64;
        ranks > 1 && found.calls >= ranks * thresholds.calls_min && found.calls > found.collective
    });
    let is = |cell: &Cell| {
        cell.leaf
            && cell.inside
            && cell.class == class
            && cell.is_below(thresholds.direct_bytes)
            && by.contains_key(&cell.file)
    };
    let savings = put_together(cube, is);
    let (dearest, most) = by.iter().max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns))?;
    if savings.is_empty() {
        return None;
    }
    let sum = |of: fn(&Found) -> u64| by.values().map(of).fold(0_u64, u64::saturating_add);
    let (calls, bytes, of_hdf5) = (sum(|of| of.calls), sum(|of| of.bytes), sum(|of| of.of_hdf5));
    let time_ns: f64 = by.values().map(|of| of.time_ns).sum();
    let name = cube.run.file_name(*dearest).to_owned();
    let (ranks, collective) = (most.ranks.len() as u64, sum(|of| of.collective));
    let about = About { file: Some(name.clone()), calls: Some(calls), processes: Some(ranks), ..About::default() };
    let of = words::Independent {
        class,
        hdf5: of_hdf5 > calls / 2,
        calls,
        bytes,
        time_ns,
        collective,
        files: by.len() as u64,
        file: &name,
        ranks,
    };
    let claim = Claim::on_files(cube, Code::INDEPENDENT, savings, |lost| words::independent(&of, about, lost));
    Some(claim)
}
