//! Estimates how long ranks wait for messages of other ranks. Messages are not recorded. The evidence is a rank that spends more time
//! outside of calls where another rank's calls take longer, and longer by about as much.

use crate::cube::reading::slots::Slots;
use crate::model::ProcessId;
use crate::shared::stats::median;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Some time (in calls, in waits, saved) of each process, ns.
pub type Times = FxHashMap<ProcessId, f64>;

/// Time of each rank between synchronization points outside of calls: neither in calls nor waiting at the points.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// By phase that a synchronization point ends: each rank's time outside of calls since the previous point, ns; empty if no point ends
    /// the phase.
    outside: Vec<Times>,
    /// By phase that a synchronization point ends: each rank's time in calls since the previous point, ns.
    calls: Vec<Times>,
    /// Processes in which a thread computes while others make calls: the time between one thread's calls does not show if the process computes
    /// or waits.
    threaded: BTreeSet<ProcessId>,
}

/// Phase that a synchronization point ends, and by how much each process's calls before it get shorter if a cause is removed, ns.
pub type Shorter<'a> = (usize, &'a Times);

impl Messages {
    /// Computes each rank's time outside of calls. `waits`: waits of ranks, by phase that a synchronization point ends; `in_calls`: time of
    /// a process in calls of a phase, ns.
    #[must_use]
    pub fn of(
        slots: &Slots,
        length: u64,
        waits: &[Times],
        threaded: BTreeSet<ProcessId>,
        in_calls: impl Fn(usize, ProcessId) -> f64,
    ) -> Self {
        let mut first = 0;
        let of_sync_point = |(end, waits): (usize, &Times)| {
            if waits.is_empty() {
                return (Times::default(), Times::default());
            }
            let (from, until) = (slots.span(first).0, slots.span(end).1.min(length));
            let span = until.saturating_sub(from) as f64;
            let calls: Times = waits
                .keys()
                .map(|process| (*process, (first..=end).map(|phase| in_calls(phase, *process)).sum()))
                .collect();
            let of = |(process, waited): (&ProcessId, &f64)| {
                (*process, (span - waited - calls.get(process).copied().unwrap_or_default()).max(0.0))
            };
            let outside = waits.iter().map(of).collect();
            first = end + 1;
            (outside, calls)
        };
        let (outside, calls) = waits.iter().enumerate().map(of_sync_point).unzip();
        Self { outside, calls, threaded }
    }

    /// Returns how long each rank in `who` waits for messages of ranks whose calls get shorter (`all`), for each synchronization point, ns:
    /// at most by how much they get shorter. `met`: waits at synchronization points, by the phase that each ends.
    #[must_use]
    pub fn waits(
        &self,
        thresholds: &Thresholds,
        met: &[Times],
        all: &[Shorter<'_>],
        who: &BTreeSet<ProcessId>,
    ) -> Vec<Times> {
        let mut most: Vec<f64> = all.iter().map(|(_, less)| less.values().copied().fold(0.0, f64::max)).collect();
        let of_all = most.clone();
        let usual = median(&mut most).unwrap_or_default();
        let slow: Vec<Vec<ProcessId>> = all
            .iter()
            .zip(&of_all)
            .map(|((_, less), most)| those(less, |ns| ns >= most * thresholds.half_share))
            .collect();
        let mut ever: Vec<ProcessId> = slow.iter().flatten().copied().collect();
        ever.sort_unstable();
        ever.dedup();
        let held_up = |end: usize| {
            all.iter().zip(&of_all).any(|((at, _), most)| *at == end && *most > usual * thresholds.some_share)
        };
        let free: Vec<&Times> = self
            .outside
            .iter()
            .enumerate()
            .filter(|(end, of)| !of.is_empty() && !held_up(*end))
            .map(|of| of.1)
            .collect();
        let mut waits: Vec<Times> = vec![Times::default(); all.len()];
        for &process in who {
            let usually = Usually::of(thresholds, &free, &ever, process);
            let beyond = |((end, _), slow): (&Shorter<'_>, &Vec<ProcessId>)| {
                if slow.iter().any(|process| self.threaded.contains(process)) {
                    return None;
                }
                let of = self.outside.get(*end)?;
                let expected = usually.expected(least(of, slow)?);
                (!slow.contains(&process)).then_some((of.get(&process)? - expected).max(0.0))
            };
            let beyond: Vec<f64> = all.iter().zip(&slow).map(|of| beyond(of).unwrap_or_default()).collect();
            let comes_with = |end: usize, slow: &[ProcessId], most: f64| {
                let of = met.get(end)?;
                Some((of.get(&process)? - least(of, slow)?).abs() <= most * thresholds.quarter_share)
            };
            let similar = |((ns, most), ((end, _), slow)): &((&f64, &f64), (&Shorter<'_>, &Vec<ProcessId>))| {
                let as_long =
                    (**most * thresholds.half_share..=**most * thresholds.slower_ratio).contains(*ns) && **most > 0.0;
                as_long && comes_with(*end, slow, **most).unwrap_or_default()
            };
            let often = beyond.iter().zip(&of_all).zip(all.iter().zip(&slow)).filter(similar).count();
            let often = often >= (thresholds.repeated_min as usize)
                && often as f64 >= all.len() as f64 * thresholds.majority_share;
            if usually.is_known() || often && !self.keeps_its_own_time(thresholds, process, all, &slow) {
                for ((waits, ns), most) in waits.iter_mut().zip(beyond).zip(&of_all) {
                    if ns > 0.0 && ns <= most * thresholds.slower_ratio {
                        waits.insert(process, ns.min(*most));
                    }
                }
            }
        }
        waits
    }

    /// True if a rank's time outside of calls varies too little for a rank that waits for the slow ranks: a waiting rank is outside of
    /// calls for longer whenever the slow ranks' calls take longer.
    fn keeps_its_own_time(
        &self,
        thresholds: &Thresholds,
        process: ProcessId,
        all: &[Shorter<'_>],
        slow: &[Vec<ProcessId>],
    ) -> bool {
        let of = |((end, _), slow): (&Shorter<'_>, &Vec<ProcessId>)| {
            let (outside, calls) = (self.outside.get(*end)?.get(&process)?, self.calls.get(*end)?);
            let theirs = slow.iter().filter_map(|process| calls.get(process)).copied().fold(0.0, f64::max);
            Some((*outside, outside - (theirs - calls.get(&process)?)))
        };
        let (outside, beside): (Vec<f64>, Vec<f64>) = all.iter().zip(slow).filter_map(of).unzip();
        outside.len() >= (thresholds.few_min as usize) && varies(&outside) < varies(&beside)
    }
}

/// Returns the mean absolute deviation of the values from their median.
fn varies(values: &[f64]) -> f64 {
    let middle = median(&mut values.to_vec()).unwrap_or_default();
    values.iter().map(|value| (value - middle).abs()).sum::<f64>() / values.len().max(1) as f64
}

/// Usual time of a rank outside of calls when it waits for no message.
struct Usually {
    /// Usual time of the rank outside of calls / that of the slow ranks.
    times: f64,
    /// Usual time of the rank outside of calls, ns; `None` if unknown.
    ns: Option<f64>,
}

impl Usually {
    fn of(thresholds: &Thresholds, free: &[&Times], slow: &[ProcessId], process: ProcessId) -> Self {
        let mine: Vec<f64> = free.iter().filter_map(|of| of.get(&process).copied()).collect();
        let mut times: Vec<f64> =
            free.iter().filter_map(|of| Some(of.get(&process)? / least(of, slow).filter(|ns| *ns > 0.0)?)).collect();
        if times.len() < thresholds.repeated_min as usize {
            return Self { times: 1.0, ns: None };
        }
        Self { times: median(&mut times).unwrap_or(1.0), ns: lower_median(mine) }
    }

    fn is_known(&self) -> bool {
        self.ns.is_some()
    }

    /// Returns the time that the rank is expected to spend outside of calls, ns, if a slow rank spends `of_slow` ns outside of calls: at
    /// least the usual time, since the slow rank may wait, too.
    fn expected(&self, of_slow: f64) -> f64 {
        (of_slow * self.times).max(self.ns.unwrap_or_default())
    }
}

/// Returns the lower median (the lower of the two middle values, if the number is even), since the first interval of a run is long; `None`
/// without values.
fn lower_median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn those(of: &Times, is: impl Fn(f64) -> bool) -> Vec<ProcessId> {
    of.iter().filter(|(_, ns)| is(**ns)).map(|(process, _)| *process).collect()
}

fn least(of: &Times, processes: &[ProcessId]) -> Option<f64> {
    processes.iter().filter_map(|process| of.get(process).copied()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: &[f64]) -> Times {
        (0..).map(ProcessId).zip(of.iter().copied()).collect()
    }

    fn waits(outside: &[&[f64]], less: &[(usize, &[f64])]) -> Vec<Times> {
        let outside: Vec<Times> = outside.iter().map(|of| times(of)).collect();
        // All arrive at once.
        let met: Vec<Times> = outside.iter().map(|of| of.keys().map(|process| (*process, 0.0)).collect()).collect();
        let less: Vec<(usize, Times)> = less.iter().map(|(end, of)| (*end, times(of))).collect();
        let less: Vec<Shorter<'_>> = less.iter().map(|(end, of)| (*end, of)).collect();
        Messages { outside, ..Messages::default() }.waits(
            &Thresholds::default(),
            &met,
            &less,
            &(0..3).map(ProcessId).collect(),
        )
    }

    #[test]
    fn who_keeps_its_own_time_waits_for_nobody() {
        // Rank 1 is in calls for the given time, the others for 10.
        let theirs = [130.0, 124.0, 131.0, 127.0, 133.0];
        let of = |outside: &dyn Fn(f64) -> f64| {
            let outside: Vec<Times> = theirs.iter().map(|ns| times(&[outside(*ns), 100.0, 100.0])).collect();
            let calls: Vec<Times> = theirs.iter().map(|ns| times(&[10.0, *ns, 10.0])).collect();
            let met: Vec<Times> = theirs.iter().map(|_| times(&[0.0, 0.0, 0.0])).collect();
            let less: Vec<Times> = theirs.iter().map(|ns| times(&[0.0, ns - 10.0, 0.0])).collect();
            let less: Vec<Shorter<'_>> = less.iter().enumerate().collect();
            Messages { outside, calls, ..Messages::default() }.waits(
                &Thresholds::default(),
                &met,
                &less,
                &[ProcessId(0)].into(),
            )
        };
        let waits = |of: &[Times]| of.iter().filter(|of| of.contains_key(&ProcessId(0))).count();
        assert_eq!(waits(&of(&|ns| 100.0 + ns - 10.0)), 5);
        assert_eq!(waits(&of(&|_| 220.0)), 0);
    }

    #[test]
    fn who_computes_longer_where_another_is_slow_waits_for_it() {
        let (free, slow): (&[f64], &[f64]) = (&[100.0, 100.0, 100.0], &[210.0, 90.0, 100.0]);
        let of = waits(&[free, slow, free, slow], &[(1, &[0.0, 120.0, 0.0]), (3, &[0.0, 120.0, 0.0])]);
        assert_eq!(
            of,
            [[(ProcessId(0), 110.0)].into_iter().collect(), [(ProcessId(0), 110.0)].into_iter().collect::<Times>()]
        );
    }

    #[test]
    fn who_always_computes_longer_does_not_wait() {
        let all: &[f64] = &[210.0, 100.0, 100.0];
        let less: &[(usize, &[f64])] = &[(1, &[0.0, 120.0, 0.0]), (3, &[0.0, 120.0, 0.0])];
        assert_eq!(waits(&[all, all, all, all], less), [Times::default(), Times::default()]);
        // A rank that computes far longer than it could wait does not wait either.
        let (free, slow): (&[f64], &[f64]) = (&[100.0, 100.0, 100.0], &[400.0, 100.0, 100.0]);
        assert_eq!(waits(&[free, slow, free, slow], less), [Times::default(), Times::default()]);
    }

    #[test]
    fn where_a_rank_is_always_slow_lengths_must_agree() {
        let slow: &[f64] = &[210.0, 100.0, 100.0];
        let of = |ns: [f64; 3]| {
            let less: Vec<Vec<f64>> = ns.iter().map(|ns| vec![0.0, *ns, 0.0]).collect();
            let less: Vec<(usize, &[f64])> = less.iter().enumerate().map(|(end, of)| (end, of.as_slice())).collect();
            waits(&[slow, slow, slow], &less)
                .iter()
                .map(|of| of.get(&ProcessId(0)).copied().unwrap_or_default())
                .collect::<Vec<_>>()
        };
        assert_eq!(of([120.0, 110.0, 90.0]), [110.0, 110.0, 90.0]);
        assert_eq!(of([120.0, 10.0, 20.0]), [0.0, 0.0, 0.0]);
    }
}
