//! Progress of other processes while a call stalls (takes very long). A process does not wait for that call if it goes on making calls at
//! its usual pace, in several rounds with pauses between, or if all of its pauses are equally long.

use crate::cube::Cube;
use crate::cube::waits::known::Calls;
use crate::model::ProcessId;
use crate::shared::stats::median;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Maximum number of savings in calls during which the progress of others is examined: more are no single stalls.
const CALLS: usize = 64;
/// Calls block nobody if at least this share of their savings is in calls during which others continue. Others continue, too, if at least
/// this share of them has pauses as long as ever.
const MOST: f64 = 0.8;
/// Minimum calls of another process during a stall, relative to its calls in a round, for it to continue: one round might have been under
/// way.
const ROUNDS: f64 = 1.5;
/// Minimum pace of a process's calls during a stall, relative to its usual pace, for it not to wait.
const PACE: f64 = 0.6;

/// Returns true if most other processes continue during most of the calls that `savings` shorten: they do not wait for these calls.
#[must_use]
pub fn others_go_on(cube: &Cube<'_>, savings: &[(u32, f64)]) -> bool {
    if savings.is_empty() || savings.len() > CALLS || cube.slots_of_cell > 1 {
        return false;
    }
    let cells = savings.iter().map(|(index, _)| *index).collect();
    let go_on = cube.pace.go_on(cells, |cells| go_on(cube, cube.pace.calls(|| calls(cube)), cells));
    let (mut all, mut beside) = (0.0, 0.0);
    for ((_, ns), go_on) in savings.iter().zip(go_on.iter()) {
        all += ns;
        beside += if *go_on { *ns } else { 0.0 };
    }
    beside >= all * MOST
}

/// Returns the calls of each process: (time window, number of calls).
fn calls(cube: &Cube<'_>) -> Calls {
    let mut calls = Calls::default();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        calls.entry(cell.process).or_default().push((cell.slot, cell.sums.calls));
    }
    calls
}

/// Returns for each of `cells` (similar calls of one process in a time window) true if most other processes continue during the cell's
/// longest call.
fn go_on(cube: &Cube<'_>, calls: &Calls, cells: &[u32]) -> Vec<bool> {
    let span = |index: &u32| {
        let cell = cube.cells.get(*index as usize)?;
        let began = cell.sums.longest_began()?;
        Some((cell.process, began, began.saturating_add(cell.sums.longest_ns)))
    };
    let spans: Vec<(ProcessId, u64, u64)> = cells.iter().filter_map(span).collect();
    let during = |index: &u32| {
        let Some((_, began, until)) = span(index) else { return false };
        // A process whose call stalls at the same time is waiting, too.
        let meanwhile = spans.iter().filter(|other| other.1 < until && began < other.2);
        let mine: FxHashSet<ProcessId> = meanwhile.map(|other| other.0).collect();
        // Time windows completely inside the stall.
        let (first, end) = (cube.slots.of(began) + 1, cube.slots.of(until));
        let phase = |slot: u16| cube.slots.phase(usize::from(slot));
        let others = calls.iter().filter(|(process, _)| !mine.contains(process));
        let mut go_on: Vec<f64> =
            others.clone().map(|(_, calls)| f64::from(u8::from(goes_on(calls, (first, end), phase)))).collect();
        let pause_as_ever = others.clone().filter(|(_, calls)| pauses_as_ever(calls, (first, end))).count();
        let nearly_all = pause_as_ever as f64 >= others.count() as f64 * MOST && pause_as_ever > 0;
        nearly_all || median(&mut go_on).is_some_and(|most| most > 0.5)
    };
    cells.iter().map(during).collect()
}

/// Minimum number of a process's pauses that show its usual pause.
const PAUSES: usize = 4;
/// Minimum length of a stall, in time windows, that would prolong the pause of a waiting process.
const LONG: usize = 3;
/// Minimum share of a process's pauses that are near their median, for the pauses to count as always equally long.
const ALWAYS: f64 = 0.8;
/// Maximum difference of a pause from the median pause, relative to the median, to be near it.
const AS_LONG: f64 = 0.35;
/// Minimum prolongation of a process's pause by a stall for which it waits, relative to the length of the stall.
const HELD_UP: f64 = 0.5;

/// Returns true if a process's pauses are always about equally long, and no longer during a stall (time windows `first` up to `end`) or in
/// the round after it. `calls`: (time window, number of calls).
fn pauses_as_ever(calls: &[(u16, u64)], (first, end): (usize, usize)) -> bool {
    let long = end.saturating_sub(first);
    let mut slots: Vec<usize> = calls.iter().map(|(slot, _)| usize::from(*slot)).collect();
    slots.sort_unstable();
    slots.dedup();
    let pauses: Vec<(usize, usize)> =
        slots.windows(2).map(|two| (two[0], two[1])).filter(|(from, until)| until - from > 1).collect();
    let length = |(from, until): &(usize, usize)| (until - from) as f64;
    let Some(usual) = median(&mut pauses.iter().map(length).collect::<Vec<f64>>()) else { return false };
    let behind = end + usual as usize + 1;
    let (beside, others): (Vec<_>, Vec<_>) = pauses.iter().partition(|(from, until)| *until > first && *from < behind);
    let similar = others.iter().filter(|pause| (length(pause) - usual).abs() <= (usual * AS_LONG).max(1.0)).count();
    let always = others.len() >= PAUSES && similar as f64 >= others.len() as f64 * ALWAYS;
    let goes_on_behind = slots.last().is_some_and(|last| *last >= behind);
    long >= LONG && always && goes_on_behind && beside.iter().all(|pause| length(pause) < usual + long as f64 * HELD_UP)
}

/// Returns true if a process goes on making calls in time windows `first` up to `end`. `calls`: (time window, number of calls); `phase`
/// returns the phase of a time window; the calls of a phase are a round.
fn goes_on(calls: &[(u16, u64)], (first, end): (usize, usize), phase: impl Fn(u16) -> usize) -> bool {
    let within = |slot: u16| (first..end).contains(&usize::from(slot));
    let slots = || calls.iter().map(|(slot, _)| *slot);
    let (Some(from), Some(to)) = (slots().min(), slots().max()) else { return false };
    let all: u64 = calls.iter().map(|(_, calls)| *calls).sum();
    let meanwhile: u64 = calls.iter().filter(|(slot, _)| within(*slot)).map(|(_, calls)| *calls).sum();
    let usual = all as f64 / f64::from(to - from + 1);
    let mut rounds: BTreeMap<usize, f64> = BTreeMap::new();
    calls.iter().filter(|(slot, _)| !within(*slot)).for_each(|(slot, calls)| {
        *rounds.entry(phase(*slot)).or_default() += *calls as f64;
    });
    let round = median(&mut rounds.into_values().collect::<Vec<f64>>()).unwrap_or(all as f64);
    meanwhile as f64 >= (round * ROUNDS).max(usual * (end.saturating_sub(first)) as f64 * PACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_pauses_no_longer_than_ever_waits_for_nothing() {
        let rounds = |longer: u16| -> Vec<(u16, u64)> {
            (0..10).map(|round| (round * 6 + if round >= 5 { longer } else { 0 }, 4)).collect()
        };
        // A stall in time windows 25 to 33, and a pause from 24 to 30, or longer.
        assert!(pauses_as_ever(&rounds(0), (25, 33)));
        assert!(!pauses_as_ever(&rounds(7), (25, 33)));
        // A short stall prolongs no pause noticeably, and pauses of varying length show nothing.
        assert!(!pauses_as_ever(&rounds(0), (25, 27)));
        let at_random: Vec<(u16, u64)> = [0, 3, 12, 14, 30, 33, 41, 50, 52].map(|slot| (slot, 4)).into();
        assert!(!pauses_as_ever(&at_random, (25, 33)));
        // Without calls after the stall, nothing is known.
        assert!(!pauses_as_ever(&rounds(0)[..6], (25, 33)));
    }

    #[test]
    fn who_begins_anew_at_its_usual_pace_goes_on() {
        let round = |slot: u16| usize::from(slot / 10);
        let each_tenth: Vec<(u16, u64)> = (0..20).map(|at| (at * 10, 4)).collect();
        assert!(goes_on(&each_tenth, (45, 75), round));
        // Only once, and too rarely.
        assert!(!goes_on(&each_tenth, (45, 55), round));
        let with_a_gap: Vec<(u16, u64)> =
            each_tenth.iter().copied().filter(|(slot, _)| !(70..150).contains(slot)).collect();
        assert!(!goes_on(&with_a_gap, (45, 145), round));
        // Calls all the time: rounds cannot be distinguished.
        let always: Vec<(u16, u64)> = (0..200).map(|at| (at, 4)).collect();
        assert!(!goes_on(&always, (45, 75), |_| 0));
        assert!(goes_on(&always, (45, 75), round));
    }
}
