//! Outliers (calls far longer than their peers) as findings: a stall, those of one process, of most processes at once, or of no unit in particular.
//!
//! * [`tails`]: outliers of a class; [`scattered`]: of several classes; [`stalls_in_a_row`]: consecutive ones; [`stand_still`]: those of most
//!   processes at once.
//! * [`first_calls`]: first calls of processes or bursts; [`once_each`]: one outlier per file.
//! * [`held_lock`]: waits for a lock whose holder stalls.

pub mod first_calls;
pub mod held_lock;
pub mod once_each;
pub mod scattered;
pub mod stalls_in_a_row;
pub mod stand_still;
pub mod tails;

use super::claim::{Claim, lost_on};
use super::named::named;
use crate::cube::kind_of_file::dearest;
use crate::cube::{Cell, Cube};
use crate::effects::unit::Unit;
use crate::findings::{About, Code, Evidence, Finding};
use crate::model::{Class, ProcessId};
use crate::sum::Sum;
use crate::words::calls::{self as words, Call, Where};
use once_each::once_each;
use stand_still::{StandStill, TOGETHER};
use std::collections::BTreeSet;
use tails::Tail;

/// Makes claims of tails, or of their calls separately.
#[must_use]
pub fn of_tails(cube: &Cube<'_>, tails: Vec<Tail>) -> Vec<Claim> {
    scattered::joined(cube, tails).iter().flat_map(|tail| of_tail(cube, tail)).collect()
}

fn of_tail(cube: &Cube<'_>, tail: &Tail) -> Vec<Claim> {
    let cell = |index: u32| cube.cells.get(index as usize);
    if let Some(claim) = first_calls::claim(cube, tail) {
        return vec![claim];
    }
    let is = |class: Class| tail.class == class || tail.also.contains(&class);
    let kind = dearest(cube, &tail.savings, |cell| cell.leaf && is(cell.class));
    if let Some(still) = tail.at_once.as_ref().filter(|_| kind.is_none()) {
        return vec![stands_still(cube, still)];
    }
    if let Some(files) = once_each(cube, tail).filter(|_| kind.is_none()) {
        return vec![on_nobody(cube, tail, Where::EachFile(files))];
    }
    if tail.stalls.is_empty() {
        if let Some(of) = tail.of {
            return vec![at_times(cube, tail, of)];
        }
        let on_targets = || cube.cells.iter().any(|cell| cell.leaf && !cell.targets.is_empty());
        let on = match kind {
            None if tail.is_of_two_ways() => return Vec::new(),
            None if on_targets() => Where::NoRankOrTarget,
            None => Where::NoRank,
            Some(kind) => Where::Files(kind),
        };
        return vec![on_nobody(cube, tail, on)];
    }
    if let Some(row) = stalls_in_a_row::claim(cube, tail) {
        return vec![row];
    }
    let stalls: Vec<(u32, &Cell)> = tail.stalls.iter().filter_map(|index| Some((*index, cell(*index)?))).collect();
    at_once(&stalls).iter().map(|group| stalled(cube, tail, group)).collect()
}

/// Groups stalls that overlap and end together: calls of a group wait for the same thing.
fn at_once<'g>(stalls: &[(u32, &'g Cell)]) -> Vec<Vec<(u32, &'g Cell)>> {
    let span = |cell: &Cell| Some((cell.sums.longest_began()?, cell.sums.longest_ns));
    let together = |one: &Cell, other: &Cell| {
        let (Some((mine, my_ns)), Some((theirs, their_ns))) = (span(one), span(other)) else { return false };
        let (my_end, their_end) = (mine.saturating_add(my_ns), theirs.saturating_add(their_ns));
        let within = (my_ns.max(their_ns) as f64 * TOGETHER) as u64;
        mine < their_end && theirs < my_end && my_end.abs_diff(their_end) <= within && mine.abs_diff(theirs) <= within
    };
    let mut groups: Vec<Vec<(u32, &Cell)>> = Vec::new();
    for &(index, cell) in stalls {
        match groups.iter_mut().find(|group| group.iter().all(|(_, other)| together(cell, other))) {
            Some(group) => group.push((index, cell)),
            None => groups.push(vec![(index, cell)]),
        }
    }
    groups
}

/// Makes a claim about a stalled call or several at once.
fn stalled(cube: &Cube<'_>, tail: &Tail, group: &[(u32, &Cell)]) -> Claim {
    let less = |cell: &Cell| (cell.sums.longest_ns as f64 - cell.usual_ns).max(0.0);
    let longest = group.iter().map(|(_, cell)| *cell).max_by_key(|cell| cell.sums.longest_ns);
    let waits = held_lock::waits(cube, group);
    let others: BTreeSet<ProcessId> =
        waits.iter().filter_map(|(index, _)| Some(cube.cells.get(*index as usize)?.process)).collect();
    let waited_ns = waits.iter().map(|(_, ns)| ns).sum::<f64>() as u64;
    let words = words::stall(&words::Stall {
        class: tail.class,
        calls: group.iter().map(|(_, cell)| call(cube, cell)).collect(),
        usual_ns: longest.map_or(0.0, |cell| cell.usual_ns) as u64,
        waited: (!others.is_empty()).then_some((others.len() as u64, waited_ns)),
        worker: cube.run.worker_name(),
    });
    let savings = group.iter().map(|(index, cell)| (*index, less(cell))).chain(waits).collect();
    let mut found = Finding::new(Code::STALL, words);
    found.about.operation = Some(tail.class.plural().to_owned());
    Claim::new(found, savings)
}

/// Makes a claim about outliers on no unit in particular; the longest is only an example.
fn on_nobody(cube: &Cube<'_>, tail: &Tail, on: Where) -> Claim {
    let words = words::long_tail(&words::LongTail {
        classes: tail.classes(),
        outliers: tail.far,
        calls: tail.calls,
        on,
        excess_ns: tail.extra_ns as u64,
        longest: longest(cube, tail),
    });
    let found = Finding::new(Code::LONG_TAIL, words.on(lost_on(cube, &tail.savings))).with(facts(tail));
    Claim::new(found, tail.savings.clone())
}

/// Facts about a tail on no process or node in particular.
fn facts(tail: &Tail) -> About {
    About {
        calls: Some(tail.far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(words::plural(&tail.classes())),
        ..About::default()
    }
}

/// Makes a claim about repeated outliers of most processes at the same time.
fn stands_still(cube: &Cube<'_>, still: &StandStill) -> Claim {
    let lengths: Vec<u64> = still.spans.iter().map(|(from, until)| until - from).collect();
    let mean = lengths.iter().copied().sum::<Sum>().get() / lengths.len().max(1) as u64;
    let about = About {
        calls: Some(still.far),
        time_ns: Some(still.extra_ns as u64),
        operation: Some(still.class.plural().to_owned()),
        ..About::default()
    };
    let words = words::slow_moment_of_most(&words::StandStill {
        class: still.class,
        spans: still.spans.clone(),
        every_ns: still.every_ns,
        mean_ns: mean,
        outliers: still.far,
        excess_ns: still.extra_ns as u64,
        workers: cube.run.workers_name(),
        about,
    });
    let words = words.on(lost_on(cube, &still.savings));
    Claim::new(Finding::new(Code::SLOW_MOMENT, words), still.savings.clone())
}

/// Makes a claim about outliers that are nearly all on one process or node.
fn at_times(cube: &Cube<'_>, tail: &Tail, (unit, far, calls): (Unit, u64, u64)) -> Claim {
    let code = if matches!(unit, Unit::Node(_)) { Code::SLOW_NODE } else { Code::SLOW_RANK };
    let (unit, about) = named(cube, unit);
    let about = About {
        calls: Some(far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(tail.class.plural().to_owned()),
        ..about
    };
    let words = words::slow_at_times(&words::AtTimes {
        unit,
        class: tail.class,
        outliers: far,
        calls,
        of_all: tail.far,
        excess_ns: tail.extra_ns as u64,
        longest: longest(cube, tail),
        about,
    });
    Claim::new(Finding::new(code, words.on(lost_on(cube, &tail.savings))), tail.savings.clone())
}

/// Adds outliers of a process or node to its claim among `slow`, if there is one; returns the other tails.
#[must_use]
pub fn joined_with_slow(slow: &mut [Claim], tails: Vec<Claim>) -> Vec<Claim> {
    let whose = |claim: &Claim| {
        let about = claim.finding.about.clone();
        let is = [Code::SLOW_RANK, Code::SLOW_NODE].contains(&claim.finding.code);
        is.then_some((claim.finding.code, about.rank, about.node))
    };
    let mut apart = |tail: &Claim| {
        let same = slow.iter_mut().find(|slow| whose(tail).is_some() && whose(slow) == whose(tail));
        let Some(same) = same else { return true };
        same.savings.extend(tail.savings.iter().copied());
        same.finding.evidence.push(Evidence::from(tail.finding.title.to_string()));
        false
    };
    tails.into_iter().filter(&mut apart).collect()
}

fn longest(cube: &Cube<'_>, tail: &Tail) -> Option<Call> {
    cube.cells.get(tail.longest as usize).map(|cell| call(cube, cell).0)
}

/// Returns the longest call of a cell, for sentences, and as a finding's subject.
fn call(cube: &Cube<'_>, cell: &Cell) -> (Call, About) {
    let run = cube.run;
    let file = run.file_name(cell.file).to_owned();
    let process = run.process(cell.process);
    let (began_ns, took_ns) = (cell.sums.longest_began(), cell.sums.longest_ns);
    let about = About {
        rank: process.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: process.map(|process| run.node(process).to_owned()),
        file: Some(file.clone()),
        span_ns: began_ns.map(|at| (at, at.saturating_add(took_ns))),
        time_ns: Some(took_ns),
        ..About::default()
    };
    let op = cube.stream(cell).map(|stream| run.op(stream).name.clone()).unwrap_or_default();
    (Call { op, who: run.name_on(cell.process, cell.file), file, took_ns, began_ns }, about)
}
