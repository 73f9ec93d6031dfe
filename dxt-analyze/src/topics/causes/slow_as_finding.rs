//! Findings about slow units (ranks, nodes, storage targets, time windows, files).

use super::claim::{Claim, lost_on};
use super::named::named;
use super::sole_user::{self, sole_user};
use crate::cube::{Cell, Cube};
use crate::effects::queue::Loads;
use crate::effects::unit::Unit;
use crate::effects::{By, Effect};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, ProcessId, Run};
use crate::words::units::{self as words, SlowCalls, SlowUnit, SoleUser, Subject, Users};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Makes a finding of a slow unit (rank, node, target, time window or file), with the calls that it explains.
pub(super) fn of_unit(cube: &Cube<'_>, slow: &Effect) -> Claim {
    let run = cube.run;
    let (unit, mut about) = named(cube, slow.unit);
    let mut by = slow.by.clone();
    by.sort_by_key(|(class, odd, ..)| {
        (Reverse((time_of(cube, slow, *class) * 1e-3) as u64), Reverse((odd.above * 1e6) as i64))
    });
    let sole_user = sole_user(cube, slow).map(|user| {
        let (user, of_user) = of_user(cube, user);
        let ost = if let SoleUser::EitherOnTarget(_, Subject::Target(ost)) = user { Some(ost) } else { None };
        about = About { ost, file: about.file.take().filter(|_| ost.is_none()), ..of_user };
        user
    });
    for (.., calls) in &by {
        about.calls = Some(about.calls.unwrap_or(0).saturating_add(*calls));
    }
    about.operation = by.first().map(|(class, ..)| class.plural().to_owned());
    let name = |unit: Unit| named(cube, unit);
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    let slow_units = || std::iter::once(&slow.unit).chain(&slow.more);
    let process = |unit: &Unit| if let Unit::Process(process) = unit { Some(*process) } else { None };
    let processes = slow_units().map(process).collect::<Option<Vec<ProcessId>>>();
    let load = Some(asked(cube, slow))
        .filter(|asked| matches!(slow.unit, Unit::Target(_)) && *asked >= cube.run.thresholds.double_ratio);
    let facts = SlowUnit {
        unit,
        about,
        more: slow.more.iter().copied().map(name).collect(),
        ranks: processes.and_then(|processes| ranks(run, &processes)),
        either: similar(cube, slow.unit, &classes)
            .into_iter()
            .filter(|other| !slow.more.contains(other))
            .map(name)
            .collect(),
        calls: by.iter().map(|of| of_class(cube, slow, of)).collect(),
        sole_user,
        load,
        grows: slow.grows,
        workers: Some(run.workers_name()).filter(|_| run.processes.len() > 1),
    };
    let (code, words) = match slow.unit {
        _ if matches!(facts.sole_user, Some(SoleUser::Theirs(_) | SoleUser::EitherOnTarget(..))) => {
            (Code::SLOW_RANK, words::slow_rank(&facts))
        }
        Unit::Moment(..) => (Code::SLOW_MOMENT, words::slow_moment(&facts)),
        Unit::Process(_) => (Code::SLOW_RANK, words::slow_rank(&facts)),
        Unit::Node(_) => (Code::SLOW_NODE, words::slow_node(&facts)),
        Unit::Target(_) => (Code::SLOW_TARGET, words::slow_target(&facts)),
        Unit::File(_) | Unit::Folder(_) | Unit::Region(_) => (Code::SLOW_FILE, words::slow_file(&facts)),
    };
    let words = words.on(lost_on(cube, &slow.savings));
    Claim::new(Finding::new(code, words), slow.savings.clone())
}

/// Returns by how much a class of calls of the slow unit (rank, node, target, ...) is slower than its peers.
fn of_class(cube: &Cube<'_>, slow: &Effect, (class, odd, among, calls): &By) -> SlowCalls {
    let times = odd.above.exp();
    let (score, p) = (odd.score, odd.p);
    SlowCalls { class: *class, op: operation(cube, slow, *class), times, calls: *calls, score, p, among: *among }
}

/// Returns the sole users of a slow file or storage target for the sentence, and the first of them as fields of the finding.
fn of_user(cube: &Cube<'_>, user: sole_user::SoleUser) -> (SoleUser, About) {
    let users = |theirs: &[ProcessId]| {
        let (first, about) = named(cube, Unit::Process(theirs.first().copied().unwrap_or(ProcessId::NONE)));
        (Users { first, processes: theirs.len() as u64, ranks: ranks(cube.run, theirs) }, about)
    };
    match user {
        sole_user::SoleUser::Theirs(theirs) => {
            let (users, about) = users(&theirs);
            (SoleUser::Theirs(users), about)
        }
        sole_user::SoleUser::Either(process) => {
            let (user, about) = users(&[process]);
            (SoleUser::Either(user), about)
        }
        sole_user::SoleUser::EitherOnTarget(process, target) => {
            let (user, about) = users(&[process]);
            (SoleUser::EitherOnTarget(user, named(cube, Unit::Target(target)).0), about)
        }
    }
}

/// Returns the smallest load of the slow storage targets, as a multiple of the median of the other targets; 0 if the slow unit is no
/// target.
pub(super) fn asked(cube: &Cube<'_>, slow: &Effect) -> f64 {
    let classes: Vec<Class> = slow.by.iter().map(|(class, ..)| *class).collect();
    let loads = Loads::of(cube, &classes);
    let of = |unit: &Unit| match unit {
        Unit::Target(target) => loads.asked(*target),
        _ => 0.0,
    };
    slow.more.iter().chain([&slow.unit]).map(of).fold(f64::INFINITY, f64::min)
}

/// Returns the storage targets that cannot be distinguished from the target `slow`: each call of `classes` reaches both or neither, so that
/// either may be the slow one.
pub(super) fn similar(cube: &Cube<'_>, slow: Unit, classes: &[Class]) -> Vec<Unit> {
    let Unit::Target(target) = slow else { return Vec::new() };
    let is = |cell: &&Cell| cell.leaf && classes.contains(&cell.class) && !cell.targets.is_empty();
    let theirs = || cube.cells.iter().filter(is);
    let mut with: Option<BTreeSet<u32>> = None;
    for cell in theirs().filter(|cell| cell.targets.contains(&target)) {
        let here: BTreeSet<u32> = cell.targets.iter().copied().collect();
        with = Some(with.map_or(here.clone(), |with| with.intersection(&here).copied().collect()));
    }
    let mut with = with.unwrap_or_default();
    with.remove(&target);
    for cell in theirs().filter(|cell| !cell.targets.contains(&target)) {
        cell.targets.iter().for_each(|other| {
            with.remove(other);
        });
    }
    with.into_iter().map(Unit::Target).collect()
}

/// Returns the operation of nearly all slow calls of a class (reads, opens, ...); `None` if they are of several operations, or no metadata
/// calls.
fn operation(cube: &Cube<'_>, slow: &Effect, class: Class) -> Option<String> {
    let mut by: BTreeMap<&str, f64> = BTreeMap::new();
    for (index, ns) in &slow.savings {
        let cell = cube.cells.get(*index as usize).filter(|cell| cell.class == class);
        if let Some(stream) = cell.and_then(|cell| cube.stream(cell)) {
            *by.entry(cube.run.op(stream).name.as_str()).or_default() += ns;
        }
    }
    let all: f64 = by.values().sum();
    let (name, ns) = by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (class == Class::Metadata && ns >= all * cube.run.thresholds.most_share).then(|| name.to_owned())
}

/// Returns the ranks of processes, ascending; `None` if any of them has no rank.
fn ranks(run: &Run, processes: &[ProcessId]) -> Option<Vec<u64>> {
    let rank = |process: &ProcessId| u64::try_from(run.process(*process)?.rank).ok();
    let mut all: Vec<u64> = processes.iter().map(rank).collect::<Option<_>>()?;
    all.sort_unstable();
    Some(all)
}

fn time_of(cube: &Cube<'_>, slow: &Effect, class: Class) -> f64 {
    let of = |index: &u32| cube.cells.get(*index as usize).is_some_and(|cell| cell.class == class);
    slow.savings.iter().filter(|(index, _)| of(index)).map(|(_, ns)| ns).sum()
}
