//! Who waits for whom: from one synchronization point of all ranks in MPI's calls to the next, how long each rank waits for the others. What a finding saves is no
//! more than what the rank that waits least could go on with.
//!
//! Nothing is known where ranks wait in collective calls of MPI-IO too, in which waiting is not distinguished from I/O.

use super::messages::{Messages, Times};
use crate::model::{Process, ProcessId, Run};
use crate::shared::stats::median;
use crate::sum::Sum;
use crate::topics::causes::reading::slots::Slots;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Part of the run between two synchronization points, at most, for its waiting to tell who waits for whom: in a longer one ranks wait for each other's
/// messages too.
const SHORT: f64 = 0.5;
/// What a rank waits at a synchronization point against the others' median, at most, for these to wait for it.
const LITTLE: f64 = 0.25;

/// What ranks wait from one synchronization point to the next.
#[derive(Clone, Debug, Default)]
pub struct SyncPoints {
    /// By phase that a synchronization point ends: the ranks, and how long each waited for the others since the last one, ns.
    waits: Vec<FxHashMap<ProcessId, f64>>,
    /// By phase: the one at or behind it that such a synchronization point ends, with the last one before not far away.
    of_phase: Vec<Option<usize>>,
    /// The same however far the last one before is away.
    ends: Vec<Option<usize>>,
    /// By phase that a synchronization point ends: what ranks usually wait there, ns.
    usual: Vec<f64>,
    /// Who waits for messages besides.
    messages: Messages,
    /// By phase that a synchronization point ends: what each rank waited since the last one in MPI-IO's calls that all make together, ns.
    in_library: FxHashMap<usize, Times>,
}

/// What a process `waited`, by phase, ns, with the calls that were only counted: of very many each second, fourth, ... is on record, and so
/// they took as much more time as those on record beside them. No phase has more waiting than time.
pub fn with_counted(process: &Process, slots: &Slots, waited: FxHashMap<u32, u64>) -> Vec<(usize, f64)> {
    let counted_ns = process.met.iter().map(|met| met.counters.duration).sum::<Sum>().get() as f64;
    let first = process.met.iter().map(|met| met.counters.first_start).min();
    let from = first.map_or(u64::MAX, |first| first.saturating_add(process.shift_ns));
    let waited = waited.into_iter().map(|(phase, ns)| (phase as usize, ns as f64, slots.span(phase as usize)));
    scaled(waited.collect(), counted_ns, from, process.end_ns)
}

/// What was `waited` on record, by phase and its span, with `counted_ns` more that lie behind `from` in a process that ends at `end`.
fn scaled(waited: Vec<(usize, f64, (u64, u64))>, counted_ns: f64, from: u64, end: u64) -> Vec<(usize, f64)> {
    let beside = |span: (u64, u64)| span.1 > from;
    let on_record_ns: f64 = waited.iter().filter(|(_, _, span)| beside(*span)).map(|(_, ns, _)| ns).sum();
    let more = if on_record_ns > 0.0 { 1.0 + counted_ns / on_record_ns } else { 1.0 };
    let with = |(phase, ns, span): (usize, f64, (u64, u64))| {
        let most = (span.1.min(end).saturating_sub(span.0)) as f64;
        (phase, if beside(span) { (ns * more).min(most.max(ns)) } else { ns })
    };
    waited.into_iter().map(with).collect()
}

impl SyncPoints {
    /// Of what ranks waited (`waited`: by phase, of each process, ns), summed up in the phase that ends with a synchronization point, where that is known of every
    /// rank. Who waits in a part of all ranks only (`met_all`: by phase, those that met all) goes on without the others, unless it never meets them.
    #[must_use]
    pub fn of(
        run: &Run,
        slots: &Slots,
        mut waited: Vec<FxHashMap<ProcessId, f64>>,
        met_all: &[Vec<ProcessId>],
    ) -> Self {
        let (ranks, length) = (run.ranks() as usize, run.length_ns());
        let mut of_phase: Vec<Option<usize>> = vec![None; waited.len()];
        let mut ends = of_phase.clone();
        let mut usual = vec![0.0; waited.len()];
        if !slots.ranks_met || ranks < 2 {
            return Self::default();
        }
        let in_groups = met_all.iter().all(|met| met.is_empty());
        let (mut first, mut from, mut sum, mut met) = (0, 0, FxHashMap::default(), FxHashSet::<ProcessId>::default());
        for (phase, waits) in waited.iter_mut().enumerate() {
            met.extend(met_all.get(phase).into_iter().flatten());
            // Who comes early may begin to wait phases before the last one comes.
            for (process, ns) in std::mem::take(waits) {
                *sum.entry(process).or_default() += ns;
            }
            if sum.len() < ranks || !in_groups && met.len() < ranks {
                continue;
            }
            met.clear();
            *waits = std::mem::take(&mut sum);
            if let Some(usual) = usual.get_mut(phase) {
                *usual = median(&mut waits.values().copied().collect::<Vec<f64>>()).unwrap_or_default();
            }
            let until = slots.span(phase).1.min(length);
            ends.iter_mut().take(phase + 1).skip(first).for_each(|of| *of = Some(phase));
            if ((until.saturating_sub(from)) as f64) < length as f64 * SHORT {
                of_phase.iter_mut().take(phase + 1).skip(first).for_each(|of| *of = Some(phase));
            }
            (first, from) = (phase + 1, until);
        }
        Self { waits: waited, of_phase, ends, usual, messages: Messages::default(), in_library: FxHashMap::default() }
    }

    /// With what ranks waited in MPI-IO's calls that all make together, by phase, ns: who waits there need not work on when others' calls are shorter.
    #[must_use]
    pub fn with_library(mut self, waits: Vec<FxHashMap<ProcessId, f64>>) -> Self {
        for (phase, waits) in waits.into_iter().enumerate() {
            let Some(end) = self.far_after(phase) else { continue };
            let of = self.in_library.entry(end).or_default();
            waits.into_iter().for_each(|(process, ns)| *of.entry(process).or_default() += ns);
        }
        self
    }

    /// The phase that the next synchronization point ends, at or behind `phase`; `None` if nothing is known of it.
    #[must_use]
    pub fn after(&self, phase: usize) -> Option<usize> {
        self.of_phase.get(phase).copied().flatten()
    }

    /// The same however long before it all met last.
    #[must_use]
    pub fn far_after(&self, phase: usize) -> Option<usize> {
        self.ends.get(phase).copied().flatten()
    }

    /// What ranks waited at synchronization points before which all did not meet for long, ns, with the first phase since and the one that each ends.
    pub fn far(&self) -> impl Iterator<Item = (usize, (usize, &Times))> {
        let first =
            |end: usize| self.ends.iter().take(end).rposition(|of| *of != Some(end)).map_or(0, |before| before + 1);
        let far = move |(end, waits)| {
            (self.far_after(end) == Some(end) && self.after(end).is_none()).then(|| (end, (first(end), waits)))
        };
        self.waits.iter().enumerate().filter_map(far)
    }

    /// How long the others wait for a rank at the next synchronization point, at or behind `phase`, ns, however long they have not met before, and which phase that synchronization point
    /// ends: where it waits little, and they wait much. `None` if they do not.
    #[must_use]
    pub fn wait_for(&self, process: ProcessId, phase: usize) -> Option<(usize, f64)> {
        let end = self.ends.get(phase).copied().flatten()?;
        let (usual, mine) = (*self.usual.get(end)?, *self.waits.get(end)?.get(&process)?);
        (mine < usual * LITTLE).then_some((end, usual - mine))
    }

    /// Whether all ranks meet behind one phase and before the end of another.
    #[must_use]
    pub fn one_between(&self, first: usize, last: usize) -> bool {
        self.ends.get(first).copied().flatten().is_some_and(|end| end < last)
    }

    /// What each rank waited before each synchronization point that is known of all, ns, by the phase that it ends.
    pub fn waits(&self) -> impl Iterator<Item = (usize, &FxHashMap<ProcessId, f64>)> {
        let known = |(phase, waits): (usize, _)| (self.after(phase) == Some(phase)).then_some((phase, waits));
        self.waits.iter().enumerate().filter_map(known)
    }

    /// How long all but `who` wait at least where all ranks meet, those of them that wait least, ns; `None` if nothing is known of that.
    #[must_use]
    pub fn waited_by_others(&self, who: &[ProcessId]) -> Option<f64> {
        let all = self.waits().chain(self.far().map(|(end, (_, waits))| (end, waits)));
        let least = |waits: &FxHashMap<ProcessId, f64>| {
            let others = waits.iter().filter(|(process, _)| !who.contains(process));
            others.map(|(_, ns)| *ns).reduce(f64::min).unwrap_or_default()
        };
        all.map(|(_, waits)| least(waits)).reduce(|sum, ns| sum + ns)
    }

    /// How long each rank waits where all meet, in the whole run, that of them which waits least, ns.
    #[must_use]
    pub fn waited_by_each(&self) -> f64 {
        let mut of = Times::default();
        for waits in &self.waits {
            waits.iter().for_each(|(process, ns)| *of.entry(*process).or_default() += ns);
        }
        of.values().copied().reduce(f64::min).unwrap_or_default()
    }

    /// With the time of a process in calls of a phase, which tells who waits for messages, unless threads of it (`threaded`) make them beside.
    #[must_use]
    pub fn with_calls(
        self,
        run: &Run,
        slots: &Slots,
        threaded: BTreeSet<ProcessId>,
        in_calls: impl Fn(usize, ProcessId) -> f64,
    ) -> Self {
        Self { messages: Messages::of(slots, run.length_ns(), &self.waits, threaded, in_calls), ..self }
    }

    fn in_library(&self, end: usize, process: ProcessId) -> f64 {
        self.in_library.get(&end).map_or(0.0, |of| time(of, process))
    }

    /// By synchronization point, of which each is named by the phase that it ends: what is saved of the time by which the slowest rank's calls are shorter, ns, where each rank
    /// has so much `less` to do in I/O. It is the shortest time that a rank waits before the synchronization point, for the others or for messages of those that are quicker: a
    /// rank that waits for nobody works on, in I/O or not, however short others' calls are. All of it where nothing is known.
    #[must_use]
    pub fn saved(&self, all: &[BeforeSyncPoint]) -> Vec<f64> {
        let known: Vec<(usize, &BeforeSyncPoint)> = all.iter().filter_map(|of| Some((of.end?, of))).collect();
        // Who waits for long enough at each of them need not be looked at.
        let mut who: BTreeSet<ProcessId> = BTreeSet::new();
        for (end, of) in &known {
            let waits = self.waits.get(*end).into_iter().flatten();
            let beside = |process: ProcessId| self.in_library(*end, process) + time(&of.less, process);
            let too_short = waits.filter(|(process, waits)| *waits + beside(**process) < of.ns);
            who.extend(too_short.map(|(process, _)| *process));
        }
        let less: Vec<_> = known.iter().map(|(end, of)| (*end, &of.less)).collect();
        let mut for_messages = self.messages.waits(&self.waits, &less, &who).into_iter();
        let saved = |of: &BeforeSyncPoint| {
            let Some((end, waits)) = of.end.and_then(|end| Some((end, self.waits.get(end)?))) else { return of.ns };
            let messages = for_messages.next().unwrap_or_default();
            let beside =
                |process: ProcessId| self.in_library(end, process) + time(&of.less, process) + time(&messages, process);
            waits.iter().map(|(process, ns)| ns + beside(*process)).fold(of.ns, f64::min)
        };
        all.iter().map(saved).collect()
    }
}

/// What is savings before one synchronization point.
#[derive(Clone, Debug, Default)]
pub struct BeforeSyncPoint {
    /// The phase that it ends, if anything is known of it.
    pub end: Option<usize>,
    /// By how much the slowest rank's calls are shorter, ns.
    pub ns: f64,
    /// By how much each rank's are.
    pub less: Times,
}

fn time(of: &Times, process: ProcessId) -> f64 {
    of.get(&process).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_counted_is_shared_out_over_what_is_on_record_beside_it() {
        // Counted from 150 on: the first phase is whole on record, the second is not in part, the others are.
        let waited = vec![(0, 40.0, (0, 100)), (1, 10.0, (100, 200)), (2, 20.0, (200, 300)), (3, 30.0, (300, 400))];
        let all = scaled(waited.clone(), 120.0, 150, 400);
        assert_eq!(all, [(0, 40.0), (1, 30.0), (2, 60.0), (3, 90.0)]);
        // No phase has more waiting than time, nor less than is on record.
        let most = scaled(waited.clone(), 6000.0, 150, 380);
        assert_eq!(most, [(0, 40.0), (1, 100.0), (2, 100.0), (3, 80.0)]);
        assert_eq!(scaled(waited, 0.0, u64::MAX, 400).iter().map(|(_, ns)| ns).sum::<f64>(), 100.0);
        // Nothing on record beside what was counted: nobody can say where it was.
        assert_eq!(scaled(vec![(0, 40.0, (0, 100))], 70.0, 100, 400), [(0, 40.0)]);
    }
}
