//! Makes findings of outliers (calls far longer than their peers): a single stalled call, or outliers of one process, of most processes at
//! once, or of no unit (rank, node, storage target) in particular.

use super::claim::{Claim, lost_on};
use super::named::named;
use super::slow_as_finding::similar;
use crate::cube::{Cell, Cube};
use crate::effects::calls::first_calls::FirstCalls;
use crate::effects::calls::stand_still::StandStill;
use crate::effects::calls::{Common, Tail, held_lock, span};
use crate::effects::unit::Unit;
use crate::findings::{About, Code, Evidence, Finding, Severity};
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::words::calls::{self as words, Call, Where};
use std::collections::BTreeSet;

/// Makes one claim (finding with its saving) about all outliers of a class of calls (`tail`), or, for stalled calls, one about each group
/// of them that stalled at the same time.
#[must_use]
pub(super) fn of_tail(cube: &Cube<'_>, tail: &Tail) -> Vec<Claim> {
    let on_targets = || cube.cells.iter().any(|cell| cell.leaf && !cell.targets.is_empty());
    let claim = match &tail.of {
        Common::First(first) => first_calls(cube, tail, first),
        Common::StandStill(still) => stands_still(cube, still),
        Common::EachFile(files) => on_nobody(cube, tail, Where::EachFile(*files)),
        Common::Unit(unit, far, calls) => at_times(cube, tail, (*unit, *far, *calls)),
        Common::Files(kind) => on_nobody(cube, tail, Where::Files(kind.clone())),
        Common::Nothing if on_targets() => on_nobody(cube, tail, Where::NoRankOrTarget),
        Common::Nothing if cube.run.ranks() == 0 => on_nobody(cube, tail, Where::NoProcess),
        Common::Nothing => on_nobody(cube, tail, Where::NoRank),
        Common::InARow(row) => return in_a_row(cube, tail, row).into_iter().collect(),
        Common::Stalls(groups) => {
            let of = |group: &Vec<u32>| {
                group.iter().filter_map(|index| Some((*index, cube.cells.get(*index as usize)?))).collect::<Vec<_>>()
            };
            return groups.iter().map(|group| stalled(cube, tail, &of(group))).collect();
        }
    };
    vec![claim]
}

/// Makes a claim (finding with its saving) about the outliers `tail`, which are the first call of a process or of a burst of calls.
fn first_calls(cube: &Cube<'_>, tail: &Tail, first: &FirstCalls) -> Claim {
    let (processes, of) = first.processes;
    let words = words::first_calls(&words::FirstCalls {
        classes: tail.classes(),
        processes,
        of,
        worker: cube.run.worker_name(),
        longest_ns: first.longest_ns,
        excess_ns: first.savings.iter().map(|(_, ns)| ns).sum::<f64>() as u64,
    });
    let found = Finding::new(Code::FIRST_CALLS, words.on(lost_on(cube, &first.savings)));
    if of.is_some() {
        return Claim::new(found, first.savings.clone());
    }
    Claim { at_most: Severity::Warn, ..Claim::new(found, tail.savings.clone()) }
}

/// Makes a claim (finding with its saving) about consecutive stalled calls, given as indices of cells (`row`): storage was slow for a
/// while, in which the program rarely made calls.
fn in_a_row(cube: &Cube<'_>, tail: &Tail, row: &[u32]) -> Option<Claim> {
    let stalls: Vec<&Cell> = row.iter().filter_map(|at| cube.cells.get(*at as usize)).collect();
    let span_ns = (span(stalls.first()?)?.0, span(stalls.last()?)?.1);
    let mean = |of: &dyn Fn(&Cell) -> f64| stalls.iter().map(|cell| of(cell)).sum::<f64>() / stalls.len() as f64;
    let (took, usual) = (mean(&|cell| cell.sums.longest_ns as f64), mean(&|cell| cell.usual_ns));
    let words = words::slow_moment_in_a_row(&words::InARow {
        class: tail.class,
        calls: stalls.len(),
        span_ns,
        times: took / usual.max(1.0),
        took_ns: took as u64,
        usual_ns: usual as u64,
        about: About { span_ns: Some(span_ns), calls: Some(stalls.len() as u64), ..About::default() },
    });
    let words = words.on(lost_on(cube, &tail.savings));
    Some(Claim::new(Finding::new(Code::SLOW_MOMENT, words), tail.savings.clone()))
}

/// Makes a claim (finding with its saving) about one stalled call, or about several (`group`: index and cell of each) that stalled at the
/// same time.
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

/// Makes a claim (finding with its saving) about outliers on no unit (rank, node, storage target) in particular; its sentence names the
/// longest outlier only as an example.
fn on_nobody(cube: &Cube<'_>, tail: &Tail, on: Where) -> Claim {
    // Without ranks that wait for each other, some of many calls take as long as a disk in any run: the first on a file, those that find no
    // data in memory.
    let is_short = tail.extra_ns < tail.far as f64 * cube.run.thresholds.slow_call_ns as f64;
    let on_any = matches!(on, Where::NoProcess | Where::NoRank | Where::NoRankOrTarget | Where::EachFile(_));
    let is_usual = cube.run.ranks() == 0 && on_any && is_short;
    let words = words::long_tail(&words::LongTail {
        classes: tail.classes(),
        outliers: tail.far,
        calls: tail.calls,
        on,
        excess_ns: tail.extra_ns as u64,
        longest: longest(cube, tail),
    });
    let found = Finding::new(Code::LONG_TAIL, words.on(lost_on(cube, &tail.savings))).with(facts(tail));
    let at_most = if is_usual { Severity::Info } else { Severity::High };
    Claim { at_most, ..Claim::new(found, tail.savings.clone()) }
}

/// Returns the fields of a finding about the outliers `tail`, which are on no process or node in particular.
fn facts(tail: &Tail) -> About {
    About {
        calls: Some(tail.far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(words::plural(&tail.classes())),
        ..About::default()
    }
}

/// Makes a claim (finding with its saving) about moments, repeated over the run, at which calls of most processes take far longer than
/// their peers.
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

/// Makes a claim (finding with its saving) about outliers that are nearly all on one process, node or storage target, `unit`, which has
/// `far` outliers among its `calls` calls.
fn at_times(cube: &Cube<'_>, tail: &Tail, (unit, far, calls): (Unit, u64, u64)) -> Claim {
    let code = match unit {
        Unit::Target(_) => Code::SLOW_TARGET,
        Unit::Node(_) => Code::SLOW_NODE,
        _ => Code::SLOW_RANK,
    };
    let either = similar(cube, unit, &[tail.class]).into_iter().map(|other| named(cube, other)).collect();
    let (unit, about) = named(cube, unit);
    let about = About {
        calls: Some(far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(tail.class.plural().to_owned()),
        ..about
    };
    let words = words::slow_at_times(&words::AtTimes {
        unit,
        either,
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

/// Adds claims (findings with their savings) about outliers of one process, node or storage target (`tails`) to the claim about that slow
/// process, node or target among `slow`, if there is one; returns the other `tails`.
#[must_use]
pub(super) fn joined_with_slow(slow: &mut [Claim], tails: Vec<Claim>) -> Vec<Claim> {
    let whose = |claim: &Claim| {
        let about = claim.finding.about.clone();
        let is = [Code::SLOW_RANK, Code::SLOW_NODE, Code::SLOW_TARGET].contains(&claim.finding.code);
        is.then_some((claim.finding.code, about.rank, about.node, about.ost))
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

/// Returns the longest call of a cell (calls of one process, time window, stream and size), for sentences, and as a finding's subject.
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
