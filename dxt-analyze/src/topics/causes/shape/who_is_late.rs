//! Stragglers, for which all others wait at synchronization points: one rank, or several that are late together, such as all ranks of a
//! slow node.

use crate::cube::weighted_quantile;
use crate::findings::{About, Code, Finding};
use crate::limits::NAMED_RANKS;
use crate::model::{ProcessId, Run};
use crate::shared::significance::binomial_tail;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Ranks at a synchronization point, each with the time before it arrives, ns: the rank with the longest time arrives last.
pub type SyncPoint = Vec<(ProcessId, f64)>;

/// Stragglers: ranks that arrive last at synchronization points, so that all other ranks wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// Stragglers as indices into [`crate::model::Run::processes`], ascending; at most half of all ranks.
    pub processes: Vec<ProcessId>,
    /// Synchronization points at which a straggler arrives last by far: number of the point, time before the last rank arrives, and usual
    /// time before a rank arrives, ns.
    pub last: Vec<(usize, f64, f64)>,
    /// Run time saved if the stragglers arrived with the last of the others, ns.
    pub saves_ns: f64,
    /// Time that all others wait for the last rank alone (lead of the last over the second to last), ns, summed over all synchronization
    /// points.
    pub all_ns: f64,
}

/// Returns the ranks whose lateness costs most: one rank, or a group that is clearly later than all others. `None` without ranks to
/// compare.
#[must_use]
pub fn late(thresholds: &Thresholds, sync_points: &[SyncPoint]) -> Option<Late> {
    let usual: Vec<f64> = sync_points.iter().map(usual).collect();
    let mut lateness: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for (sync_point, usual) in sync_points.iter().zip(&usual) {
        for (process, ns) in sync_point {
            *lateness.entry(*process).or_default() += (ns - usual).max(0.0);
        }
    }
    let mut order: Vec<(ProcessId, f64)> = lateness.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let latest = order.first()?.1;
    let steps = order.iter().zip(order.iter().skip(1)).map(|(this, next)| this.1 - next.1);
    let (many, step) = (1..).zip(steps).take(order.len() / 2).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let processes = |many: usize| order.iter().take(many).map(|(process, _)| *process).collect::<BTreeSet<_>>();
    let alone = saved(sync_points, &processes(1));
    let together = processes(many);
    // Synchronization points where nobody is late, as after each burst of calls, do not count.
    let behind: Vec<f64> =
        sync_points.iter().zip(&usual).map(|(sync_point, usual)| first(sync_point) - usual).collect();
    let most = behind.iter().copied().fold(0.0, f64::max);
    let somebody = behind.iter().filter(|ns| **ns > most * thresholds.some_share).count();
    let often = held_up(thresholds, sync_points, &together) as f64 >= somebody as f64 * thresholds.majority_share;
    let (who, saves_ns) = match saved(sync_points, &together) {
        all if alone < all * thresholds.half_share && step >= latest * thresholds.half_share && often => {
            (together, all)
        }
        _ => (processes(1), alone),
    };
    let mut last: Vec<(usize, f64, f64)> = Vec::new();
    for (number, (sync_point, usual)) in sync_points.iter().zip(&usual).enumerate() {
        let latest = sync_point.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let Some((process, ns)) = latest else { continue };
        if who.contains(process) {
            last.push((number, *ns, *usual));
        }
    }
    let most = last.iter().map(|(_, ns, usual)| ns - usual).fold(0.0, f64::max);
    last.retain(|(_, ns, usual)| ns - usual >= most * thresholds.some_share);
    let all_ns = sync_points.iter().map(|sync_point| first(sync_point) - second(sync_point)).sum();
    Some(Late { processes: who.into_iter().collect(), last, saves_ns, all_ns })
}

/// Alternating stragglers: different ranks are late, one at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByTurns {
    /// Number of synchronization points at which one rank is late by far.
    pub sync_points: u64,
    /// Number of different ranks for which the others wait, one at a time.
    pub ranks: usize,
    /// Time that all others wait at the synchronization points at which one rank is late by far, ns of run time.
    pub waits_ns: f64,
}

impl ByTurns {
    /// Creates the claim (finding with the time that it saves). `place`: kind of calls with the synchronization points; `all`: number of
    /// such points.
    #[must_use]
    pub(crate) fn claim(self, place: words::Place, all: usize) -> Claim {
        let code = if place == words::Place::Calls { Code::LATE_RANKS } else { Code::LATE_TO_MEET };
        let words = words::late_by_turns(place, (self.sync_points, all as u64), self.ranks as u64, self.waits_ns);
        Claim { waiting_ns: self.waits_ns, ..Claim::new(Finding::new(code, words), Vec::new()) }
    }
}

/// Returns the alternating stragglers, if at many synchronization points one of several ranks is late by far; else `None`.
#[must_use]
pub fn by_turns(thresholds: &Thresholds, sync_points: &[SyncPoint]) -> Option<ByTurns> {
    let mut who: BTreeSet<ProcessId> = BTreeSet::new();
    let (mut count, mut waits_ns) = (0_u64, 0.0);
    for sync_point in sync_points.iter().filter(|sync_point| sync_point.len() > thresholds.several_min as usize) {
        let (first, second, usual) = (first(sync_point), second(sync_point), usual(sync_point));
        let last = sync_point.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?.0;
        if first - second > 0.0 && first - second >= (second - usual) * thresholds.treble_ratio {
            who.insert(last);
            (count, waits_ns) = (count + 1, waits_ns + first - second);
        }
    }
    let is = who.len() >= (thresholds.several_min as usize)
        && count as f64 >= sync_points.len() as f64 * thresholds.third_share;
    is.then_some(ByTurns { sync_points: count, ranks: who.len(), waits_ns })
}

/// Returns the usual time of a rank before it arrives at a synchronization point, ns.
fn usual(sync_point: &SyncPoint) -> f64 {
    first_quartile(&sync_point.iter().map(|(_, ns)| *ns).collect::<Vec<f64>>())
}

/// Returns the first quartile, which is usual even if up to half of the ranks are late; 0 without values.
pub fn first_quartile(values: &[f64]) -> f64 {
    let mut similar: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
    weighted_quantile(&mut similar, 0.25).unwrap_or_default()
}

/// Counts synchronization points at which at least half of `who` arrive after all others, and the others wait for them longer than the part
/// `some_share` of the longest such wait.
fn held_up(thresholds: &Thresholds, sync_points: &[SyncPoint], who: &BTreeSet<ProcessId>) -> usize {
    let together = |sync_point: &SyncPoint| {
        let others = sync_point.iter().filter(|(process, _)| !who.contains(process)).map(|(_, ns)| *ns);
        let others = others.fold(f64::NEG_INFINITY, f64::max);
        sync_point.iter().filter(|(process, ns)| who.contains(process) && *ns > others).count() * 2 >= who.len()
    };
    let one: Vec<f64> = sync_points.iter().map(|sync_point| saved(std::slice::from_ref(sync_point), who)).collect();
    let most = one.iter().copied().fold(0.0, f64::max);
    one.iter()
        .zip(sync_points)
        .filter(|(ns, sync_point)| **ns > most * thresholds.some_share && together(sync_point))
        .count()
}

/// Returns the run time saved if `who` arrived no later than the last of all others, ns.
fn saved(sync_points: &[SyncPoint], who: &BTreeSet<ProcessId>) -> f64 {
    let of = |sync_point: &SyncPoint| {
        let others = sync_point.iter().filter(|(process, _)| !who.contains(process)).map(|(_, ns)| *ns);
        let others = others.fold(f64::NEG_INFINITY, f64::max);
        if others.is_finite() { (first(sync_point) - others).max(0.0) } else { 0.0 }
    };
    sync_points.iter().map(of).sum()
}

fn first(sync_point: &SyncPoint) -> f64 {
    sync_point.iter().map(|(_, ns)| *ns).fold(0.0, f64::max)
}

fn second(sync_point: &SyncPoint) -> f64 {
    let (_, second) =
        sync_point.iter().fold(
            (0.0_f64, 0.0_f64),
            |(first, second), (_, ns)| {
                if *ns > first { (*ns, first) } else { (first, second.max(*ns)) }
            },
        );
    second
}

impl Late {
    /// True if the stragglers may be last so often by chance, given that any rank is equally likely to be last. Counts only synchronization
    /// points at which the last rank is about as late as the stragglers are.
    #[must_use]
    pub fn may_be_chance(&self, thresholds: &Thresholds, sync_points: &[SyncPoint]) -> bool {
        let most = self.last.iter().map(|(_, ns, usual)| ns - usual).fold(0.0, f64::max);
        let late = |sync_point: &&SyncPoint| first(sync_point) - usual(sync_point) >= most * thresholds.some_share;
        let (mut made, mut ranks) = (0, 1);
        for sync_point in sync_points.iter().filter(late) {
            (made, ranks) = (made + 1, ranks.max(sync_point.len()));
        }
        let part = self.processes.len() as f64 / ranks as f64;
        binomial_tail(self.last.len(), made, part) * ranks as f64 >= thresholds.chance_p
    }

    /// Returns the stragglers as facts for a sentence and as fields of a finding. `sync_points`: number of all synchronization points;
    /// `saves_ns`: run time saved, ns.
    #[must_use]
    pub(crate) fn named(&self, run: &Run, sync_points: usize, saves_ns: f64) -> (words::Late, About) {
        let (name, one, about) = self.name(run);
        let (times, of) = (self.last.len() as u64, sync_points as u64);
        (words::Late { name, one, times, of, saves_ns: saves_ns as u64 }, about)
    }

    fn name(&self, run: &Run) -> (String, bool, About) {
        let nodes: BTreeSet<u32> = self.processes.iter().filter_map(|of| run.process(*of)).map(|of| of.node).collect();
        let node = nodes.first().copied().filter(|_| nodes.len() == 1);
        let name = node.and_then(|node| run.nodes.get(node as usize)).cloned();
        if let [one] = self.processes.as_slice() {
            let rank = run.process(*one).map(|process| process.rank).filter(|&rank| rank >= 0);
            return (run.process_name(*one), true, About { rank, node: name, ..About::default() });
        }
        let theirs = run.workers().filter(|process| Some(process.node) == node).count();
        let several = run.workers().any(|process| Some(process.node) != node);
        let mut ranks: Vec<i32> = self.processes.iter().filter_map(|of| run.process(*of)).map(|of| of.rank).collect();
        ranks.sort_unstable();
        let about = About { ranks: ranks.clone(), processes: Some(self.processes.len() as u64), ..About::default() };
        if let (Some(name), true) = (name, theirs == self.processes.len() && several) {
            let about = About { node: Some(name.clone()), ..about };
            return (format!("node {name} (all {theirs} ranks)"), true, about);
        }
        let numbers: Vec<String> = ranks.iter().take(NAMED_RANKS).map(ToString::to_string).collect();
        let words = match numbers.split_last() {
            Some((last, rest)) if ranks.len() <= NAMED_RANKS => format!("ranks {} and {last}", rest.join(", ")),
            _ => format!("{} ranks ({}, ...)", ranks.len(), numbers.join(", ")),
        };
        (words, false, about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds synchronization points for tests: one per entry of `all`, whose values are the times before ranks 0, 1, ... arrive, ns.
    fn sync_points(all: &[&[f64]]) -> Vec<SyncPoint> {
        let of = |times: &&[f64]| (0..).map(ProcessId).zip(times.iter().copied()).collect();
        all.iter().map(of).collect()
    }

    #[test]
    fn one_that_is_late_again_and_again() {
        let found = late(&Thresholds::default(), &sync_points(&[&[5.0, 50.0, 6.0, 5.0], &[5.0, 60.0, 4.0, 5.0]]))
            .expect("late");
        assert_eq!((found.processes, found.saves_ns), (vec![ProcessId(1)], 44.0 + 55.0));
        assert_eq!(found.last, [(0, 50.0, 5.0), (1, 60.0, 4.0)]);
    }

    #[test]
    fn how_often_the_same_comes_last_by_chance() {
        let late_to = |times: usize| {
            let of = |turn: usize| if turn < times { [5.0, 50.0, 6.0, 5.0] } else { [50.0, 5.0, 6.0, 5.0] };
            let all: Vec<[f64; 4]> = (0..8).map(of).collect();
            let all = sync_points(&all.iter().map(<[f64; 4]>::as_slice).collect::<Vec<_>>());
            late(&Thresholds::default(), &all).expect("late").may_be_chance(&Thresholds::default(), &all)
        };
        assert!(late_to(5) && !late_to(8));
    }

    #[test]
    fn several_that_are_late_together() {
        let of = [5.0, 50.0, 6.0, 52.0, 5.0, 4.0, 5.0, 6.0];
        let found = late(&Thresholds::default(), &sync_points(&[&of, &of])).expect("late");
        assert_eq!((found.processes, found.saves_ns), (vec![ProcessId(1), ProcessId(3)], 2.0 * 46.0));
        // One is late by far and one by little: the first alone.
        let of = [5.0, 100.0, 6.0, 52.0, 5.0, 4.0, 5.0, 6.0];
        assert_eq!(late(&Thresholds::default(), &sync_points(&[&of, &of])).expect("late").processes, [ProcessId(1)]);
    }

    #[test]
    fn where_nobody_is_late_nothing_is_reported_of_who_is() {
        let (late_ones, none) = ([5.0, 50.0, 6.0, 52.0, 5.0, 51.0, 5.0, 6.0], [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.5, 1.0]);
        let all = sync_points(&[&late_ones, &none, &late_ones, &none, &none, &late_ones, &none]);
        let found = late(&Thresholds::default(), &all).expect("late");
        assert_eq!(found.processes, [1, 3, 5].map(ProcessId));
        assert!(found.saves_ns >= 3.0 * 46.0, "{found:?}");
    }

    #[test]
    fn who_takes_turns_does_not_stand_apart() {
        let found = late(
            &Thresholds::default(),
            &sync_points(&[&[50.0, 5.0, 5.0, 5.0], &[5.0, 50.0, 5.0, 5.0], &[5.0, 5.0, 50.0, 5.0]]),
        );
        let found = found.expect("somebody comes last");
        assert_eq!((found.saves_ns, found.all_ns), (45.0, 135.0));
        let turns: Vec<SyncPoint> = (0..8)
            .map(|turn| {
                (0..4)
                    .map(|rank| (ProcessId(rank), if rank == turn % 4 { 90.0 } else { 5.0 + f64::from(rank) }))
                    .collect()
            })
            .collect();
        let found = by_turns(&Thresholds::default(), &turns).expect("alternately");
        assert_eq!((found.sync_points, found.ranks), (8, 4));
        assert!((found.waits_ns - 8.0 * 82.0).abs() < 10.0, "{found:?}");
        let even: Vec<SyncPoint> =
            turns.iter().map(|of| of.iter().map(|(rank, ns)| (*rank, ns.min(9.0))).collect()).collect();
        assert_eq!(by_turns(&Thresholds::default(), &even), None);
        assert_eq!(late(&Thresholds::default(), &[]), None);
        assert_eq!(late(&Thresholds::default(), &sync_points(&[&[3.0]])), None);
    }
}
