//! Collective calls of MPI-IO for which all ranks together have few bytes: each takes an exchange and a request, whatever they have.

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

/// Bytes of all ranks together in a call, at most.
const FEW_BYTES: u64 = 64 << 10;
/// Octave of the longest request that comes of them.
const SMALL: u8 = 17;
/// Calls of each rank on a file at least.
const CALLS: u64 = 16;

/// Collective calls on a file.
#[derive(Debug, Default)]
struct Found {
    calls: u64,
    bytes: u64,
    time_ns: f64,
    ranks: BTreeSet<ProcessId>,
}

impl Found {
    /// Calls of each rank: all make the same.
    fn rounds(&self) -> u64 {
        self.calls / (self.ranks.len() as u64).max(1)
    }
}

/// Of reads and of writes.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(grid, class)).collect()
}

fn of_class(grid: &Grid<'_>, class: Class) -> Option<Claim> {
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    // What HDF5 makes of the program's calls has findings of its own.
    let of_program = |entry: &&Entry| {
        entry.collective && !entry.inside && entry.class == class && grid.layer(entry) == Some(Layer::Mpiio)
    };
    for entry in grid.entries.iter().filter(of_program) {
        let found = by.entry(entry.file).or_default();
        add(&mut found.calls, entry.cell.calls);
        add(&mut found.bytes, entry.cell.bytes);
        found.time_ns += entry.left_ns;
        found.ranks.insert(entry.process);
    }
    by.retain(|_, found| {
        found.ranks.len() > 1 && found.rounds() >= CALLS && found.bytes > 0 && found.bytes / found.rounds() <= FEW_BYTES
    });
    let is = |entry: &Entry| {
        entry.leaf && entry.inside && entry.class == class && entry.size <= SMALL && by.contains_key(&entry.file)
    };
    let shortened = put_together(grid, is);
    let (file, most) =
        by.iter().max_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns)).filter(|_| !shortened.is_empty())?;
    let name = grid.run.file_name(*file).to_owned();
    let rounds = most.rounds();
    let title = format!(
        "{} collective {} of {} on {name} move {} each, summed over all ranks",
        show::count(rounds),
        class.plural(),
        show::counted(most.ranks.len() as u64, "rank"),
        show::bytes(most.bytes / rounds)
    );
    let verb = if class == Class::Read { "read" } else { "write" };
    let hint = format!(
        "combine the data of many steps, and {verb} them in one collective call: each call costs an exchange and a request"
    );
    let each_ns = most.time_ns / most.calls.max(1) as f64;
    let words = format!("{} for each call, averaged over ranks", show::duration(each_ns as u64));
    let about = About { file: Some(name), calls: Some(rounds), operation: Some(verb.into()), ..About::default() };
    let evidence = std::iter::once(Evidence::of(words, about)).chain(files(grid, &shortened)).collect();
    Some(Claim::new(finding(Code::TINY_COLLECTIVE, title, evidence, &hint), shortened))
}
