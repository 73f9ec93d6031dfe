//! Finds the fastest and slowest process. A reduced record stands for several ranks and names only the fastest and slowest rank per file,
//! their times, and the variance. Any other rank's time on that file lies between these two, or is 0 if the rank did not use the file.

use super::fold::Times;
use crate::model::{FileId, ProcessId, Run, Within};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;
use trace_format::spread::Spread;

/// Minimum, maximum and standard deviation over processes of their time in I/O calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Extremes {
    /// Minimum, ns; an upper bound if records of several files each stand for several ranks.
    pub(super) min_ns: Option<u64>,
    /// Maximum, ns; a lower bound if records of several files each stand for several ranks.
    pub(super) max_ns: Option<u64>,
    /// Name of the process with the longest time in I/O calls.
    pub(super) slowest: String,
    /// Standard deviation of the time in I/O calls, ns; `None` if not known.
    pub(super) deviation_ns: Option<f64>,
}

/// Returns minimum, maximum and deviation, over processes, of a time in I/O calls, which `of` selects from each process's `times`.
///
/// `whose`: layers whose reduced records (each stands for several ranks) count; if empty, the layer that the program called, for each file;
/// `None` for no such records. Returns `None` if ranks were reduced and no record shows how they differ.
pub(super) fn extremes(
    run: &Run,
    times: &[(ProcessId, Times)],
    whose: Option<&[Layer]>,
    of: &dyn Fn(&Times) -> u64,
) -> Option<Extremes> {
    let is_one = |number: ProcessId| run.process(number).is_some_and(|process| process.reduction.is_none());
    let (alone, together): (Vec<_>, Vec<_>) = times.iter().partition(|(number, _)| is_one(*number));
    if together.iter().all(|(_, times)| of(times) == 0) {
        let alone = || alone.iter().map(|(number, times)| (*number, of(times)));
        // A rank without a process record made no calls.
        let silent = run.process_count() > alone().count() as u64;
        let slowest = alone().max_by_key(|(number, time)| (*time, std::cmp::Reverse(*number)));
        return Some(Extremes {
            min_ns: if silent { Some(0) } else { alone().map(|(_, time)| time).min() },
            max_ns: slowest.map(|(_, time)| time),
            slowest: slowest.map(|(number, _)| run.process_name(number)).unwrap_or_default(),
            deviation_ns: deviation(alone().map(|(_, time)| time as f64), run.process_count()),
        });
    }
    let spreads = spreads(run, whose?);
    // Time of each rank outside of reduced records, and the ranks that reduced records name as fastest or slowest.
    let mut own: BTreeMap<i64, u64> = BTreeMap::new();
    for (number, times) in &alone {
        let rank = run.process(*number).map_or(-1, |process| i64::from(process.rank));
        let sum = own.entry(rank).or_default();
        *sum = sum.saturating_add(of(times));
    }
    let named = spreads.iter().flat_map(|spread| [spread.fastest.rank, spread.slowest.rank]).map(i64::from);
    let mut ranks: BTreeSet<i64> = named.chain(own.keys().copied()).collect();
    // All other ranks have equal bounds, so one of them represents all.
    let all = i64::try_from(run.ranks()).unwrap_or(i64::MAX);
    ranks.extend((0..all).find(|rank| !ranks.contains(rank)));
    let part = |rank: i64, spread: &Spread| match rank {
        rank if rank == i64::from(spread.slowest.rank) => [spread.slowest.time_ns; 2],
        rank if rank == i64::from(spread.fastest.rank) => [spread.fastest.time_ns; 2],
        _ if i64::from(spread.ranks) < all => [0, spread.slowest.time_ns],
        _ => [spread.fastest.time_ns, spread.slowest.time_ns],
    };
    let bounds = |rank: i64| {
        let mine = own.get(&rank).copied().unwrap_or(0);
        spreads.iter().fold([mine; 2], |[least, most], spread| {
            let [low, high] = part(rank, spread);
            [least.saturating_add(low), most.saturating_add(high)]
        })
    };
    let known: Vec<(i64, [u64; 2])> = ranks.iter().map(|rank| (*rank, bounds(*rank))).collect();
    let slowest = known.iter().max_by_key(|(rank, [least, _])| (*least, std::cmp::Reverse(*rank)))?;
    Some(Extremes {
        min_ns: known.iter().map(|(_, [_, most])| *most).min(),
        max_ns: Some(slowest.1[0]),
        slowest: format!("rank {}", slowest.0),
        deviation_ns: match spreads.as_slice() {
            [only] if own.values().all(|time| *time == 0) => Some(deviation_of(only, run.process_count())),
            _ => None,
        },
    })
}

/// Returns the fastest and slowest ranks recorded for `layers`; if `layers` is empty, those of each file at the layer that the program
/// called.
fn spreads(run: &Run, layers: &[Layer]) -> Vec<Spread> {
    let mut called: BTreeSet<(FileId, Layer)> = BTreeSet::new();
    for process in run.processes.iter().filter(|process| !process.reduction.is_none()) {
        let own = process.streams.iter().filter(|stream| stream.within() == Within::Nothing);
        called.extend(own.filter_map(|stream| Some((stream.file, run.op(stream).layer?))));
    }
    let defs = run.processes.iter().flat_map(|process| &process.reduction.spreads);
    let wanted = defs.filter(|def| match layers {
        [] => called.contains(&(FileId(def.file), def.layer)),
        some => some.contains(&def.layer),
    });
    wanted.map(|def| def.spread).collect()
}

/// Returns the standard deviation, over `count` ranks, of the time in I/O calls on one file, ns; ranks not in `spread` have a time of 0.
fn deviation_of(spread: &Spread, count: u64) -> f64 {
    let there = f64::from(spread.ranks);
    let count = there.max(count as f64).max(1.0);
    let mean = spread.time_ns.mean * there / count;
    let (apart, absent) = (spread.time_ns.mean - mean, count - there);
    let squares = spread.time_ns.squares + there * apart * apart + absent * mean * mean;
    (squares / count).max(0.0).sqrt()
}

/// Returns the standard deviation of `times` over `count` processes; processes not in `times` have a time of 0. `None` if `count` is 0.
fn deviation(times: impl Iterator<Item = f64> + Clone, count: u64) -> Option<f64> {
    let count = count as f64;
    if count < 1.0 {
        return None;
    }
    let mean = times.clone().sum::<f64>() / count;
    let there = times.clone().count() as f64;
    let squares: f64 = times.map(|time| (time - mean).powi(2)).sum::<f64>() + (count - there).max(0.0) * mean * mean;
    Some((squares / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::spread::RankShare;

    #[test]
    fn ranks_that_did_not_use_a_file_had_no_time_on_it() {
        let mut spread = Spread::default();
        for time_ns in [10, 30] {
            spread.merge(&Spread::of(RankShare { rank: 0, time_ns, bytes: 0 }));
        }
        // Times 10 and 30 have variance 100. With two zeros added: mean 10, variance (0 + 400 + 100 + 100) / 4.
        assert!((deviation_of(&spread, 2) - 10.0).abs() < 1e-9);
        assert!((deviation_of(&spread, 4) - 150.0_f64.sqrt()).abs() < 1e-9);
        let same = deviation([10.0, 30.0].into_iter(), 4).unwrap();
        assert!((deviation_of(&spread, 4) - same).abs() < 1e-9);
    }
}
