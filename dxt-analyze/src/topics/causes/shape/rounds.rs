//! Processes that a parent starts in rounds: the next round begins when all processes of the round before have ended. Each round waits for
//! the process that moves most bytes.

use super::uneven::of_one_parent;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, Process, ProcessId};
use crate::replay::Savings;
use crate::shared::stats::median;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use rustc_hash::FxHashMap;

type Round<'a> = Vec<(ProcessId, &'a Process)>;

/// Returns a claim (finding with its saving) about uneven rounds (sets of processes that run together) of reads and one about uneven rounds
/// of writes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    if cube.run.ranks() > 0 {
        return Vec::new();
    }
    let rounds: Vec<Round<'_>> = rounds(of_one_parent(cube))
        .into_iter()
        .filter(|of| of.len() >= cube.run.thresholds.several_min as usize)
        .collect();
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class, &rounds)).collect()
}

/// Groups processes into rounds: those whose lifetimes overlap, directly or through other processes.
fn rounds(mut all: Round<'_>) -> Vec<Round<'_>> {
    all.sort_by_key(|(number, process)| (process.shift_ns, *number));
    let (mut out, mut until): (Vec<Round<'_>>, u64) = (Vec::new(), 0);
    for one in all {
        match out.last_mut().filter(|_| one.1.shift_ns < until) {
            Some(round) => round.push(one),
            None => out.push(vec![one]),
        }
        until = until.max(one.1.end_ns);
    }
    out
}

fn of_class(cube: &Cube<'_>, class: Class, rounds: &[Round<'_>]) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let is = |cell: &&Cell| cell.leaf && cell.class == class;
    let mut moved: FxHashMap<ProcessId, (u64, f64)> = FxHashMap::default();
    for cell in cube.cells.iter().filter(is) {
        let of = moved.entry(cell.process).or_default();
        add(&mut of.0, cell.sums.bytes);
        of.1 += cell.time_ns();
    }
    let bytes = |process: ProcessId| moved.get(&process).map_or(0, |(bytes, _)| *bytes);
    let any = rounds.iter().filter(|round| round.iter().any(|(number, _)| bytes(*number) > 0)).count();
    // By process with most bytes of a round: part of its time that is saved.
    let mut most: FxHashMap<ProcessId, f64> = FxHashMap::default();
    let (mut times, mut processes) = (Vec::new(), 0);
    for round in rounds {
        let mean = round.iter().map(|(number, _)| bytes(*number) as f64).sum::<f64>() / round.len() as f64;
        let Some((number, process)) = round.iter().max_by_key(|(number, _)| (bytes(*number), *number)) else {
            continue;
        };
        let mut others: Vec<f64> =
            round.iter().filter(|(of, _)| of != number).map(|(_, process)| process.end_ns as f64).collect();
        let lag = process.end_ns as f64 - median(&mut others)?;
        let (mine, ns) = moved.get(number).copied().unwrap_or_default();
        if mine as f64 <= mean * thresholds.similar_ratio || lag <= 0.0 || ns <= 0.0 {
            continue;
        }
        // If the others end with the process, they had other work, and nobody waits.
        most.insert(*number, (1.0 - mean / mine as f64).min(lag / ns));
        times.push(mine as f64 / mean);
        processes = processes.max(round.len());
    }
    if times.len() < thresholds.repeated_min as usize || (times.len() as f64) < any as f64 * thresholds.half_share {
        return None;
    }
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    let savings: Savings =
        theirs.filter_map(|(index, cell)| Some((index, cell.time_ns() * most.get(&cell.process)?))).collect();
    let (rounds, times) = ([times.len() as u64, any as u64, processes as u64], median(&mut times)?);
    let about = About { calls: Some(any as u64), ..About::default() };
    let words = |lost| words::uneven_rounds(class, rounds, times, about, lost);
    Some(Claim::on_files(cube, Code::BYTE_IMBALANCE, savings, words))
}
