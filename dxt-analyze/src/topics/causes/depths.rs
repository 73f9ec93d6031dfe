//! How long calls take by how many are in flight on their storage target when they begin: where they queue, the more there are before a call the longer it takes.
//! Second reading, of runs with few targets: which have queues.

use super::class::Class;
use super::parts::LOG_BITS;
use super::slots::Slots;
use crate::model::FileLayout;

/// Most targets that are looked at.
const TARGETS: usize = 16;
/// Parts of the run in which calls that begin have as many before them.
const PARTS: usize = 1 << 12;
/// Fewest calls to judge by.
const CALLS: f64 = 96.0;
/// Least spread of the logarithm of how many are in flight, to tell what comes of it.
const SPREAD: f64 = 0.4;
/// Part of the growth of that logarithm by which that of durations grows at least; and how much of the durations' it explains, as a correlation.
const GROWS: f64 = 0.4;
const CORRELATES: f64 = 0.5;

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub struct Depths {
    /// In order; none if they are too many.
    targets: Vec<u32>,
    /// Length of a part, ns.
    width: u64,
}

/// Of a target in a part of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Calls that begin in it and end in a later one, less those that end in it and began before.
    more: i64,
    /// Time of calls within it, ns.
    within_ns: u64,
    /// Calls that begin in it, and the sum of the logarithms of their durations, as cells have them.
    calls: u64,
    logs: i64,
}

/// Of reads and of writes, by part of the run and target; nothing until a call is there.
#[derive(Debug, Default)]
pub struct Partial([Vec<Sum>; 2]);

/// Place of a class.
const fn place(class: Class) -> Option<usize> {
    match class {
        Class::Read => Some(0),
        Class::Write => Some(1),
        _ => None,
    }
}

impl Depths {
    /// Of the targets of `layouts`, in a run of `length` ns.
    #[must_use]
    pub fn new(length: u64, layouts: &[Option<FileLayout>]) -> Self {
        let components = layouts.iter().flatten().flat_map(|of| &of.layout.components);
        let mut targets: Vec<u32> = components.flat_map(|component| component.targets.iter().copied()).collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() > TARGETS {
            targets.clear();
        }
        Self { targets, width: length / PARTS as u64 + 1 }
    }

    /// Adds a call that begins at `at`, ns since the job's start.
    #[inline]
    pub fn add(&self, partial: &mut Partial, class: Class, target: u32, at: u64, duration: u64, logs: i64) {
        let Some(sums) = place(class).and_then(|place| partial.0.get_mut(place)) else { return };
        let Some(target) = self.targets.iter().position(|one| *one == target) else { return };
        if sums.is_empty() {
            sums.resize(PARTS * self.targets.len(), Sum::default());
        }
        let part = |at: u64| ((at / self.width) as usize).min(PARTS - 1);
        let (from, until) = (part(at), part(at.saturating_add(duration)));
        let index = |part: usize| part * self.targets.len() + target;
        if let Some(sum) = sums.get_mut(index(from)) {
            sum.calls += 1;
            sum.logs = sum.logs.saturating_add(logs);
            if from == until {
                sum.within_ns = sum.within_ns.saturating_add(duration);
            } else {
                sum.more += 1;
            }
        }
        if let Some(sum) = sums.get_mut(index(until)).filter(|_| from != until) {
            sum.more -= 1;
        }
    }

    /// Whether calls of a class take the longer the more are before them.
    #[must_use]
    pub fn grow(&self, partial: &Partial, class: Class, slots: &Slots) -> bool {
        let Some(sums) = place(class).and_then(|place| partial.0.get(place)).filter(|sums| !sums.is_empty()) else {
            return false;
        };
        let mut all = Regression::default();
        for target in 0..self.targets.len() {
            let (mut before, mut phase, mut of_phase) = (0_i64, 0, Regression::default());
            for (number, sum) in sums.iter().skip(target).step_by(self.targets.len()).enumerate() {
                // Who is slow in one phase is no matter of another.
                let now = slots.phase(slots.of(number as u64 * self.width));
                if now != phase {
                    all.add_apart(&std::mem::take(&mut of_phase));
                    phase = now;
                }
                let depth = before.max(0) as f64 + sum.within_ns as f64 / self.width as f64;
                if sum.calls > 0 {
                    let calls = sum.calls as f64;
                    of_phase.add(depth.ln_1p(), sum.logs as f64 / f64::from(1 << LOG_BITS) / calls, calls);
                }
                before = before.saturating_add(sum.more);
            }
            all.add_apart(&of_phase);
        }
        all.weight >= CALLS
            && (all.xx / all.weight).sqrt() >= SPREAD
            && all.xy >= all.xx * GROWS
            && all.xy >= (all.xx * all.yy).sqrt() * CORRELATES
    }
}

impl Partial {
    /// Adds what another thread found.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if mine.is_empty() {
                *mine = theirs;
                continue;
            }
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.more += theirs.more;
                mine.within_ns = mine.within_ns.saturating_add(theirs.within_ns);
                mine.calls += theirs.calls;
                mine.logs = mine.logs.saturating_add(theirs.logs);
            }
        }
    }
}

/// Sums of values with weights, and of their squares and products.
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

    /// Adds the values of a group less their means.
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
    use super::super::cells::log;
    use super::*;
    use crate::model::LayoutOrigin;
    use trace_format::layout::Layout;

    const MS: u64 = 1_000_000;

    /// Six clients that compute for a while between calls; each call takes 10 ms, or that much for each that is before it, too.
    fn grows(queues: bool) -> bool {
        let layout = Layout::plain(1 << 20, 1, vec![4]);
        let layouts = [Some(FileLayout { layout, origin: LayoutOrigin::Given })];
        let depths = Depths::new(4000 * MS, &layouts);
        let mut partial = Partial::default();
        let (mut ready, mut free, mut chance) = ([0_u64; 6], 0, 9_u64);
        while let Some((client, at)) = ready.iter().copied().enumerate().min_by_key(|(_, at)| *at)
            && at < 3900 * MS
        {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let own = 8 * MS + (chance >> 33) % (4 * MS);
            free = free.max(at) + own;
            let end = if queues { free } else { at + own };
            depths.add(&mut partial, Class::Write, 4, at, end - at, log(end - at));
            ready[client] = end + (chance >> 20) % (120 * MS);
        }
        depths.grow(&partial, Class::Write, &Slots::new(4000 * MS, Vec::new(), false))
    }

    #[test]
    fn calls_that_wait_for_each_other_take_longer_the_more_there_are() {
        assert!(grows(true));
        assert!(!grows(false));
    }
}
