//! Calls that are far from their like as findings: one that stalled, those of one process, those of most at once, those of nobody in particular.
//!
//! * [`tails`]: single calls, [`scattered`]: of several kinds; [`stalls_in_a_row`]: some after another; [`stand_still`]: those of most processes at once.
//! * [`first_calls`]: long calls that are the first of their process; [`once_each`]: one for each file.
//! * [`held_lock`]: waits for a lock that its holder keeps while a call of it stalls.

pub mod first_calls;
pub mod held_lock;
pub mod once_each;
pub mod scattered;
pub mod stalls_in_a_row;
pub mod stand_still;
pub mod tails;

use super::claim::{Claim, files, finding};
use super::class::Class;
use super::grid::kind_of_file::dearest;
use super::grid::{Entry, Grid};
use super::named::named;
use super::slow::unit::Unit;
use crate::findings::{About, Code, Evidence};
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::text::units as show;
use once_each::once_each;
use stand_still::{StandStill, TOGETHER};
use std::collections::BTreeSet;
use tails::Tail;

/// Tails, or their calls one by one.
#[must_use]
pub fn of_tails(grid: &Grid<'_>, tails: Vec<Tail>) -> Vec<Claim> {
    scattered::joined(grid, tails).iter().flat_map(|tail| of_tail(grid, tail)).collect()
}

fn of_tail(grid: &Grid<'_>, tail: &Tail) -> Vec<Claim> {
    let entry = |index: u32| grid.entries.get(index as usize);
    if let Some(claim) = first_calls::claim(grid, tail) {
        return vec![claim];
    }
    let is = |class: Class| tail.class == class || tail.also.contains(&class);
    let kind = dearest(grid, &tail.shortened, |entry| entry.leaf && is(entry.class));
    if let Some(still) = tail.at_once.as_ref().filter(|_| kind.is_none()) {
        return vec![stands_still(grid, still)];
    }
    if let Some(files) = once_each(grid, tail).filter(|_| kind.is_none()) {
        return vec![of_each_file(grid, tail, files)];
    }
    if tail.stalls.is_empty() {
        let Some(longest) = entry(tail.longest) else { return Vec::new() };
        if let Some(of) = tail.of {
            return vec![at_times(grid, tail, of)];
        }
        if kind.is_none() && tail.is_of_two_ways() {
            return Vec::new();
        }
        let on_targets = grid.entries.iter().any(|entry| entry.leaf && !entry.targets.is_empty());
        let of_whom = if on_targets { "rank or target" } else { "rank" };
        let title = format!(
            "{} of {} {} {}{}: {} excess, longest {}",
            show::count(tail.far),
            show::count(tail.calls),
            tail.plural(),
            show::agree(tail.far, "is a slow outlier", "are slow outliers"),
            kind.as_ref()
                .map_or_else(|| format!(" on no particular {of_whom}"), |kind| format!(", nearly all on {kind}")),
            show::duration(tail.extra_ns as u64),
            show::duration(longest.cell.longest_ns)
        );
        let hint = if kind.is_some() {
            "check where these files lie (another file system, a busy server) and how they differ: the same calls on other files are fast"
        } else {
            "make fewer, larger and collective calls: each rank waits for the slowest of all calls"
        };
        // On nobody in particular: the longest is an example, and accuses nobody.
        let evidence = [call(grid, longest).words().into()].into_iter().chain(files(grid, &tail.shortened)).collect();
        let found = finding(Code::LONG_TAIL, title, evidence, hint).with(facts(tail));
        return vec![Claim::new(found, tail.shortened.clone())];
    }
    if let Some(row) = stalls_in_a_row::claim(grid, tail) {
        return vec![row];
    }
    let stalls: Vec<(u32, &Entry)> = tail.stalls.iter().filter_map(|index| Some((*index, entry(*index)?))).collect();
    at_once(&stalls).iter().map(|group| stalled(grid, tail, group)).collect()
}

/// Stalls in groups, of which each is of calls at the same time that end together: what one waits for, the others wait for.
fn at_once<'g>(stalls: &[(u32, &'g Entry)]) -> Vec<Vec<(u32, &'g Entry)>> {
    let span = |entry: &Entry| Some((entry.cell.longest_began()?, entry.cell.longest_ns));
    let together = |one: &Entry, other: &Entry| {
        let (Some((mine, my_ns)), Some((theirs, their_ns))) = (span(one), span(other)) else { return false };
        let (my_end, their_end) = (mine.saturating_add(my_ns), theirs.saturating_add(their_ns));
        let within = (my_ns.max(their_ns) as f64 * TOGETHER) as u64;
        mine < their_end && theirs < my_end && my_end.abs_diff(their_end) <= within && mine.abs_diff(theirs) <= within
    };
    let mut groups: Vec<Vec<(u32, &Entry)>> = Vec::new();
    for &(index, entry) in stalls {
        match groups.iter_mut().find(|group| group.iter().all(|(_, other)| together(entry, other))) {
            Some(group) => group.push((index, entry)),
            None => groups.push(vec![(index, entry)]),
        }
    }
    groups
}

/// A call that stalled, or several at once, the longest first.
fn stalled(grid: &Grid<'_>, tail: &Tail, group: &[(u32, &Entry)]) -> Claim {
    let less = |entry: &Entry| (entry.cell.longest_ns as f64 - entry.usual_ns).max(0.0);
    let name = |entry: &Entry| grid.run.name_on(entry.process, entry.file);
    let longest = group.iter().map(|(_, entry)| *entry).max_by_key(|entry| entry.cell.longest_ns);
    let took = longest.map_or(0, |entry| entry.cell.longest_ns);
    let usual = show::duration(longest.map_or(0.0, |entry| entry.usual_ns) as u64);
    let first = group.iter().filter_map(|(_, entry)| entry.cell.longest_began()).min();
    let when = first.map_or_else(String::new, |at| format!(", {} after the job's start", show::moment(at)));
    let (took, class) = (show::duration(took), tail.class);
    let names: Vec<String> =
        group.iter().map(|(_, entry)| name(entry)).collect::<BTreeSet<String>>().into_iter().collect();
    let title = if group.len() == 1 {
        let (article, what) = (class.article(), class.singular());
        format!("one call stalled: {article} {what} of {} took {took}{when}; peers take {usual}", names.concat())
    } else {
        format!(
            "{} calls stalled at once: {} of {} took up to {took}{when}; peers take {usual}",
            group.len(),
            class.plural(),
            names.join(", ")
        )
    };
    let hint = "repeat the run to see whether the stall recurs before blaming its rank (a failover of a storage server \
                takes tens of seconds)";
    let waits = held_lock::waits(grid, group);
    let others: BTreeSet<ProcessId> =
        waits.iter().filter_map(|(index, _)| Some(grid.entries.get(*index as usize)?.process)).collect();
    let held = (!others.is_empty()).then(|| {
        let waited = waits.iter().map(|(_, ns)| ns).sum::<f64>() as u64;
        let words = format!(
            "{} waited for file locks during the stall, {} in total",
            show::counted(others.len() as u64, grid.run.worker_name()),
            show::duration(waited)
        );
        Evidence::from(words)
    });
    let evidence = group.iter().map(|(_, entry)| call(grid, entry)).chain(held).collect();
    let shortened = group.iter().map(|(index, entry)| (*index, less(entry))).chain(waits).collect();
    let mut found = finding(Code::STALL, title, evidence, hint);
    found.about.operation = Some(class.plural().to_owned());
    Claim::new(found, shortened)
}

/// One long call for each file.
fn of_each_file(grid: &Grid<'_>, tail: &Tail, count: u64) -> Claim {
    let title = format!(
        "one {} on each of {} is a slow outlier: {} excess in total",
        tail.class.singular(),
        show::counted(count, "file"),
        show::duration(tail.extra_ns as u64)
    );
    let hint = "stage files before the job, or read ahead: the first call on a file may fetch it from slower storage (tape, an object store, a cold \
                cache)";
    let longest = grid.entries.get(tail.longest as usize).map(|entry| call(grid, entry).words().into());
    let evidence = longest.into_iter().chain(files(grid, &tail.shortened)).collect();
    Claim::new(finding(Code::LONG_TAIL, title, evidence, hint).with(facts(tail)), tail.shortened.clone())
}

/// Facts of a tail on no process or node in particular.
fn facts(tail: &Tail) -> About {
    About {
        calls: Some(tail.far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(tail.plural()),
        ..About::default()
    }
}

/// Long calls of most processes at the same time, again and again.
fn stands_still(grid: &Grid<'_>, still: &StandStill) -> Claim {
    let lengths: Vec<u64> = still.spans.iter().map(|(from, until)| until - from).collect();
    let mean = lengths.iter().copied().sum::<Sum>().get() / lengths.len().max(1) as u64;
    let (class, times) = (still.class.plural(), show::count(still.spans.len() as u64));
    let often = match still.every_ns {
        Some(every) => format!("every {}, {times} times", show::duration(every)),
        None if still.spans.len() == 1 => "once".to_owned(),
        None => format!("{times} times"),
    };
    let each = if still.spans.len() == 1 { "" } else { " each time" };
    let title = format!(
        "storage is slow {often}: {class} of most {} are outliers at the same time, for {}{each}",
        grid.run.workers_name(),
        show::duration(mean)
    );
    let span = |(from, until): &(u64, u64)| {
        let words = format!("from {} to {}", show::moment(*from), show::moment(*until));
        Evidence::of(words, About { span_ns: Some((*from, *until)), ..About::default() })
    };
    let about = About {
        calls: Some(still.far),
        time_ns: Some(still.extra_ns as u64),
        operation: Some(class.to_owned()),
        ..About::default()
    };
    let words = format!(
        "{}, {} excess summed over processes",
        still.class.counted(still.far),
        show::duration(still.extra_ns as u64)
    );
    let evidence = std::iter::once(Evidence::of(words, about))
        .chain(still.spans.iter().take(crate::limits::NAMED_EXAMPLES).map(span))
        .chain(files(grid, &still.shortened))
        .collect();
    let hint = "check what happens at these times: another job's checkpoints, a server that flushes its cache or fails over, or this program's own \
                work (the first calls of a step)";
    Claim::new(finding(Code::SLOW_MOMENT, title, evidence, hint), still.shortened.clone())
}

/// Long calls that are all but all one process's or one node's.
fn at_times(grid: &Grid<'_>, tail: &Tail, (unit, far, calls): (Unit, u64, u64)) -> Claim {
    let (name, _, about) = named(grid, unit);
    let title = format!(
        "{name} is slow at times: {} of its {} {}, {} excess in total",
        show::count(far),
        tail.class.counted(calls),
        show::agree(far, "is a slow outlier", "are slow outliers"),
        show::duration(tail.extra_ns as u64)
    );
    let hint = "swap hosts to see whether the rank or the host stays slow; check other load on the host at these times, and the offsets and files of the slow calls";
    let about = About {
        calls: Some(far),
        time_ns: Some(tail.extra_ns as u64),
        operation: Some(tail.class.plural().to_owned()),
        ..about
    };
    let words = format!(
        "{} of all {} outlier {} {} to {name}",
        show::count(far),
        show::count(tail.far),
        tail.class.agree(tail.far),
        show::agree(far, "belongs", "belong")
    );
    let longest = grid.entries.get(tail.longest as usize).map(|entry| call(grid, entry).words().into());
    let evidence =
        std::iter::once(Evidence::of(words, about)).chain(longest).chain(files(grid, &tail.shortened)).collect();
    let code = if matches!(unit, Unit::Node(_)) { Code::SLOW_NODE } else { Code::SLOW_RANK };
    Claim::new(finding(code, title, evidence, hint), tail.shortened.clone())
}

/// Takes what is said of long calls of a process or node that is slow anyway into what is said of that.
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
        same.shortened.extend(tail.shortened.iter().copied());
        same.finding.evidence.push(Evidence::from(tail.finding.title.to_string()));
        false
    };
    tails.into_iter().filter(&mut apart).collect()
}

/// The longest call of an entry.
fn call(grid: &Grid<'_>, entry: &Entry) -> Evidence {
    let run = grid.run;
    let file = run.file_name(entry.file).to_owned();
    let process = run.process(entry.process);
    let op = grid.stream(entry).map(|stream| run.op(stream).name.clone()).unwrap_or_default();
    let began = entry.cell.longest_began();
    let words = format!(
        "{op} of {} on {file}: {}{}",
        run.name_on(entry.process, entry.file),
        show::duration(entry.cell.longest_ns),
        began.map_or_else(|| ", start not recorded".to_owned(), |at| format!(" at {}", show::moment(at)))
    );
    let about = About {
        rank: process.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: process.map(|process| run.node(process).to_owned()),
        file: Some(file),
        span_ns: began.map(|at| (at, at.saturating_add(entry.cell.longest_ns))),
        time_ns: Some(entry.cell.longest_ns),
        ..About::default()
    };
    Evidence::of(words, about)
}
