//! Slow units and single calls as findings, with what they cost the job.

use super::claim::{Claim, files, finding};
use super::class::Class;
use super::grid::{Entry, Grid};
use super::long_calls::tails::tails;
use super::long_calls::{joined_with_slow, of_tails};
use super::named::named;
use super::reading::phases::Gaps;
use super::replay::{Shortened, Work, saved_alone};
use super::shape::aliasing::Aliased;
use super::shape::shared_block::joins;
use super::shape::uneven::several;
use super::slow::at_once::AtOnce;
use super::slow::load::{Loads, OVERLOADED};
use super::slow::odd::Odd;
use super::slow::unit::Unit;
use super::slow::{Slow, slow_units};
use super::sole_user::{SoleUser, sole_user};
use crate::findings::{About, Code, Evidence, Explains, Saving, Severity};
use crate::model::{ProcessId, Run};
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::text::units as show;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What the job would save if calls were shortened.
#[must_use]
pub fn saving(grid: &Grid<'_>, phases: &Work, slots: &Work, shortened: &[(u32, f64)], waiting_ns: f64) -> Saving {
    let counts = |(index, _): &&(u32, f64)| {
        grid.entries.get(*index as usize).is_none_or(|entry| !grid.has_time_left(entry.process))
    };
    let counted: Shortened = shortened.iter().filter(counts).copied().collect();
    let (low, high) = (phases.saved(grid, &counted), slots.saved(grid, &counted));
    let alone = grid.last_alone.filter(|_| !grid.slots.ranks_met).map_or(0.0, |last| saved_alone(grid, last, &counted));
    let low = low.max(alone);
    // No more than there is: calls that begin in one slot may end in the next, so that slots can add up to more.
    let most = (phases.critical() + waiting_ns).min(super::reading::phases::length(grid.run) as f64);
    let (low, high) = ((low + waiting_ns).min(most) as u64, (high.max(low) + waiting_ns).min(most) as u64);
    let time: f64 = shortened.iter().map(|(_, ns)| ns).sum();
    // Where ranks are known to have met, there is no doubt.
    let range = !grid.slots.ranks_met && high as f64 > low as f64 * 1.1;
    Saving {
        // Between the bounds: their geometric mean, which is off by the same factor from both.
        saves_ns: if range { (low.max(1) as f64 * high as f64).sqrt() as u64 } else { low },
        saves_low_ns: range.then_some(low),
        saves_high_ns: range.then_some(high),
        explains: explained(grid, time, 0.0),
    }
}

/// `ns` of calls into the kernel and `outside_ns` of libraries besides: as a share of all time in the former, or in all that the program calls.
fn explained(grid: &Grid<'_>, ns: f64, outside_ns: f64) -> Explains {
    let time = |counts: &dyn Fn(&&Entry) -> bool| {
        grid.entries.iter().filter(counts).map(|entry| entry.cell.time_ns).sum::<Sum>().get()
    };
    let leaves = time(&|entry| entry.leaf);
    let all = if outside_ns > 0.0 { leaves.max(time(&|entry| !entry.inside)) } else { leaves };
    let ns = (ns + outside_ns) as u64;
    Explains { time_ns: ns, millionths: (share(ns, all) * 1e6).round() as u64 }
}

/// What is slow in `grid`, and what else costs the job time, the most costly first.
#[must_use]
pub fn claims<'a>(mut grid: Grid<'a>, gaps: &[Gaps], aliased: &[Aliased]) -> (Grid<'a>, Vec<Claim>) {
    let (phases, slots) = (Work::of(&grid, false), Work::of(&grid, true));
    let slow = together(slow_units(&mut grid), &grid, &phases);
    let (busy, slow): (Vec<Slow>, Vec<Slow>) = slow.into_iter().partition(|slow| asked(&grid, slow) >= OVERLOADED);
    let mut out: Vec<Claim> = slow.iter().map(|slow| within_busy(&grid, &phases, slow, of_unit(&grid, slow))).collect();
    let of_long_calls = of_tails(&grid, tails(&grid));
    let of_long_calls = joined_with_slow(&mut out, of_long_calls);
    out.extend(of_long_calls);
    for entry in &mut grid.entries {
        entry.left_ns = entry.cell.time_ns as f64;
    }
    let mut shapes = super::shape::claims(&grid, gaps);
    // What many read of one block keeps its target busy.
    for slow in busy {
        let blocks = shapes.iter_mut().filter(|claim| claim.finding.code == Code::COMMON_READS);
        if !joins(blocks.map(|claim| &mut claim.shortened), &slow.shortened) {
            out.push(of_unit(&grid, &slow));
        }
    }
    let shapes = without_beyond(shapes, &out);
    out.extend(shapes);
    out.extend(super::shape::hdf5_metadata::claims(&grid));
    out.extend(super::shape::aliasing::claims(&grid, aliased));
    out.par_iter_mut().for_each(|claim| price(&grid, &phases, &slots, claim));
    out.sort_by_key(|claim| (Reverse(claim.finding.saving.map(|saving| saving.saves_ns)), claim.finding.title.clone()));
    out.retain(|claim| claim.finding.saving.is_some_and(|saving| saving.saves_ns > 0));
    (grid, out)
}

/// Fewer syncs meet fewer long ones, but that some take far longer than others is a matter of its own: what `contrasts` explain is none of theirs.
fn without_beyond(mut shapes: Vec<Claim>, contrasts: &[Claim]) -> Vec<Claim> {
    let mut beyond: BTreeMap<u32, f64> = BTreeMap::new();
    for (index, ns) in contrasts.iter().flat_map(|claim| &claim.shortened) {
        *beyond.entry(*index).or_default() += ns;
    }
    let of_syncs = |claim: &&mut Claim| {
        [Code::SYNC_PER_WRITE, Code::SYNC_TIME, Code::WRITTEN_THROUGH, Code::METADATA_SHARE]
            .contains(&claim.finding.code)
    };
    for (index, ns) in shapes.iter_mut().filter(of_syncs).flat_map(|claim| &mut claim.shortened) {
        *ns = (*ns - beyond.get(index).copied().unwrap_or_default()).max(0.0);
    }
    shapes
}

/// Sets what a claim's finding saves, and how severe it is by that.
pub fn price(grid: &Grid<'_>, phases: &Work, slots: &Work, claim: &mut Claim) {
    let mut saving = saving(grid, phases, slots, &claim.shortened, claim.waiting_ns);
    if claim.outside_ns > 0.0 {
        saving.explains = explained(grid, saving.explains.time_ns as f64, claim.outside_ns);
    }
    if let Some((low, high)) = claim.range {
        let of = |part: f64| (saving.saves_ns as f64 * part) as u64;
        (saving.saves_low_ns, saving.saves_high_ns) = (Some(of(low)), Some(of(high)));
    }
    claim.finding.cost_ns = Some(saving.explains.time_ns);
    let run_ns = super::reading::phases::length(grid.run);
    claim.finding.severity = Severity::of_saving(saving.saves_ns, run_ns, &grid.run.thresholds).min(claim.at_most);
    claim.finding.saving = Some(saving);
}

/// Of several units of a sort that save more together than each by itself, since all wait for the other, one finding.
fn together(slow: Vec<Slow>, grid: &Grid<'_>, phases: &Work) -> Vec<Slow> {
    let mut out: Vec<Slow> = Vec::new();
    let a_group: BTreeSet<Unit> = slow.iter().filter(|slow| !slow.more.is_empty()).map(|slow| slow.unit).collect();
    for one in slow {
        // What takes longer at the same time has one reason, whatever the calls are.
        if let Some(moment) = out.iter_mut().find(|other| is_same_moment(other, &one)) {
            join_moment(moment, one);
            continue;
        }
        let like = |other: &Slow| {
            matches!(
                (&other.unit, &one.unit),
                (Unit::Target(_), Unit::Target(_))
                    | (Unit::Node(_), Unit::Node(_))
                    | (Unit::Process(_), Unit::Process(_))
                    | (Unit::Folder(_), Unit::Folder(_))
                    | (Unit::File(_), Unit::File(_))
            )
        };
        match out.iter_mut().find(|other| like(other)) {
            Some(first) if one.time_ns() > first.time_ns() * LIKE_THE_FIRST => {
                let both: Shortened = first.shortened.iter().chain(&one.shortened).copied().collect();
                let (mine, theirs) = (phases.saved(grid, &first.shortened), phases.saved(grid, &one.shortened));
                if phases.saved(grid, &both) > (mine + theirs) * MORE_TOGETHER || as_slow(first, &one) {
                    first.more.push(one.unit);
                    first.shortened = both;
                } else {
                    out.push(one);
                }
            }
            _ => out.push(one),
        }
    }
    // Most ranks are no slow ones, unless all of these stand off from the others.
    let few = |slow: &Slow| (slow.more.len() + 1) * 2 <= grid.run.processes.len();
    out.retain(|slow| !matches!(slow.unit, Unit::Process(_)) || a_group.contains(&slow.unit) || few(slow));
    out
}

/// Part of the shorter of two moments that is in the longer, for both to be one.
const SAME_MOMENT: f64 = 0.5;

/// Whether two are of different calls at about the same time.
fn is_same_moment(one: &Slow, other: &Slow) -> bool {
    let (Unit::Moment(from, until), Unit::Moment(since, to)) = (one.unit, other.unit) else { return false };
    let both = f64::from((until.min(to) + 1).saturating_sub(from.max(since)));
    let shorter = f64::from((until - from).min(to - since) + 1);
    let other_calls = other.by.iter().all(|(class, ..)| one.by.iter().all(|(mine, ..)| mine != class));
    other_calls && one.grows == other.grows && both >= shorter * SAME_MOMENT
}

fn join_moment(into: &mut Slow, other: Slow) {
    if let (Unit::Moment(from, until), Unit::Moment(since, to)) = (into.unit, other.unit) {
        into.unit = Unit::Moment(from.min(since), until.max(to));
    }
    into.by.extend(other.by);
    into.shortened.extend(other.shortened);
}

/// Times that one file or target is slower than another at most, for both to be slow for the same reason.
const AS_SLOW: f64 = 1.5;

/// Whether two files or targets are slow in the same way: nothing else tells what is wrong with either.
fn as_slow(one: &Slow, other: &Slow) -> bool {
    let first = |slow: &Slow| slow.by.first().map(|(class, odd, ..)| (*class, odd.above));
    let has_no_more = matches!(one.unit, Unit::File(_) | Unit::Target(_));
    let (true, Some(mine), Some(theirs)) = (has_no_more, first(one), first(other)) else { return false };
    mine.0 == theirs.0 && (mine.1 - theirs.1).abs() <= AS_SLOW.ln()
}

/// The claim of storage targets, by no more than they are busy for longer than others: meanwhile nobody waits for them.
fn within_busy(grid: &Grid<'_>, phases: &Work, slow: &Slow, mut claim: Claim) -> Claim {
    let longer = |unit: &Unit| {
        let Unit::Target(target) = unit else { return None };
        slow.by.iter().map(|(class, ..)| AtOnce::of(grid, *class).longer_ns(*target)).sum::<Option<f64>>()
    };
    let Some(most) = slow.more.iter().chain([&slow.unit]).map(longer).sum::<Option<f64>>() else { return claim };
    let saved = phases.saved(grid, &claim.shortened);
    if saved > most {
        claim.shortened.iter_mut().for_each(|(_, ns)| *ns *= most / saved);
    }
    claim
}

/// Part of the time that the first of several units explains that each of them explains at least.
const LIKE_THE_FIRST: f64 = 0.25;
/// Times what each saves by itself that they save together.
const MORE_TOGETHER: f64 = 1.2;

/// Times that a slow unit's calls take which are told as a number.
const MOST_TIMES: f64 = 100.0;

fn of_unit(grid: &Grid<'_>, slow: &Slow) -> Claim {
    let run = grid.run;
    let (mut name, others, mut about) = named(grid, slow.unit);
    let are = if slow.more.is_empty() && !matches!(slow.unit, Unit::Folder(_)) { "is" } else { "are" };
    let it = if slow.more.is_empty() { "it" } else { "each" };
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
    // Beyond that, calls that hardly wait are held against some that do, and the number says nothing.
    let at_most = |odd: &Odd| if odd.above.exp() > MOST_TIMES { format!("over {MOST_TIMES}") } else { times(odd) };
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
            let on = if slow.more.is_empty() { name.clone() } else { "files that no other uses".to_owned() };
            let are = if theirs.len() > 1 { "are" } else { "is" };
            about = About { file: about.file, ..of_first };
            (
                Code::SLOW_RANK,
                format!("{who} {are} slow on {on}: {first} as long as {others}' on theirs"),
                "what it does differently (offsets, files), or what its host does beside it: swap hosts, and see whether rank or host stays slow; and where its file lies, which no \
                 other uses (`lfs getstripe`)",
            )
        }
        (_, Some(SoleUser::Either(process))) => {
            let (who, _, of_first) = users(grid, &[*process]);
            about = About { file: about.file, ..of_first };
            (
                Code::SLOW_FILE,
                format!("{who} or its {name}, which no other uses, is slow: {first} as long as those on {others}"),
                "see where the file lies (another file system, a busy target), and what the rank's host does beside it: the same calls on other files are faster",
            )
        }
        (Unit::Moment(..), None) if slow.grows => (
            Code::SLOW_MOMENT,
            format!("{name} the {first} as long as before, longer and longer{}", most(grid)),
            "see what grows with the run (a file, a folder, a list that is searched, a cache that fills up), and whether it begins anew after a restart",
        ),
        (Unit::Moment(..), None) => (
            Code::SLOW_MOMENT,
            format!("{name} the {first} as long as {others}{}", most(grid)),
            "something else used the file system or the network then: see what ran at that time, and repeat the run before changing the program",
        ),
        (Unit::Process(_), None) => (
            Code::SLOW_RANK,
            format!("{name} {are} slow: {first} as long as {others}'"),
            "what it does differently (offsets, files), or what its host does beside it: swap hosts, and see whether rank or host stays slow",
        ),
        (Unit::Node(_), None) => (
            Code::SLOW_NODE,
            format!("{name} {are} slow: {first} as long as {others}'"),
            "have the node checked (network link, file system client, what else runs there), or leave it out of the next job",
        ),
        (Unit::File(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as those on {others}"),
            "see where it lies (another file system, a busy target) and how it is accessed (order, alignment, locks): the same calls on other files are \
             faster",
        ),
        (Unit::Folder(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as those on {others}"),
            "see what storage they lie on (another file system, a pool, `lfs getstripe -d`) and how they are used: the same calls on others are faster",
        ),
        (Unit::Region(_), None) => (
            Code::SLOW_FILE,
            format!("{name} {are} slow: {first} as long as those on {others}"),
            "see what storage these bytes lie on (`lfs getstripe`, a component of its own, a degraded device), and whether other ranks lock them",
        ),
        (Unit::Target(_), None) if asked >= OVERLOADED => (
            Code::SLOW_TARGET,
            format!(
                "{name} {are} overloaded: {asked:.1} times as much is asked of {it} as of {others}, and {first} as long as theirs"
            ),
            "place files evenly: `lfs setstripe -i -1` (any target first) or more stripes (`-c`) for the folder before they are written",
        ),
        (Unit::Target(_), None) => (
            Code::SLOW_TARGET,
            format!("{name} {are} slow: {first} as long as {others}'"),
            "report the target to the file system's administrators; place files elsewhere with `lfs setstripe -o` or `lfs migrate`",
        ),
    };
    let mut evidence = Vec::new();
    for (class, odd, among, calls) in &by {
        let words = format!(
            "{}: {} times as long as the like, {}, modified z-score {:.1}, {}, {} compared",
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
    let mut evidence: Vec<Evidence> = evidence.into_iter().map(Evidence::from).collect();
    if let Some(first) = evidence.first_mut() {
        *first = Evidence::of(first.words().to_owned(), about);
    }
    for unit in slow.more.iter().take(crate::limits::NAMED_EXAMPLES) {
        let (name, _, about) = named(grid, *unit);
        evidence.push(Evidence::of(format!("{name} as well"), about));
    }
    for target in either {
        let (name, _, about) = named(grid, Unit::Target(target));
        evidence.push(Evidence::of(format!("{name}: which of them is slow cannot be told"), about));
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
        None if theirs.len() > 1 => (show::processes(theirs.len() as u64), others, about),
        None => (name, others, about),
    }
}

/// Times what is asked of other targets, at least, if they are targets.
fn asked(grid: &Grid<'_>, slow: &Slow) -> f64 {
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

/// Part of what slow metadata calls cost from which one operation is named.
const ONE_OPERATION: f64 = 0.8;

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

/// Units that are listed one by one.
const LISTED: usize = 3;

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

/// `p = 3e-5`; below what numbers can tell, that it is less.
fn probability(p: f64) -> String {
    if p < 1e-300 { "p < 1e-300".into() } else { format!("p = {p:.0e}") }
}

fn time_of(grid: &Grid<'_>, slow: &Slow, class: Class) -> f64 {
    let of = |index: &u32| grid.entries.get(*index as usize).is_some_and(|entry| entry.class == class);
    slow.shortened.iter().filter(|(index, _)| of(index)).map(|(_, ns)| ns).sum()
}
