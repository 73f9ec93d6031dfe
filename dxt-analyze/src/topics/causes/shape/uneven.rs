//! Ranks that move far more bytes than others, and for which the others wait. Per phase, time is compared with that of an even share.

use crate::cube::reading::callers::collective_callers;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, Process, ProcessId};
use crate::replay::Savings;
use crate::shared::stats::median;
use crate::shared::totals::add;
use crate::sum::Sum;
use crate::text::units as show;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Operations that bring data to one rank, and their MPI functions.
const GATHERS: &[(&str, &str)] = &[("gather", "MPI_Gather"), ("gatherv", "MPI_Gatherv")];
/// Operations that bring data from one rank to all, and their MPI functions.
const DISTRIBUTES: &[(&str, &str)] =
    &[("bcast", "MPI_Bcast"), ("scatter", "MPI_Scatter"), ("scatterv", "MPI_Scatterv")];

/// Processes that move more than an even share of the bytes.
#[derive(Clone, Debug)]
struct Uneven {
    share: words::Share,
    most: ProcessId,
    /// All processes with about as many bytes as `most` (the process with most bytes), including it.
    like: Vec<ProcessId>,
    /// Time saved if all processes moved the same bytes, ns by cell (group of similar calls).
    savings: Savings,
}

/// Returns a claim (finding with its saving) for reads and one for writes, or one for both if the same processes move more than their share
/// of both.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let mut found = uneven(cube);
    let most = found.iter().map(Uneven::cost_ns).fold(0.0, f64::max);
    found.retain(|found| found.cost_ns() >= most * cube.run.thresholds.minor_share);
    let mut claims = match found.as_slice() {
        [reads, writes] if reads.most == writes.most && reads.like == writes.like => {
            let (one, other) = if reads.share.one >= writes.share.one { (reads, writes) } else { (writes, reads) };
            let (mut claim, also) = (of_uneven(cube, one), of_uneven(cube, other));
            claim.finding.title = one.share.title_of_both(&other.share).into();
            claim.finding.evidence.extend(also.finding.evidence);
            claim.savings.extend(also.savings);
            vec![claim]
        }
        _ => found.iter().map(|found| of_uneven(cube, found)).collect::<Vec<Claim>>(),
    };
    if let Some(claim) = claims.iter_mut().find(|claim| claim.finding.code == Code::ONE_RANK) {
        add_transfers(cube, claim);
    }
    claims
}

impl Uneven {
    /// Returns the time saved, ns, summed over all calls of the process.
    fn cost_ns(&self) -> f64 {
        self.savings.iter().map(|(_, ns)| ns).sum()
    }
}

fn of_uneven(cube: &Cube<'_>, found: &Uneven) -> Claim {
    let process = cube.run.process(found.most);
    let about = About {
        rank: process.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: process.map(|process| cube.run.node(process).to_owned()),
        bytes: Some(found.share.most),
        ..About::default()
    };
    let code = if found.share.one { Code::ONE_RANK } else { Code::BYTE_IMBALANCE };
    Claim::on_files(cube, code, found.savings.clone(), |lost| words::uneven(&found.share, about, lost))
}

/// Adds to the claim (finding with its saving) about one rank that does all I/O the waits of other ranks for it, if it also gathers or
/// distributes the data.
fn add_transfers(cube: &Cube<'_>, claim: &mut Claim) {
    let called = |name: &str| {
        let mut streams = cube.run.processes.iter().flat_map(|process| &process.streams).filter(|stream| stream.meets);
        streams.any(|stream| cube.run.op(stream).name == name)
    };
    let of = |names: &[(&str, &'static str)]| -> Vec<&'static str> {
        names.iter().filter(|(name, _)| called(name)).map(|(_, function)| *function).collect()
    };
    let (gathers, distributes) = (of(GATHERS), of(DISTRIBUTES));
    if !gathers.is_empty() || !distributes.is_empty() {
        let rank = claim.finding.about.rank;
        let late = super::sync_point_late::claim(cube).filter(|of| rank.is_some() && of.finding.about.rank == rank);
        if let Some(late) = late {
            claim.waiting_ns = late.waiting_ns;
            let (title, waits) = words::gathers(&claim.finding.title, &gathers, &distributes, late.waiting_ns as u64);
            claim.finding.title = title;
            claim.finding.evidence.push(waits);
        }
    }
}

/// Returns a name such as `ranks 0-7` if `like` are several ranks; else `None`.
pub(in crate::topics::causes) fn several(cube: &Cube<'_>, like: &[ProcessId]) -> Option<String> {
    let rank = |process: &ProcessId| u64::try_from(cube.run.process(*process)?.rank).ok();
    let mut ranks: Vec<u64> = like.iter().map(rank).collect::<Option<_>>()?;
    ranks.sort_unstable();
    (ranks.len() > 1).then(|| format!("ranks {}", show::ranges(&ranks)))
}

/// Returns uneven reads and uneven writes. Only calls that ranks make themselves count: collective buffering moves all bytes through few
/// ranks by design.
fn uneven(cube: &Cube<'_>) -> Vec<Uneven> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class)).collect()
}

fn of_class(cube: &Cube<'_>, class: Class) -> Option<Uneven> {
    let thresholds = &cube.run.thresholds;
    let siblings = if cube.run.ranks() == 0 { siblings(cube) } else { BTreeSet::new() };
    let alive = if siblings.is_empty() { alive(cube) } else { vec![siblings.len() as u64; cube.slots.phases()] };
    let of_family = |process: ProcessId| siblings.is_empty() || siblings.contains(&process);
    let silent = cube.run.silent_ranks();
    let alive: Vec<u64> = alive.into_iter().map(|count| count.saturating_add(silent)).collect();
    let processes = alive.iter().copied().max().unwrap_or(0).max(1);
    // In collective calls, a few ranks move the bytes of all.
    let through_few = collective_callers(cube.run);
    let own = |cell: &Cell| !cell.inside || !through_few.contains_key(&cell.file);
    let counts = |cell: &&Cell| cell.leaf && own(cell) && cell.class == class && of_family(cell.process);
    if processes < 2 || cube.run.reduced_ranks() > 0 || cube.run.ranks() == 0 && siblings.is_empty() {
        return None;
    }
    let mut waited_for: BTreeMap<(ProcessId, usize), bool> = BTreeMap::new();
    let (mut by, mut whole) = (BTreeMap::<(usize, ProcessId), u64>::new(), BTreeMap::<ProcessId, u64>::new());
    let mut in_phase = BTreeMap::<usize, u64>::new();
    for cell in cube.cells.iter().filter(counts) {
        add(by.entry((cube.phase(cell), cell.process)).or_default(), cell.sums.bytes);
        add(whole.entry(cell.process).or_default(), cell.sums.bytes);
        add(in_phase.entry(cube.phase(cell)).or_default(), cell.sums.bytes);
    }
    let bytes = whole.values().sum::<Sum>().get();
    let most =
        whole.iter().max_by_key(|(process, bytes)| (**bytes, std::cmp::Reverse(**process))).map(|(p, b)| (*p, *b))?;
    if (most.1 as f64) < bytes as f64 / processes as f64 * thresholds.similar_ratio {
        return None;
    }
    // Several ranks that do the I/O of all in equal parts are no uneven work.
    let as_much = || whole.iter().filter(|(_, mine)| **mine as f64 >= most.1 as f64 * thresholds.most_share);
    let like: Vec<ProcessId> = as_much().map(|(process, _)| *process).collect();
    if like.len() >= (thresholds.several_min as usize)
        && as_much().map(|of| *of.1).sum::<Sum>().get() as f64 >= bytes as f64 * thresholds.all_share
    {
        return None;
    }
    // Of ranks without a record, it is only known that they do no I/O.
    let alone = silent > 0 && whole.len() == 1;
    let mut savings = Savings::new();
    let mut at_ends: BTreeMap<(ProcessId, usize), (f64, f64)> = BTreeMap::new();
    let mut amounts = BTreeMap::<ProcessId, [Amount; 2]>::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell)) {
        let phase = cube.phase(cell);
        let mine = by.get(&(phase, cell.process)).copied().unwrap_or_default() as f64;
        let even = in_phase.get(&phase).copied().unwrap_or_default() as f64
            / alive.get(phase).copied().unwrap_or(processes).max(1) as f64;
        // The excess must exist over the whole run, too: ranks that alternate between phases share the work.
        let over_all =
            whole.get(&cell.process).copied().unwrap_or_default() as f64 * processes as f64 / bytes.max(1) as f64;
        let [too_many, all] = amounts.entry(cell.process).or_default();
        all.add(cell, 1.0);
        if mine <= even * thresholds.similar_ratio || over_all <= thresholds.similar_ratio {
            continue;
        }
        let waited =
            *waited_for.entry((cell.process, phase)).or_insert_with(|| alone || cube.waited_for(cell.process, phase));
        let at_end = if waited { None } else { cube.sync_points.wait_for(thresholds, cell.process, phase) };
        if waited || at_end.is_some() {
            too_many.add(cell, 1.0 - even / mine);
            let less = cell.time_ns() * (1.0 - even / mine);
            savings.push((index, less));
            if let Some((end, most)) = at_end {
                let of = at_ends.entry((cell.process, end)).or_insert((most, 0.0));
                of.1 += less;
            }
        }
    }
    // Before each synchronization point, a process saves at most the time that the others wait for it.
    for (index, less) in &mut savings {
        let Some(cell) = cube.cells.get(*index as usize) else { continue };
        let end = cube.sync_points.wait_for(thresholds, cell.process, cube.phase(cell)).map(|(end, _)| end);
        if let Some((most, all)) = end.and_then(|end| at_ends.get(&(cell.process, end))) {
            *less *= (most / all.max(1.0)).min(1.0);
        }
    }
    if !amounts.get(&most.0).is_some_and(|[too_many, all]| too_many.is_explained(thresholds, all)) {
        return None;
    }
    if !siblings.is_empty() {
        // If the others end with the process, they had other work, and nobody waits.
        let (lag, all) = (lag_ns(cube, most.0, &siblings), savings.iter().map(|(_, ns)| ns).sum::<f64>());
        savings.iter_mut().for_each(|(_, ns)| *ns *= (lag / all.max(1.0)).min(1.0));
    }
    let one = most.1 as f64 >= bytes as f64 * thresholds.all_share;
    let several = several(cube, &like);
    let share = words::Share {
        several: several.is_some(),
        name: several.unwrap_or_else(|| cube.run.process_name(most.0)),
        are_ranks: cube.run.process(most.0).is_some_and(|process| process.rank >= 0),
        class,
        most: most.1,
        bytes,
        processes,
        one,
        alone,
    };
    Some(Uneven { share, most: most.0, like, savings })
}

/// Returns processes without MPI that share a job's work: started by one parent, running the same program at the same time.
fn siblings(cube: &Cube<'_>) -> BTreeSet<ProcessId> {
    let thresholds = &cube.run.thresholds;
    let all = of_one_parent(cube);
    let begins = all.iter().map(|(_, process)| process.shift_ns).max().unwrap_or(0);
    let ends = all.iter().map(|(_, process)| process.end_ns).min().unwrap_or(0);
    let longest = all.iter().map(|(_, process)| process.life_ns()).max().unwrap_or(0);
    let together = ends.saturating_sub(begins) as f64 >= longest as f64 * thresholds.some_share;
    if all.len() >= (thresholds.several_min as usize) && together {
        all.into_iter().map(|(number, _)| number).collect()
    } else {
        BTreeSet::new()
    }
}

/// Returns the processes that read or write, if one parent started all of them and they run the same program; else none, as steps of a
/// script do different work. Leaves out the parent, which distributes work and waits.
pub fn of_one_parent<'a>(cube: &Cube<'a>) -> Vec<(ProcessId, &'a Process)> {
    let moves = |cell: &&Cell| cell.leaf && matches!(cell.class, Class::Read | Class::Write) && cell.sums.bytes > 0;
    let of: BTreeSet<ProcessId> = cube.cells.iter().filter(moves).map(|cell| cell.process).collect();
    let all: Vec<(ProcessId, &Process)> =
        cube.run.numbered_processes().filter(|(number, _)| of.contains(number)).collect();
    let parents: BTreeSet<(u32, u32)> = all.iter().map(|(_, of)| (of.node, of.ppid)).collect();
    let all: Vec<_> = all.into_iter().filter(|(_, of)| !parents.contains(&(of.node, of.pid))).collect();
    let Some((_, first)) = all.first() else { return Vec::new() };
    let similar =
        |process: &Process| (process.ppid, process.node, &process.exe) == (first.ppid, first.node, &first.exe);
    if all.iter().all(|(_, process)| similar(process)) { all } else { Vec::new() }
}

#[derive(Debug, Default)]
struct Amount {
    bytes: f64,
    ns: f64,
}

impl Amount {
    fn add(&mut self, cell: &Cell, share: f64) {
        self.bytes += cell.sums.bytes as f64 * share;
        self.ns += cell.time_ns() * share;
    }

    /// True if these calls explain their time by their bytes: their share of the bytes of `all` is at least `half_share` of their share of
    /// the time.
    fn is_explained(&self, thresholds: &Thresholds, all: &Self) -> bool {
        self.bytes * all.ns >= self.ns * all.bytes * thresholds.half_share
    }
}

/// Returns how much later a process ends than the median of its siblings, ns; 0 if it ends earlier.
fn lag_ns(cube: &Cube<'_>, process: ProcessId, siblings: &BTreeSet<ProcessId>) -> f64 {
    let end = |number: ProcessId| cube.run.process(number).map_or(0.0, |of| of.end_ns as f64);
    let mut others: Vec<f64> = siblings.iter().filter(|of| **of != process).map(|of| end(*of)).collect();
    median(&mut others).map_or(0.0, |usual| (end(process) - usual).max(0.0))
}

/// Returns the number of processes alive in each phase (from one synchronization or pause to the next): one run may contain several jobs,
/// one after another.
fn alive(cube: &Cube<'_>) -> Vec<u64> {
    let lives: Vec<(u64, u64)> = cube
        .run
        .workers()
        .filter(|process| process.reduction.is_none())
        .map(|process| (process.shift_ns, if process.end_ns == 0 { u64::MAX } else { process.end_ns }))
        .collect();
    let spans = (0..cube.slots.phases()).map(|phase| cube.slots.span(phase));
    spans.map(|(from, until)| lives.iter().filter(|life| life.0 < until && life.1 > from).count() as u64).collect()
}
