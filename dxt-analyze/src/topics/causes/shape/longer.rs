//! A rank that spends far longer in calls than the others, which have less to do and wait: rank 0 that writes log lines, or one rank that
//! reads a file for all. Measured by time in calls, as bytes may not show it.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, ProcessId};
use crate::replay::Savings;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Returns one claim (finding with its saving) per class of calls (reads, writes, opens, metadata, syncs) in which one rank spends far
/// longer than the others.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let ranks = cube.run.ranks();
    if ranks < cube.run.thresholds.several_min || cube.run.reduced_ranks() > 0 {
        return Vec::new();
    }
    let classes = [Class::Read, Class::Write, Class::Open, Class::Metadata, Class::Sync];
    classes.into_iter().filter_map(|class| of_class(cube, class, ranks)).collect()
}

fn of_class(cube: &Cube<'_>, class: Class, ranks: u64) -> Option<Claim> {
    // Inside MPI-IO, few ranks do the I/O of all by design.
    let counts = |cell: &&Cell| cell.leaf && !cell.inside && cell.class == class;
    let (mut by, mut of_phase, mut of_rank) =
        (BTreeMap::<(usize, ProcessId), f64>::new(), BTreeMap::<usize, f64>::new(), BTreeMap::<ProcessId, f64>::new());
    for cell in cube.cells.iter().filter(counts) {
        let ns = cube.wall(cell, cell.time_ns());
        *by.entry((cube.phase(cell), cell.process)).or_default() += ns;
        *of_phase.entry(cube.phase(cell)).or_default() += ns;
        *of_rank.entry(cell.process).or_default() += ns;
    }
    let (&process, &mine) = of_rank.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let others = (of_rank.values().sum::<f64>() - mine) / (ranks - 1) as f64;
    if mine < others * cube.run.thresholds.double_ratio {
        return None;
    }
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell) && cell.process == process) {
        let own = by.get(&(cube.phase(cell), process)).copied().unwrap_or_default();
        let all = of_phase.get(&cube.phase(cell)).copied().unwrap_or_default();
        let mean = (all - own) / (ranks - 1) as f64;
        if own > mean && cube.waited_for(process, cube.phase(cell)) {
            savings.push((index, cell.time_ns() * (1.0 - mean / own)));
        }
    }
    let name = cube.run.process_name(process);
    let of = cube.run.process(process);
    let about = About {
        rank: of.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: of.map(|process| cube.run.node(process).to_owned()),
        time_ns: Some(mine as u64),
        ..About::default()
    };
    let all = of_rank.values().sum::<f64>();
    let times = [mine, others, all].map(|ns| ns as u64);
    let words = |lost| words::longer(&name, class, times, about, lost);
    Some(Claim::on_files(cube, Code::TIME_IMBALANCE, savings, words))
}
