//! Finds slow runs among repeated runs of a program: which run, from when, and in which calls. Peers are runs with the same program, number
//! of ranks and work. Peers are compared at equal progress, since a slow run reaches the same point later.

use super::JobRow;
use super::equal_progress::{FEWEST, HeldAgainst};
use super::pace::Paces;
use super::slow_run::{Known, SlowRun};
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum relative difference in calls, and in bytes, between runs that count as the same work.
const SIMILAR: f64 = 0.05;
/// Random variation in the number of calls per rank, tolerated in addition to [`SIMILAR`].
const CHANCE_CALLS: u64 = 4;
/// Assumed size of a call that occurs by chance, bytes.
const CHANCE_BYTES: u64 = 1024;

/// Maximum number of searches for slow runs in a large group; each search excludes the runs found before.
const LOOKS: usize = 4;

/// Maximum number of earlier runs with which a group is compared, latest first.
const EARLIER: usize = 32;
/// Maximum memory of all earlier runs together, bytes.
const EARLIER_BYTES: usize = 256 << 20;

#[derive(Debug, Default)]
pub(super) struct Runs(BTreeMap<Program, Vec<(Known, Paces)>>);

/// Key of runs that may be comparable: program, ranks, file system and input format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Program {
    exe: String,
    ranks: u64,
    place: String,
    form: String,
}

/// Run with the data by which it is compared with its peers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OneRun {
    pub(super) program: Program,
    pub(super) known: Known,
    pub(super) paces: Paces,
}

impl OneRun {
    /// Builds the entry of a newly read run; `None` if the executable or the call durations are unknown.
    pub(super) fn of(row: &JobRow, paces: Option<Paces>) -> Option<Self> {
        let paces = paces.filter(|_| !row.exe.is_empty())?;
        let program = Program {
            exe: row.exe.clone(),
            ranks: row.ranks,
            place: paces.place.clone(),
            form: row.form.name().to_owned(),
        };
        let JobRow { job, source, program: name, start_unix_ns, .. } = row.clone();
        Some(Self {
            program,
            known: Known { is_new: true, was_slow: false, job, source, program: name, start_unix_ns },
            paces,
        })
    }
}

impl Runs {
    pub(super) fn add(&mut self, run: Option<OneRun>) {
        if let Some(OneRun { program, known, paces }) = run {
            self.0.entry(program).or_default().push((known, paces));
        }
    }

    pub(super) fn groups(self) -> Groups {
        let mut all = Groups::default();
        for (program, runs) in self.0 {
            let mut groups = OfProgram::default();
            for run in runs {
                match groups.find(&run.1, program.ranks) {
                    Some(at) => groups.groups[at].runs.push(run),
                    None => groups.begin(run, program.ranks),
                }
            }
            all.groups.insert(program, groups);
        }
        all
    }

    /// Returns the runs that were slow, sorted by time lost, largest first.
    pub(super) fn slow(self, least: &Thresholds) -> Vec<SlowRun> {
        self.groups().slow(least)
    }
}

/// Group of runs of a program that did the same work (similar calls and bytes).
#[derive(Debug)]
struct Group {
    runs: Vec<(Known, Paces)>,
    earlier: usize,
}

/// Groups of one program's runs. Runs of the same work lie in the same cell or in adjacent cells (squares of a grid over log calls and log
/// bytes), so that few groups have to be searched.
#[derive(Debug, Default)]
struct OfProgram {
    groups: Vec<Group>,
    cells: FxHashMap<Cell, Vec<usize>>,
    /// Number of groups that already have [`EARLIER`] earlier runs, the maximum.
    full: usize,
}

/// Cell of a run: logarithms of total calls and of total bytes, rounded down to a multiple of a fixed step.
type Cell = [i32; 2];

/// Returns the cell of a run (square of a grid over log calls and log bytes). Cells of runs with the same work are at most one step apart:
/// their sums differ by at most 5 % of the larger sum plus three times the chance variation. After adding 60 times the chance variation to
/// each sum, that is at most 5.3 %, less than a step (6 %).
fn cell(paces: &Paces, ranks: u64) -> Cell {
    const STEP: f64 = 0.06;
    let chance = chance(ranks) as f64;
    let step = |sum: f64, chance: f64| ((sum + 60.0 * chance).ln() / STEP).floor() as i32;
    let calls = paces.work.iter().map(|(_, sum)| sum.calls as f64).sum();
    let bytes = paces.work.iter().map(|(_, sum)| sum.bytes as f64).sum();
    [step(calls, chance), step(bytes, chance * CHANCE_BYTES as f64)]
}

impl OfProgram {
    /// Returns the index of the first group whose work (calls and bytes) matches a run with these `paces`; `None` if no group's does.
    fn find(&self, paces: &Paces, ranks: u64) -> Option<usize> {
        let [calls, bytes] = cell(paces, ranks);
        let around = (-1..=1).flat_map(|more| [-1, 0, 1].map(|other| [calls + more, bytes + other]));
        let near = around.filter_map(|cell| self.cells.get(&cell)).flatten().copied();
        let takes = |at: &usize| self.groups[*at].runs.first().is_some_and(|(_, one)| similar(one, paces, ranks));
        near.filter(takes).min()
    }

    fn begin(&mut self, run: (Known, Paces), ranks: u64) {
        self.cells.entry(cell(&run.1, ranks)).or_default().push(self.groups.len());
        self.groups.push(Group { runs: vec![run], earlier: 0 });
    }
}

/// Newly read runs grouped by work, each group with earlier runs of the same work.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: BTreeMap<Program, OfProgram>,
    /// Memory used by the stored durations of earlier runs, bytes.
    held: usize,
}

impl Groups {
    /// True if a group of any program can still use earlier runs.
    pub(super) fn want_more(&self) -> bool {
        self.groups.keys().any(|program| self.want(program))
    }

    /// True if a group of this program can still use earlier runs.
    pub(super) fn want(&self, program: &Program) -> bool {
        self.held < EARLIER_BYTES && self.groups.get(program).is_some_and(|of| of.full < of.groups.len())
    }

    /// Adds an earlier run to the group with the same work; drops the run if there is none.
    pub(super) fn offer(&mut self, run: OneRun) {
        let OneRun { program, known, paces } = run;
        if !self.want(&program) {
            return;
        }
        let Some(of_program) = self.groups.get_mut(&program) else { return };
        let taking = of_program.find(&paces, program.ranks).and_then(|at| of_program.groups.get_mut(at));
        if let Some(group) = taking.filter(|group| group.earlier < EARLIER) {
            group.earlier += 1;
            of_program.full += usize::from(group.earlier == EARLIER);
            self.held += paces.held();
            group.runs.push((known, paces));
        }
    }

    /// Returns the new runs that were slow, sorted by time lost, largest first.
    pub(super) fn slow(self, least: &Thresholds) -> Vec<SlowRun> {
        let mut slow: Vec<SlowRun> = Vec::new();
        for (program, of_program) in self.groups {
            of_program.groups.into_iter().for_each(|group| slow.extend(of_group(group.runs, program.ranks, least)));
        }
        slow.sort_by(|a, b| (Reverse(a.longer_ns), &a.source).cmp(&(Reverse(b.longer_ns), &b.source)));
        slow
    }
}

/// True if two runs on `ranks` ranks did the same work: similar numbers of calls and bytes, per type of call (read, write, sync).
fn similar(one: &Paces, two: &Paces, ranks: u64) -> bool {
    let near = |a: u64, b: u64, chance: u64| a.abs_diff(b) as f64 <= a.max(b) as f64 * SIMILAR + chance as f64;
    let chance = chance(ranks);
    one.work.iter().zip(&two.work).all(|((_, a), (_, b))| {
        near(a.calls, b.calls, chance) && near(a.bytes, b.bytes, chance.saturating_mul(CHANCE_BYTES))
    })
}

/// Returns the tolerated random variation in the number of calls of a run with `ranks` ranks.
fn chance(ranks: u64) -> u64 {
    ranks.max(1).saturating_mul(CHANCE_CALLS)
}

/// Returns the new runs of a group that were slow: always fewer than half of all runs, since otherwise slow is normal. Each search excludes
/// the runs found before. In a small group, a search takes only the run that lost most time, so that no run hides another; in a large group
/// it takes all at once, since they hardly shift the median.
pub(super) fn of_group(mut group: Vec<(Known, Paces)>, ranks: u64, least: &Thresholds) -> Vec<SlowRun> {
    let (mut out, all, mut looks) = (Vec::new(), group.len(), 0);
    let were_slow = group.iter().filter(|(known, _)| known.was_slow).count();
    if (were_slow + 1) * 2 < all {
        group.retain(|(known, _)| !known.was_slow);
    }
    while group.len() >= FEWEST && (all - group.len() + 1) * 2 < all && looks < LOOKS {
        let judge = HeldAgainst::new(&group, ranks, least);
        let mut found: Vec<(usize, SlowRun)> = (0..group.len()).filter_map(|at| Some((at, judge.slow(at)?))).collect();
        found.sort_by_key(|(at, slow)| (Reverse(slow.longer_ns), *at));
        // Fewer than half of all runs may be taken in total: those that lost most time.
        let most = if judge.is_many() { all.div_ceil(2) - 1 - (all - group.len()) } else { 1 };
        looks += usize::from(judge.is_many());
        found.truncate(most);
        if found.is_empty() {
            break;
        }
        let gone: BTreeSet<usize> = found.iter().map(|(at, _)| *at).collect();
        out.extend(found.into_iter().filter(|(at, _)| group[*at].0.is_new).map(|(_, slow)| slow));
        let mut places = 0..;
        group.retain(|_| places.next().is_none_or(|at| !gone.contains(&at)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::pace::{Course, Does, SLOTS, Sum};
    use super::*;

    fn run(program: &str, number: usize, calls: u64) -> OneRun {
        let program = Program { exe: program.into(), ranks: 1, place: "/".into(), form: "trace".into() };
        let job = format!("{number}");
        let known = Known {
            is_new: false,
            was_slow: false,
            job: job.clone(),
            source: job,
            program: "app".into(),
            start_unix_ns: number as i64,
        };
        let sum = Sum { calls, bytes: calls << 20, time_ns: 1 << 20, logs: 0 };
        let courses = vec![Course { kind: (Does::Write, 21), slots: (0..SLOTS as u8).map(|at| (at, sum)).collect() }];
        OneRun {
            program,
            known,
            paces: Paces { length_ns: 1, courses, work: vec![(Does::Write, sum)], place: "/".into() },
        }
    }

    /// Tests that groups found through cells equal those of a linear search, in which a run joins the first group whose first run matches.
    #[test]
    fn groups_are_those_of_a_search_through_all() {
        let (mut groups, mut firsts) = (OfProgram::default(), Vec::<Paces>::new());
        for number in 0..3000_u64 {
            // Work of small and large runs, some of them nearly equal.
            let calls = (number * 7919 % 601).pow(2) / 11;
            let run = run("/app", 0, calls);
            let expected = firsts.iter().position(|first| similar(first, &run.paces, 1));
            assert_eq!(groups.find(&run.paces, 1), expected, "{calls}");
            if expected.is_none() {
                firsts.push(run.paces.clone());
                groups.begin((run.known, run.paces), 1);
            }
        }
        assert!((50..2000).contains(&firsts.len()), "{}", firsts.len());
    }

    #[test]
    fn earlier_runs_have_bounds() {
        let mut runs = Runs::default();
        runs.add(Some(run("/app", 0, 100)));
        runs.add(Some(run("/app", 1, 1000)));
        let mut groups = runs.groups();
        for number in 2..1000 {
            groups.offer(run("/app", number, 100));
            groups.offer(run("/app", number, 500));
            groups.offer(run("/other", number, 100));
        }
        let sizes: Vec<usize> =
            groups.groups.values().flat_map(|of| &of.groups).map(|group| group.runs.len()).collect();
        assert_eq!(sizes, [1 + EARLIER, 1]);
        let of = |program: &str| run(program, 0, 1).program;
        assert!(groups.want(&of("/app")) && !groups.want(&of("/other")) && groups.want_more());
        groups.held = EARLIER_BYTES;
        assert!(!groups.want_more());
    }
}
