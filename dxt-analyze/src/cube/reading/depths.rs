//! Second pass over the trace: durations of calls by number of calls that are in flight on their storage target when they begin. In a
//! queue, durations grow with this number. Only for runs with few storage targets. Calls are compared within a time window, relative to the
//! usual time of their size.

use super::parts::LOG_BITS;
use super::served::{InSlot, Served};
use super::slots::Slots;
use crate::model::{Class, FileLayout};
use std::collections::BTreeMap;

const TARGETS: usize = 64;
/// Largest number of parts into which the run is divided; calls that begin in the same part count as beginning at once.
const PARTS: usize = 1 << 12;
/// Largest product of the number of parts of the run and the number of storage targets: bounds the memory of the sums.
const ALL_PARTS: usize = 1 << 16;
/// Least number of calls to decide if durations grow with the number of calls in flight.
const CALLS: f64 = 96.0;
/// Least standard deviation of the logarithm of the number of calls in flight, to decide if durations grow with this number.
const SPREAD: f64 = 0.4;
/// Least slope of log duration over the logarithm of the number of calls in flight, for durations to count as growing.
const GROWS: f64 = 0.4;
/// Least correlation of log duration and the logarithm of the number of calls in flight, for durations to count as growing.
const CORRELATES: f64 = 0.5;

/// One call that a storage target serves.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Begin of the call, ns since the job's start.
    pub at: u64,
    /// Duration of the call, ns.
    pub duration: u64,
    /// Slowdown: log(duration / usual duration), times 2^16.
    pub above: i64,
}

/// A part of the run: its number, begin and end, ns since the job's start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    part: usize,
    from: u64,
    until: u64,
}

impl Near {
    #[inline]
    const fn holds(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }
}

/// Storage targets and parts of the run for which calls in flight are counted.
#[derive(Clone, Debug, Default)]
pub struct Depths {
    /// OST indices of the storage targets, ascending; empty if there are too many.
    targets: Vec<u32>,
    /// Number of parts into which the run is divided.
    parts: usize,
    /// Length of a part of the run, ns.
    width: u64,
}

/// Calls on one storage target in one part of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Growth of the number of calls in flight: calls that begin in the part and end later, less those that began before and end in it.
    more: i64,
    /// Number of calls that begin in the part.
    calls: u64,
    /// Sum of the log slowdowns of the calls that begin in the part, times 2^16.
    logs: i64,
    /// Number of calls that end in the part.
    ends: u64,
    /// Time of the calls that begin in the part, ns.
    time_ns: u64,
}

/// Sums of reads (first) and of writes (second), by part of the run and storage target; empty without calls.
#[derive(Debug, Default)]
pub struct Partial([Vec<Sum>; 2]);

const fn place(class: Class) -> Option<usize> {
    match class {
        Class::Read => Some(0),
        Class::Write => Some(1),
        _ => None,
    }
}

impl Depths {
    /// Prepares sums of the calls in flight on the targets of `layouts`, in a run of `length` ns.
    #[must_use]
    pub fn new(length: u64, layouts: &[Option<FileLayout>]) -> Self {
        let components = layouts.iter().flatten().flat_map(|of| &of.layout.components);
        let mut targets: Vec<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() > TARGETS {
            targets.clear();
        }
        let parts = (ALL_PARTS / targets.len().max(1)).min(PARTS);
        Self { targets, parts, width: length / parts as u64 + 1 }
    }

    /// Returns the index of a storage target in `targets`; `None` if it is not among them. Targets are mostly numbered without gaps.
    #[inline]
    fn place(&self, target: u32) -> Option<usize> {
        let place = target.checked_sub(*self.targets.first()?)? as usize;
        if self.targets.get(place) == Some(&target) { Some(place) } else { self.targets.binary_search(&target).ok() }
    }

    /// Returns the part of the run that contains the time `at`.
    fn near(&self, at: u64) -> Near {
        let part = ((at / self.width) as usize).min(self.parts - 1);
        let from = (part as u64).saturating_mul(self.width);
        Near { part, from, until: if part + 1 < self.parts { from.saturating_add(self.width) } else { u64::MAX } }
    }

    /// Adds a call. `near`: part of the run in which the previous call began, updated if this call begins in another.
    #[inline]
    pub fn add(&self, partial: &mut Partial, near: &mut Near, (class, target): (Class, u32), call: Call) {
        let Call { at, duration, above } = call;
        let Some(sums) = place(class).and_then(|place| partial.0.get_mut(place)) else { return };
        let Some(target) = self.place(target) else { return };
        if sums.is_empty() {
            sums.resize(self.parts * self.targets.len(), Sum::default());
        }
        let end = at.saturating_add(duration);
        if !near.holds(at) {
            *near = self.near(at);
        }
        let from = near.part;
        let index = |part: usize| part * self.targets.len() + target;
        let Some(sum) = sums.get_mut(index(from)) else { return };
        sum.calls += 1;
        // A logarithm takes 22 bits: no trace has enough calls for their sum to overflow.
        sum.logs += above;
        sum.time_ns = sum.time_ns.saturating_add(duration);
        let until = if near.holds(end) { from } else { self.near(end).part };
        if from == until {
            sum.ends += 1;
            return;
        }
        sum.more += 1;
        if let Some(sum) = sums.get_mut(index(until)) {
            sum.ends += 1;
            sum.more -= 1;
        }
    }

    /// Returns, for each storage target, the time during which calls of a class that begin on it are in flight, ns; resolved to parts of
    /// the run.
    #[must_use]
    pub fn busy(&self, partial: &Partial, class: Class) -> BTreeMap<u32, f64> {
        let Some(sums) = place(class).and_then(|place| partial.0.get(place)).filter(|sums| !sums.is_empty()) else {
            return BTreeMap::new();
        };
        let of = |(place, target): (usize, &u32)| {
            let (mut before, mut busy) = (0_i64, 0.0);
            for sum in sums.iter().skip(place).step_by(self.targets.len()) {
                busy += if before > 0 { self.width as f64 } else { (sum.time_ns as f64).min(self.width as f64) };
                before = before.saturating_add(sum.more);
            }
            (busy > 0.0).then_some((*target, busy))
        };
        self.targets.iter().enumerate().filter_map(of).collect()
    }

    /// Returns how many calls of a class storage targets complete, by number of calls in flight.
    #[must_use]
    pub fn served(&self, partial: &Partial, class: Class, slots: &Slots) -> Served {
        let mut out = Served::default();
        let Some(sums) = place(class).and_then(|place| partial.0.get(place)).filter(|sums| !sums.is_empty()) else {
            return out;
        };
        for target in 0..self.targets.len() {
            let (mut before, mut slot, mut of_slot) = (0_i64, 0, InSlot::default());
            for (number, sum) in sums.iter().skip(target).step_by(self.targets.len()).enumerate() {
                out.add(u64::try_from(before).unwrap_or(0), sum.ends, self.width as f64);
                let now = slots.of((number as u64).saturating_mul(self.width));
                if now != slot {
                    out.add_slot(&std::mem::take(&mut of_slot));
                    slot = now;
                }
                let calls = (sum.calls as f64, sum.logs as f64 / f64::from(1 << LOG_BITS));
                let add = |to: (f64, f64)| (to.0 + calls.0, to.1 + calls.1);
                of_slot.all = add(of_slot.all);
                of_slot.ns.0 += sum.time_ns as f64;
                if before <= 0 && sum.calls == 1 {
                    of_slot.lone = add(of_slot.lone);
                    of_slot.ns.1 += sum.time_ns as f64;
                }
                before = before.saturating_add(sum.more);
            }
            out.add_slot(&of_slot);
        }
        out
    }

    /// True if calls of a class take longer the more calls are in flight on their storage target when they begin.
    #[must_use]
    pub fn grow(&self, partial: &Partial, class: Class, slots: &Slots) -> bool {
        let Some(sums) = place(class).and_then(|place| partial.0.get(place)).filter(|sums| !sums.is_empty()) else {
            return false;
        };
        let (mut all, mut rates) = (Regression::default(), Regression::default());
        for target in 0..self.targets.len() {
            let (mut before, mut slot, mut of_slot) = (0_i64, 0, Regression::default());
            for (number, sum) in sums.iter().skip(target).step_by(self.targets.len()).enumerate() {
                // If storage is slow for a while, more calls are in flight: compare within time windows only.
                let now = slots.of((number as u64).saturating_mul(self.width));
                if now != slot {
                    all.add_apart(&std::mem::take(&mut of_slot));
                    slot = now;
                }
                if sum.calls > 0 {
                    let calls = sum.calls as f64;
                    let above = sum.logs as f64 / f64::from(1 << LOG_BITS) / calls;
                    of_slot.add((before.max(0) as f64).ln_1p(), above, calls);
                }
                if before > 0 {
                    rates.add((before as f64).ln_1p(), sum.ends as f64, 1.0);
                }
                before = before.saturating_add(sum.more);
            }
            all.add_apart(&of_slot);
        }
        let mut apart = Regression::default();
        apart.add_apart(&rates);
        // Storage that is slow at times completes fewer calls while more are waiting.
        let as_much = apart.xy >= 0.0;
        as_much
            && all.weight >= CALLS
            && (all.xx / all.weight).sqrt() >= SPREAD
            && all.xy >= all.xx * GROWS
            && all.xy >= (all.xx * all.yy).sqrt() * CORRELATES
    }
}

impl Partial {
    /// Adds the sums of another analysis thread.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if mine.is_empty() {
                *mine = theirs;
                continue;
            }
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.more += theirs.more;
                mine.calls += theirs.calls;
                mine.logs = mine.logs.saturating_add(theirs.logs);
                mine.ends += theirs.ends;
                mine.time_ns = mine.time_ns.saturating_add(theirs.time_ns);
            }
        }
    }
}

/// Linear regression: weighted sums over pairs (x, y) of values, squares and products, from which slope and correlation follow.
#[derive(Clone, Copy, Debug, Default)]
struct Regression {
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Regression {
    fn add(&mut self, x: f64, y: f64, weight: f64) {
        self.weight += weight;
        self.x += x * weight;
        self.y += y * weight;
        self.xx += x * x * weight;
        self.xy += x * y * weight;
        self.yy += y * y * weight;
    }

    /// Adds the pairs of a group, each relative to the group's means, so that differences between groups do not count.
    fn add_apart(&mut self, group: &Self) {
        if group.weight <= 0.0 {
            return;
        }
        let (x, y) = (group.x / group.weight, group.y / group.weight);
        self.weight += group.weight;
        self.xx += group.xx - group.x * x;
        self.xy += group.xy - group.x * y;
        self.yy += group.yy - group.y * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::reading::sums::log;
    use crate::model::LayoutOrigin;
    use trace_format::layout::Layout;

    const MS: u64 = 1_000_000;

    /// Simulated ways in which storage serves calls.
    #[derive(Clone, Copy, PartialEq)]
    enum Served {
        InTurn,
        AtOnce,
        /// All calls at once, but at a quarter of the speed for half of the time.
        AtOnceBySlowStorage,
        /// All calls at once; in a quarter of the time, calls of all clients take ten times as long.
        BySize,
    }

    /// Returns true if durations are found to grow with the number of calls in flight, for six simulated clients that compute between calls
    /// of about 10 ms. In a queue, a call also waits for the calls before it.
    fn grows(served: Served) -> bool {
        let layout = Layout::plain(1 << 20, 1, vec![4]);
        let layouts = [Some(FileLayout { layout, origin: LayoutOrigin::Given })];
        let length = 8000 * MS;
        let depths = Depths::new(length, &layouts);
        let mut partial = Partial::default();
        let (mut ready, mut free, mut chance) = ([0_u64; 6], 0, 9_u64);
        while let Some((client, at)) = ready.iter().copied().enumerate().min_by_key(|(_, at)| *at)
            && at < length - 500 * MS
        {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let large = served == Served::BySize && at % (400 * MS) < 100 * MS;
            let slow = served == Served::AtOnceBySlowStorage && at / (1000 * MS) % 2 == 1;
            let usual = 8 * if large { 10 } else { 1 } * MS;
            let own = (usual + (chance >> 33) % (4 * MS)) * if slow { 4 } else { 1 };
            free = free.max(at) + own;
            let end = if served == Served::InTurn { free } else { at + own };
            let call = Call { at, duration: end - at, above: log(end - at) - log(usual) };
            depths.add(&mut partial, &mut Near::default(), (Class::Write, 4), call);
            ready[client] = end + (chance >> 20) % (120 * MS);
        }
        depths.grow(&partial, Class::Write, &Slots::new(length, Vec::new(), false))
    }

    #[test]
    fn calls_that_wait_for_each_other_take_longer_the_more_there_are() {
        assert!(grows(Served::InTurn));
        assert!(!grows(Served::AtOnce));
        assert!(!grows(Served::AtOnceBySlowStorage));
        assert!(!grows(Served::BySize));
    }
}
