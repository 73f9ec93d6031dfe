//! Waits of each rank from one synchronization point of all ranks (in MPI's calls) to the next. Removing a cause saves at most the time by
//! which the rank that waits least could continue earlier.
//!
//! These waits are unknown if ranks also wait in collective MPI-IO calls, where waiting is not distinguished from I/O.

use super::messages::{Messages, Times};
use crate::cube::reading::slots::Slots;
use crate::model::{Process, ProcessId, Run};
use crate::shared::stats::median;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Waits of ranks at synchronization points.
#[derive(Clone, Debug, Default)]
pub struct SyncPoints {
    /// By phase that a synchronization point ends: each rank's wait since the previous synchronization point, ns.
    waits: Vec<FxHashMap<ProcessId, f64>>,
    /// By phase: the phase that the next synchronization point ends; `None` if the previous point is far away (`half_share`), or if there is
    /// no next one.
    of_phase: Vec<Option<usize>>,
    /// By phase: the phase that the next synchronization point ends, however far the previous one is; `None` if there is no next one.
    ends: Vec<Option<usize>>,
    /// By phase that a synchronization point ends: median of all ranks' waits, ns.
    usual: Vec<f64>,
    /// Times from which waits for messages are estimated.
    messages: Messages,
    /// By phase that a synchronization point ends: each rank's wait in collective MPI-IO calls that move no bytes, summed from the previous
    /// synchronization point to this one, ns.
    in_library: FxHashMap<usize, Times>,
}

/// Returns a process's waits by phase, ns, including those in calls that are only counted. Of very many calls, the tracer records each
/// second, fourth, ... one, so the others took as long as recorded ones near them, which are scaled up. The waits of a phase are at most
/// its length.
pub fn with_counted(process: &Process, slots: &Slots, waited: FxHashMap<u32, u64>) -> Vec<(usize, f64)> {
    let counted_ns = process.met.iter().map(|met| met.counters.duration).sum::<Sum>().get() as f64;
    let first = process.met.iter().map(|met| met.counters.first_start).min();
    let from = first.map_or(u64::MAX, |first| first.saturating_add(process.shift_ns));
    let waited = waited.into_iter().map(|(phase, ns)| (phase as usize, ns as f64, slots.span(phase as usize)));
    scaled(waited.collect(), counted_ns, from, process.end_ns)
}

/// Returns recorded waits (`waited`: phase, wait in ns, begin and end of the phase), scaled up by `counted_ns` of unrecorded waits after
/// `from`, in a process that ends at `end`.
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
    /// Sums each rank's waits up to the phase that a synchronization point ends, where they are known of every rank. `waited`: by phase and
    /// process, ns; `met_all`: by phase, ranks that are at a synchronization point of all ranks. Calls in which only a part of the ranks
    /// wait end no phase, unless ranks only ever synchronize in parts.
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
            // A rank that arrives early may begin to wait phases before the last one arrives.
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
            if ((until.saturating_sub(from)) as f64) < length as f64 * run.thresholds.half_share {
                of_phase.iter_mut().take(phase + 1).skip(first).for_each(|of| *of = Some(phase));
            }
            (first, from) = (phase + 1, until);
        }
        Self { waits: waited, of_phase, ends, usual, messages: Messages::default(), in_library: FxHashMap::default() }
    }

    /// Adds waits in collective MPI-IO calls that move no bytes, by phase, ns: ranks that wait there can continue earlier if the calls of
    /// others get shorter.
    #[must_use]
    pub fn with_library(mut self, waits: Vec<FxHashMap<ProcessId, f64>>) -> Self {
        for (phase, waits) in waits.into_iter().enumerate() {
            let Some(end) = self.far_after(phase) else { continue };
            let of = self.in_library.entry(end).or_default();
            waits.into_iter().for_each(|(process, ns)| *of.entry(process).or_default() += ns);
        }
        self
    }

    /// Returns the phase, `phase` or a later one, that the next synchronization point ends; `None` if unknown or if the previous point is
    /// far away.
    #[must_use]
    pub fn after(&self, phase: usize) -> Option<usize> {
        self.of_phase.get(phase).copied().flatten()
    }

    /// Returns the phase, `phase` or a later one, that the next synchronization point ends, however far the previous point is; `None` if
    /// unknown.
    #[must_use]
    pub fn far_after(&self, phase: usize) -> Option<usize> {
        self.ends.get(phase).copied().flatten()
    }

    /// Iterates over synchronization points that are far after the previous one: phase that the point ends, first phase since the previous
    /// point, and each rank's wait, ns.
    pub fn far(&self) -> impl Iterator<Item = (usize, (usize, &Times))> {
        let first =
            |end: usize| self.ends.iter().take(end).rposition(|of| *of != Some(end)).map_or(0, |before| before + 1);
        let far = move |(end, waits)| {
            (self.far_after(end) == Some(end) && self.after(end).is_none()).then(|| (end, (first(end), waits)))
        };
        self.waits.iter().enumerate().filter_map(far)
    }

    /// Returns the phase that the next synchronization point ends (`phase` or a later one), and how long the other ranks wait there for the
    /// rank of `process`, ns: the median wait less the rank's own wait. `None` if waits are unknown, or if the rank itself does not wait
    /// much less than the median.
    #[must_use]
    pub fn wait_for(&self, thresholds: &Thresholds, process: ProcessId, phase: usize) -> Option<(usize, f64)> {
        let end = self.ends.get(phase).copied().flatten()?;
        let (usual, mine) = (*self.usual.get(end)?, *self.waits.get(end)?.get(&process)?);
        (mine < usual * thresholds.quarter_share).then_some((end, usual - mine))
    }

    /// True if all ranks synchronize between the begin of phase `first` and the begin of phase `last`.
    #[must_use]
    pub fn one_between(&self, first: usize, last: usize) -> bool {
        self.ends.get(first).copied().flatten().is_some_and(|end| end < last)
    }

    /// Iterates over synchronization points that are not far after the previous one: phase that the point ends, and each rank's wait, ns.
    pub fn waits(&self) -> impl Iterator<Item = (usize, &FxHashMap<ProcessId, f64>)> {
        let known = |(phase, waits): (usize, _)| (self.after(phase) == Some(phase)).then_some((phase, waits));
        self.waits.iter().enumerate().filter_map(known)
    }

    /// Returns the least wait of the ranks that are not in `who`, summed over synchronization points of all ranks, ns; `None` if there are
    /// no such points.
    #[must_use]
    pub fn waited_by_others(&self, who: &[ProcessId]) -> Option<f64> {
        let all = self.waits().chain(self.far().map(|(end, (_, waits))| (end, waits)));
        let least = |waits: &FxHashMap<ProcessId, f64>| {
            let others = waits.iter().filter(|(process, _)| !who.contains(process));
            others.map(|(_, ns)| *ns).reduce(f64::min).unwrap_or_default()
        };
        all.map(|(_, waits)| least(waits)).reduce(|sum, ns| sum + ns)
    }

    /// Returns the time that every rank waits at least at synchronization points in the whole run: the least sum of a rank, ns.
    #[must_use]
    pub fn waited_by_each(&self) -> f64 {
        let mut of = Times::default();
        for waits in &self.waits {
            waits.iter().for_each(|(process, ns)| *of.entry(*process).or_default() += ns);
        }
        of.values().copied().reduce(f64::min).unwrap_or_default()
    }

    /// Adds the time of each process in calls of each phase (`in_calls`), from which waits for messages are estimated. `threaded`:
    /// processes of which this time shows nothing, since several threads make calls.
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

    /// Returns how much earlier ranks leave each synchronization point if calls get shorter, ns: at most [`BeforeSyncPoint::ns`], and at
    /// most what any single rank gains. A rank gains its wait for others, at the point or for messages, plus its own saving, since a rank
    /// that waits for nobody works on. All of `ns` if waits are unknown.
    #[must_use]
    pub fn saved(&self, thresholds: &Thresholds, all: &[BeforeSyncPoint]) -> Vec<f64> {
        let known: Vec<(usize, &BeforeSyncPoint)> = all.iter().filter_map(|of| Some((of.end?, of))).collect();
        // Ranks that wait long enough at each of them need not be examined.
        let mut who: BTreeSet<ProcessId> = BTreeSet::new();
        for (end, of) in &known {
            let waits = self.waits.get(*end).into_iter().flatten();
            let beside = |process: ProcessId| self.in_library(*end, process) + time(&of.less, process);
            let too_short = waits.filter(|(process, waits)| *waits + beside(**process) < of.ns);
            who.extend(too_short.map(|(process, _)| *process));
        }
        let less: Vec<_> = known.iter().map(|(end, of)| (*end, &of.less)).collect();
        let mut for_messages = self.messages.waits(thresholds, &self.waits, &less, &who).into_iter();
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

/// Time that ranks save before one synchronization point if calls get shorter.
#[derive(Clone, Debug, Default)]
pub struct BeforeSyncPoint {
    /// Phase that the synchronization point ends; `None` if unknown.
    pub end: Option<usize>,
    /// Largest saving of a rank before the synchronization point, ns.
    pub ns: f64,
    /// Time that each rank saves before the synchronization point, ns.
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
        // Counted from 150 on: the first phase is completely recorded, the second partly, the others are not.
        let waited = vec![(0, 40.0, (0, 100)), (1, 10.0, (100, 200)), (2, 20.0, (200, 300)), (3, 30.0, (300, 400))];
        let all = scaled(waited.clone(), 120.0, 150, 400);
        assert_eq!(all, [(0, 40.0), (1, 30.0), (2, 60.0), (3, 90.0)]);
        // No phase has more waits than time, or less than recorded.
        let most = scaled(waited.clone(), 6000.0, 150, 380);
        assert_eq!(most, [(0, 40.0), (1, 100.0), (2, 100.0), (3, 80.0)]);
        assert_eq!(scaled(waited, 0.0, u64::MAX, 400).iter().map(|(_, ns)| ns).sum::<f64>(), 100.0);
        // Nothing recorded beside the counted waits: their place is unknown.
        assert_eq!(scaled(vec![(0, 40.0, (0, 100))], 70.0, 100, 400), [(0, 40.0)]);
    }
}
