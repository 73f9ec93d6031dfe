//! Collective MPI-IO calls with few bytes of all ranks together: each costs an exchange between ranks and a request, regardless of its
//! bytes.

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
    ranks: BTreeSet<ProcessId>,
}

impl Found {
    /// Returns the number of collective calls, in each of which all ranks take part.
    fn rounds(&self) -> u64 {
        self.calls / (self.ranks.len() as u64).max(1)
    }
}

/// Returns a claim (finding with its saving) about collective reads of few bytes and one about collective writes of few bytes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class)).collect()
}

fn of_class(cube: &Cube<'_>, class: Class) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    // Calls that HDF5 makes have findings of their own.
    let of_program =
        |cell: &&Cell| cell.collective && !cell.inside && cell.class == class && cube.layer(cell) == Some(Layer::Mpiio);
    for cell in cube.cells.iter().filter(of_program) {
        let found = by.entry(cell.file).or_default();
        add(&mut found.calls, cell.sums.calls);
        add(&mut found.bytes, cell.sums.bytes);
        found.time_ns += cell.time_ns();
        found.ranks.insert(cell.process);
    }
    by.retain(|_, found| {
        found.ranks.len() > 1
            && found.rounds() >= thresholds.many_calls_min
            && found.bytes > 0
            && found.bytes / found.rounds() <= thresholds.small_bytes
    });
    let is = |cell: &Cell| {
        cell.leaf
            && cell.inside
            && cell.class == class
            && cell.is_below(thresholds.block_bytes)
            && by.contains_key(&cell.file)
    };
    let savings = put_together(cube, is);
    let (file, most) = by.iter().max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns)).filter(|_| !savings.is_empty())?;
    let name = cube.run.file_name(*file).to_owned();
    let rounds = most.rounds();
    let operation = Some(class.singular().into());
    let about = About { file: Some(name.clone()), calls: Some(rounds), operation, ..About::default() };
    let of = words::TinyCollective {
        file: &name,
        class,
        calls: rounds,
        ranks: most.ranks.len() as u64,
        bytes: most.bytes,
        each_ns: (most.time_ns / most.calls.max(1) as f64) as u64,
    };
    Some(Claim::on_files(cube, Code::TINY_COLLECTIVE, savings, |lost| words::tiny_collective(&of, about, lost)))
}
