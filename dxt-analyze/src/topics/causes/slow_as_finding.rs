//! What is said of a slow unit.

use super::claim::{Claim, files, finding};
use super::class::Class;
use super::grid::{Entry, Grid};
use super::named::named;
use super::shape::uneven::several;
use super::slow::Slow;
use super::slow::load::{Loads, OVERLOADED};
use super::slow::odd::Odd;
use super::slow::unit::Unit;
use super::sole_user::{SoleUser, sole_user};
use crate::findings::{About, Code, Evidence};
use crate::model::{ProcessId, Run};
use crate::text::units as show;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Part of what slow metadata calls cost from which one operation is named.
const ONE_OPERATION: f64 = 0.8;

/// Units that are listed one by one.
const LISTED: usize = 3;

/// As a finding, with the calls that it explains.
pub(super) fn of_unit(grid: &Grid<'_>, slow: &Slow) -> Claim {
    let run = grid.run;
    let (mut name, others, mut about) = named(grid, slow.unit);
    let are = if slow.more.is_empty() && !matches!(slow.unit, Unit::Folder(_)) { "is" } else { "are" };
    let it = if slow.more.is_empty() { "" } else { " each" };
    match ranks(run, slow) {
        Some(all) if slow.more.len() >= LISTED => name = format!("ranks {all}"),
        _ => slow.more.iter().for_each(|unit| name.push_str(&format!(", {}", named(grid, *unit).0))),
    }
    let either = alike(grid, slow);
    if !either.is_empty() {
        let all: Vec<String> = either.iter().map(|target| named(grid, Unit::Target(*target)).0).collect();
        name = match all.as_slice() {
            [other] => format!("{name} or {other} (the same requests reach both)"),
            _ => format!("one of {name}, {} (the same requests reach all of them)", all.join(", ")),
        };
    }
    let user = sole_user(grid, slow);
    let mut by = slow.by.clone();
    by.sort_by_key(|(class, odd, ..)| {
        (Reverse((time_of(grid, slow, *class) * 1e-3) as u64), Reverse((odd.above * 1e6) as i64))
    });
    let times = |odd: &Odd| format!("{:.1}", odd.above.exp());
    let at_most = |odd: &Odd| show::times(odd.above.exp());
    let first =
        by.first().map(|(class, odd, ..)| format!("{} take {} times", calls_of(grid, slow, *class), at_most(odd)));
    let first = match slow.unit {
        Unit::Moment(..) if by.len() > 1 => {
            let mut names: Vec<String> = by.iter().map(|(class, ..)| calls_of(grid, slow, *class)).collect();
            let last = names.pop().unwrap_or_default();
            let most = by.iter().map(|(_, odd, ..)| odd).max_by(|a, b| a.above.total_cmp(&b.above));
            let most = most.map(at_most).unwrap_or_default();
            format!("{} and {last} take up to {most} times", names.join(", "))
        }
        _ => first.unwrap_or_default(),
    };
    let asked = asked(grid, slow);
    let (code, title, hint) = match (slow.unit, &user) {
        (_, Some(SoleUser::Theirs(theirs))) => {
            let (who, others, of_first) = users(grid, theirs);
            let on = if slow.more.is_empty() { name.clone() } else { "files used by no other process".to_owned() };
            let are = if theirs.len() > 1 { "are" } else { "is" };
            about = About { file: about.file, ..of_first };
            (
                Code::SLOW_RANK,
                format!("{who} {are} slow on {on}: {first} as long as those of {others} elsewhere"),
                "swap hosts to see whether the rank or the host stays slow; compare the rank's offsets and files with other ranks', and check other load on its host; check where the \
                 rank's file lies (`lfs getstripe`), which no other process uses",
            )
        }
        (_, Some(SoleUser::EitherOnTarget(process, target))) => {
            let ((who, _, of_first), (target_name, _, of_target)) =
                (users(grid, &[*process]), named(grid, Unit::Target(*target)));
            about = About { ost: of_target.ost, ..of_first };
            let code = if matches!(slow.unit, Unit::Target(_)) { Code::SLOW_TARGET } else { Code::SLOW_RANK };
            (
                code,
                format!(
                    "{who} or {target_name} is slow (no other process uses this OST): {first} as long as for {others}"
                ),
                "test the rank on another OST (`lfs setstripe -o` for its file) and the OST with another rank, then have the host of the slow one checked",
            )
        }
        (_, Some(SoleUser::Either(process))) => {
            let (who, _, of_first) = users(grid, &[*process]);
            about = About { file: about.file, ..of_first };
            (
                Code::SLOW_FILE,
                format!(
                    "{who} or its {name} is slow (no other process uses this file): {first} as long as on {others}"
                ),
                "check where the file lies (another file system, a busy target) and other load on the rank's host: the same calls on other files are faster",
            )
        }
        (Unit::Moment(..), None) if slow.grows => (
            Code::SLOW_MOMENT,
            format!("{first} as long {name} as before and get slower over time{}", most(grid)),
            "look for something that grows during the run (a file, a folder, a searched list, a cache that fills up), and check whether a restart makes calls fast again",
        ),
        (Unit::Moment(..), None) => (
            Code::SLOW_MOMENT,
            format!("{first} as long {name} as {others}{}", most(grid)),
            "check what else used the file system or the network at that time, and repeat the run before changing the program",
        ),
        (Unit::Process(_), None) => (
            Code::SLOW_RANK,
            format!("{name} {are} slow: {first} as long as those of {others}"),
            "swap hosts to see whether the rank or the host stays slow; compare the rank's offsets and files with other ranks', and check other load on its host",
        ),
        (Unit::Node(_), None) => (
            Code::SLOW_NODE,
            format!("{name} {are} slow: {first} as long as those of {others}"),
            "have the node checked (network link, file system client, other processes), or exclude the node from the next job",
        ),
        (Unit::File(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as on {others}"),
            "check where the file lies (another file system, a busy target) and how it is accessed (order, alignment, locks): the same calls on other files \
             are faster",
        ),
        (Unit::Folder(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as on {others}"),
            "check which storage these files lie on (another file system, a pool, `lfs getstripe -d`) and how they are used: the same calls on other files are faster",
        ),
        (Unit::Region(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as on {others}"),
            "check which storage these bytes lie on (`lfs getstripe`, a separate component, a degraded device), and whether other ranks lock these bytes",
        ),
        (Unit::Target(_), None) if asked >= OVERLOADED => (
            Code::SLOW_TARGET,
            format!("{name} {are} overloaded: {asked:.1} times the load of {others}{it}, and {first} as long"),
            "spread files evenly before writing them: `lfs setstripe -i -1` (any OST first) or more stripes (`-c`) for their folder",
        ),
        (Unit::Target(_), None) => (
            Code::SLOW_TARGET,
            format!("{name} {are} slow: {first} as long as on {others}"),
            "place files on other OSTs with `lfs setstripe -o` or `lfs migrate`, and report the slow OST to the file system's administrators",
        ),
    };
    let mut evidence = Vec::new();
    for (class, odd, among, calls) in &by {
        let words = format!(
            "{}: {} times as long as peers, {}, modified z-score {:.1}, {}, {} units compared",
            class.plural(),
            times(odd),
            show::counted(*calls, "call"),
            odd.score,
            probability(odd.p),
            among
        );
        about.calls = Some(about.calls.unwrap_or(0).saturating_add(*calls));
        evidence.push(words);
    }
    about.operation = by.first().map(|(class, ..)| class.plural().to_owned());
    let mut evidence: Vec<Evidence> = evidence.into_iter().map(Evidence::from).collect();
    if let Some(first) = evidence.first_mut() {
        *first = Evidence::of(first.words().to_owned(), about);
    }
    for unit in slow.more.iter().take(crate::limits::NAMED_EXAMPLES) {
        let (name, _, about) = named(grid, *unit);
        evidence.push(Evidence::of(format!("also slow: {name}"), about));
    }
    for target in either {
        let (name, _, about) = named(grid, Unit::Target(target));
        evidence.push(Evidence::of(format!("{name} cannot be distinguished: the same requests reach it"), about));
    }
    evidence.extend(files(grid, &slow.shortened));
    let is_load = matches!(slow.unit, Unit::Target(_)) && asked >= OVERLOADED;
    Claim { is_load, ..Claim::new(finding(code, title, evidence, hint), slow.shortened.clone()) }
}

/// The names of processes, what others of their sort are, and what the first is in a form for programs.
fn users(grid: &Grid<'_>, theirs: &[ProcessId]) -> (String, &'static str, About) {
    let first = theirs.first().copied().unwrap_or(ProcessId::NONE);
    let (name, others, about) = named(grid, Unit::Process(first));
    match several(grid, theirs) {
        Some(names) => (names, others, about),
        None if theirs.len() > 1 => (show::counted(theirs.len() as u64, "process"), others, about),
        None => (name, others, about),
    }
}

/// Times what is asked of other targets, at least, if they are targets.
pub(super) fn asked(grid: &Grid<'_>, slow: &Slow) -> f64 {
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    let loads = Loads::of(grid, &classes);
    let of = |unit: &Unit| match unit {
        Unit::Target(target) => loads.asked(*target),
        _ => 0.0,
    };
    slow.more.iter().chain([&slow.unit]).map(of).fold(f64::INFINITY, f64::min)
}

/// Targets that just the same calls reach as the slow one: each may be the slow one.
fn alike(grid: &Grid<'_>, slow: &Slow) -> Vec<u32> {
    let Unit::Target(target) = slow.unit else { return Vec::new() };
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    let is = |entry: &&Entry| entry.leaf && classes.contains(&entry.class) && !entry.targets.is_empty();
    let theirs = || grid.entries.iter().filter(is);
    let mut with: Option<BTreeSet<u32>> = None;
    for entry in theirs().filter(|entry| entry.targets.contains(&target)) {
        let here: BTreeSet<u32> = entry.targets.iter().copied().collect();
        with = Some(with.map_or(here.clone(), |with| with.intersection(&here).copied().collect()));
    }
    let mut with = with.unwrap_or_default();
    with.remove(&target);
    for entry in theirs().filter(|entry| !entry.targets.contains(&target)) {
        entry.targets.iter().for_each(|other| {
            with.remove(other);
        });
    }
    with.retain(|other| !slow.more.contains(&Unit::Target(*other)));
    with.into_iter().collect()
}

/// What the slow calls of a class are called: of metadata calls the operation, if it is one.
fn calls_of(grid: &Grid<'_>, slow: &Slow, class: Class) -> String {
    let mut by: BTreeMap<&str, f64> = BTreeMap::new();
    for (index, ns) in &slow.shortened {
        let entry = grid.entries.get(*index as usize).filter(|entry| entry.class == class);
        if let Some(stream) = entry.and_then(|entry| grid.stream(entry)) {
            *by.entry(grid.run.op(stream).name.as_str()).or_default() += ns;
        }
    }
    let all: f64 = by.values().sum();
    match by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((name, ns)) if class == Class::Metadata && ns >= all * ONE_OPERATION => {
            if name == "close" {
                "closes".to_owned()
            } else {
                format!("{name} calls")
            }
        }
        _ => class.plural().to_owned(),
    }
}

/// Where, of a moment.
fn most(grid: &Grid<'_>) -> String {
    let several = grid.run.processes.len() > 1;
    if several { format!(", on most {}", grid.run.workers_name()) } else { String::new() }
}

/// The ranks that are slow, as ranges, if they are ranks.
fn ranks(run: &Run, slow: &Slow) -> Option<String> {
    let rank = |unit: &Unit| match unit {
        Unit::Process(process) => u64::try_from(run.process(*process)?.rank).ok(),
        _ => None,
    };
    let mut all: Vec<u64> = std::iter::once(&slow.unit).chain(&slow.more).map(rank).collect::<Option<_>>()?;
    all.sort_unstable();
    Some(show::ranges(&all))
}

/// `p-value 3e-5`; below what numbers can tell, that it is less.
fn probability(p: f64) -> String {
    if p < 1e-300 { "p-value < 1e-300".into() } else { format!("p-value {p:.0e}") }
}

fn time_of(grid: &Grid<'_>, slow: &Slow, class: Class) -> f64 {
    let of = |index: &u32| grid.entries.get(*index as usize).is_some_and(|entry| entry.class == class);
    slow.shortened.iter().filter(|(index, _)| of(index)).map(|(_, ns)| ns).sum()
}
