//! Counts the processes in I/O calls over time, in a fixed number of time windows. Detects gaps without I/O, and periods with one active
//! process, of at least one window. Gaps are exact to the ns, since each window stores its first start and last end.

use crate::model::{ProcessId, Run};
use crate::scan::{Analysis, Block, Stretch};
use strength_reduce::StrengthReducedU64;
use trace_format::op::OpClass;

/// Number of time windows into which the job is divided.
pub const SLOTS: usize = 1 << 16;

/// Number of active processes and metadata calls in one time window.
#[derive(Clone, Copy, Debug)]
pub struct TimeSlot {
    /// Number of processes in any I/O call during the time window.
    pub processes: u32,
    /// Number of processes in reads or writes that reach storage during the time window.
    pub moving: u32,
    /// Number of opens, closes, stats and other metadata calls that begin in the time window.
    pub metadata: u32,
    edges: Edges,
}

/// First start and last end of a call in one time window, ns since the job's start.
#[derive(Clone, Copy, Debug)]
struct Edges {
    first: u64,
    last: u64,
}

impl Default for Edges {
    fn default() -> Self {
        Self { first: u64::MAX, last: 0 }
    }
}

/// Activity in all time windows, collected process by process by one thread of the analyzer. The arrays are separate, so that the data
/// touched per call fits the processor's cache.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    edges: Vec<Edges>,
    /// Number of metadata calls per time window; empty until the first metadata call.
    metadata: Vec<u32>,
    process: ProcessId,
    /// Windows in which the current process is in calls other than reads and writes that reach storage (those are in `moving`); merged with
    /// `moving` when the process is complete.
    any: Seen,
    moving: Seen,
}

impl Slots {
    /// Makes `process` the current one, if it is not yet.
    fn of(&mut self, process: ProcessId) {
        if self.process != process {
            self.settle();
            self.process = process;
        }
        self.edges.resize(SLOTS, Edges::default());
        for seen in [&mut self.any, &mut self.moving] {
            seen.bits.resize(SLOTS / BITS, 0);
            seen.changes.resize(SLOTS, 0);
        }
    }

    /// Adds the current process to the counts of the time windows in which it was active.
    fn settle(&mut self) {
        self.any.bits.iter_mut().zip(&self.moving.bits).for_each(|(any, moving)| *any |= moving);
        self.any.settle();
        self.moving.settle();
    }

    /// Returns the counts of all time windows, with the current process included.
    fn counted(&self) -> Vec<TimeSlot> {
        let mut all = self.clone();
        all.settle();
        let metadata = all.metadata.iter().copied().chain(std::iter::repeat(0));
        let processes = all.any.counts().zip(all.moving.counts());
        let slot = |((&edges, metadata), (processes, moving))| TimeSlot { processes, moving, metadata, edges };
        all.edges.iter().zip(metadata).zip(processes).map(slot).collect()
    }
}

/// Number of time windows per word of [`Seen`] (set of windows, one bit per window).
const BITS: usize = u64::BITS as usize;

/// Set of windows in which the current process was active, one bit per window. All bits fit the L1 cache; counts per window would not.
#[derive(Clone, Debug, Default)]
struct Seen {
    bits: Vec<u64>,
    /// Number of processes active per window, of those completed before the current one. Stored as differences: count of the window minus
    /// count of the window before.
    changes: Vec<i32>,
}

impl Seen {
    /// Marks the time windows `first..=last` as active for the current process.
    #[inline]
    fn add(&mut self, first: usize, last: usize) {
        for slot in [first, last] {
            if let Some(word) = self.bits.get_mut(slot / BITS) {
                *word |= 1 << (slot % BITS);
            }
        }
        if last > first + 1 {
            self.fill(first, last);
        }
    }

    fn fill(&mut self, first: usize, last: usize) {
        let (from, to) = (first / BITS, last / BITS);
        let (head, tail) = (u64::MAX << (first % BITS), u64::MAX >> (BITS - 1 - last % BITS));
        let Some(words) = self.bits.get_mut(from..=to) else { return };
        match words {
            [one] => *one |= head & tail,
            [one, all @ .., other] => {
                *one |= head;
                all.fill(u64::MAX);
                *other |= tail;
            }
            [] => {}
        }
    }

    /// Adds the current process to the counts of its windows, and clears its bits. Only windows in which activity begins or ends need work.
    fn settle(&mut self) {
        let mut before = 0;
        for (word, changes) in self.bits.iter_mut().zip(self.changes.chunks_mut(BITS)) {
            let bits = std::mem::take(word);
            let mut edges = bits ^ (bits << 1 | before);
            before = bits >> (BITS - 1);
            while edges != 0 {
                let at = edges.trailing_zeros();
                if let Some(change) = changes.get_mut(at as usize) {
                    *change += if bits >> at & 1 == 1 { 1 } else { -1 };
                }
                edges &= edges - 1;
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.changes.iter_mut().zip(&other.changes).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Iterates over the number of active processes per time window.
    fn counts(&self) -> impl Iterator<Item = u32> {
        self.changes.iter().scan(0_i32, |sum, change| {
            *sum += change;
            Some(u32::try_from(*sum).unwrap_or(0))
        })
    }
}

/// Pass over the segments that counts active processes over time.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Start of the first time window, ns since the job's start.
    from: u64,
    /// Length of a time window, ns.
    width: StrengthReducedU64,
}

impl Timeline {
    /// Creates a pass whose time windows cover the time in which `run` has recorded calls.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let heads = || {
            run.processes.iter().flat_map(|process| process.blocks.iter().map(|block| (process.shift_ns, &block.head)))
        };
        let from = heads().map(|(shift, head)| shift.saturating_add(head.min_start)).min().unwrap_or(0);
        let until = heads().map(|(shift, head)| shift.saturating_add(head.max_end)).max().unwrap_or(0);
        Self { from, width: StrengthReducedU64::new(until.saturating_sub(from) / SLOTS as u64 + 1) }
    }

    /// Returns the length of a time window in ns.
    #[must_use]
    pub fn width_ns(&self) -> u64 {
        self.width.get()
    }

    #[inline]
    fn slot(&self, time: u64) -> usize {
        ((time.saturating_sub(self.from) / self.width) as usize).min(SLOTS - 1)
    }

    /// Adds calls of a stream (one operation, file and caller). `metadata`: true for metadata calls; `storage`: true for calls that reach
    /// storage. Only calls over more than two windows take a branch: a branch on "ends in the window where it began" would be
    /// unpredictable.
    fn calls(&self, partial: &mut Slots, calls: Stretch<'_>, shift: u64, (metadata, storage): (bool, bool)) {
        if metadata {
            partial.metadata.resize(SLOTS, 0);
            for start in calls.start {
                let slot = self.slot(start.saturating_add(shift));
                partial.metadata.get_mut(slot).into_iter().for_each(|count| *count = count.saturating_add(1));
            }
        }
        let Slots { edges, any, moving, .. } = partial;
        let seen = if storage { moving } else { any };
        for (&start, &end) in calls.start.iter().zip(calls.end) {
            let (start, end) = (start.saturating_add(shift), end.saturating_add(shift));
            let (first, last) = (self.slot(start), self.slot(end));
            if let Some(edges) = edges.get_mut(first) {
                edges.first = edges.first.min(start);
            }
            if let Some(edges) = edges.get_mut(last) {
                edges.last = edges.last.max(end);
            }
            seen.add(first, last);
        }
    }
}

impl Analysis for Timeline {
    type Partial = Slots;

    fn start(&self) -> Slots {
        Slots::default()
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Slots, block: &Block<'_>) {
        partial.of(block.number);
        let shift = block.process.shift_ns;
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream) else { continue };
            let metadata = matches!(
                block.run.op(stream).class,
                Some(OpClass::Open | OpClass::Close | OpClass::Metadata | OpClass::Lock | OpClass::Unlock)
            );
            self.calls(partial, stretch, shift, (metadata, stream.storage));
        }
    }

    fn merge(&self, into: &mut Slots, mut other: Slots) {
        into.settle();
        other.settle();
        if into.edges.is_empty() {
            *into = other;
            return;
        }
        into.any.merge(&other.any);
        into.moving.merge(&other.moving);
        if into.metadata.len() < other.metadata.len() {
            std::mem::swap(&mut into.metadata, &mut other.metadata);
        }
        for (mine, theirs) in into.metadata.iter_mut().zip(other.metadata) {
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in into.edges.iter_mut().zip(other.edges) {
            (mine.first, mine.last) = (mine.first.min(theirs.first), mine.last.max(theirs.last));
        }
    }
}

/// Gap: time in which no process was in an I/O call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Gap {
    /// Start of the gap (time without I/O calls): end of the last call before it, ns since the job's start.
    pub start_ns: u64,
    /// End of the gap (time without I/O calls): start of the next call, ns since the job's start.
    pub end_ns: u64,
}

impl Gap {
    /// Returns the length of the gap (time without I/O calls) in ns.
    #[must_use]
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// Phases of the job: gaps without I/O, times with one active process, peak of metadata calls.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// Gaps without I/O calls of at least one time window, longest first.
    pub gaps: Vec<Gap>,
    /// Total length of all gaps (times without I/O calls), ns.
    pub idle_ns: u64,
    /// Time from the job's first call's start to its last call's end, ns.
    pub span_ns: u64,
    /// Total length of the time windows in which exactly one process moves bytes, ns.
    pub alone_ns: u64,
    /// Total length of the time windows in which at least one process moves bytes, ns.
    pub moving_ns: u64,
    /// Peak of metadata calls per second (over one second, or one time window if longer), and its start, ns since the job's start.
    pub metadata_peak: (f64, u64),
}

/// Computes gaps without I/O, times of activity and the peak of metadata calls from the time windows.
#[must_use]
pub fn phases(timeline: &Timeline, slots: &Slots) -> Phases {
    let slots = &slots.counted();
    let mut out = Phases::default();
    let mut last_end = None;
    let mut first_start = u64::MAX;
    let mut idle = false;
    for slot in slots {
        if slot.processes == 0 {
            idle = true;
            continue;
        }
        if slot.edges.first != u64::MAX {
            first_start = first_start.min(slot.edges.first);
        }
        if let Some(start_ns) = last_end.filter(|_| idle) {
            out.gaps.push(Gap { start_ns, end_ns: slot.edges.first });
        }
        idle = false;
        last_end = last_end.max((slot.edges.last > 0).then_some(slot.edges.last));
        let moves = |ns: &mut u64, counts: bool| *ns = ns.saturating_add(if counts { timeline.width_ns() } else { 0 });
        moves(&mut out.alone_ns, slot.moving == 1);
        moves(&mut out.moving_ns, slot.moving > 0);
    }
    out.span_ns = last_end.unwrap_or(0).saturating_sub(first_start);
    out.idle_ns = out.gaps.iter().map(Gap::ns).sum();
    out.gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.ns()), gap.start_ns));
    out.metadata_peak = peak(timeline, slots);
    out
}

/// Returns the peak of metadata calls per second (over one second, or one time window if longer), and its start, ns since the job's start.
fn peak(timeline: &Timeline, slots: &[TimeSlot]) -> (f64, u64) {
    let window = (1_000_000_000 / timeline.width_ns()).clamp(1, slots.len().max(1) as u64) as usize;
    let seconds = (window as u64 * timeline.width_ns()).max(1_000_000_000) as f64 / 1e9;
    let (mut sum, mut best) = (0_u64, (0_u64, 0_usize));
    for (index, slot) in slots.iter().enumerate() {
        sum += u64::from(slot.metadata);
        if index >= window {
            sum -= slots.get(index - window).map_or(0, |slot| u64::from(slot.metadata));
        }
        if sum > best.0 {
            best = (sum, (index + 1).saturating_sub(window));
        }
    }
    (best.0 as f64 / seconds, timeline.from.saturating_add(best.1 as u64 * timeline.width_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_counts_once_in_each_slot() {
        let mut slots = Slots::default();
        slots.of(ProcessId(0));
        let calls =
            [(5, 9), (7, 8), (10, 12), (3, 20), (60, 70), (64, 64), (127, 128), (300, 700), (SLOTS - 1, SLOTS - 1)];
        calls.iter().for_each(|&(first, last)| slots.any.add(first, last));
        slots.of(ProcessId(1));
        slots.any.add(0, 2);
        for (number, slot) in slots.counted().iter().enumerate() {
            let expected = calls.iter().any(|&(first, last)| (first..=last).contains(&number)) || number <= 2;
            assert_eq!(slot.processes, u32::from(expected), "{number}");
        }
    }

    fn filled(timeline: &Timeline, calls: &[(u64, u64)]) -> Slots {
        let mut slots = Slots::default();
        for (process, (start, end)) in (0..).zip(calls) {
            slots.of(ProcessId(process));
            let stream = crate::model::StreamIx::NONE;
            let (start, end) = (std::slice::from_ref(start), std::slice::from_ref(end));
            timeline.calls(&mut slots, Stretch { stream, offset: &[], length: &[], start, end }, 0, (true, false));
        }
        slots
    }

    #[test]
    fn gaps_are_exact_and_sorted_by_length() {
        let timeline = Timeline { from: 1000, width: StrengthReducedU64::new(10) };
        let slots = filled(&timeline, &[(1003, 1100), (1050, 1207), (1222, 1260), (1255, 1261), (5007, 5009)]);
        let found = phases(&timeline, &slots);
        assert_eq!(found.gaps.first(), Some(&Gap { start_ns: 1261, end_ns: 5007 }));
        assert_eq!(found.gaps.get(1), Some(&Gap { start_ns: 1207, end_ns: 1222 }));
        assert_eq!((found.gaps.len(), found.idle_ns, found.span_ns), (2, 3746 + 15, 4006));
    }

    #[test]
    fn the_peak_is_over_a_second() {
        let timeline = Timeline { from: 0, width: StrengthReducedU64::new(250_000_000) };
        let calls: Vec<(u64, u64)> = (0..40).map(|i| (2_100_000_000 + i, 2_100_000_001 + i)).collect();
        let slots = filled(&timeline, &[calls, vec![(2_900_000_000, 2_900_000_001), (0, 1)]].concat());
        // The first one-second period with all calls ends with the time window of the last call.
        assert_eq!(phases(&timeline, &slots).metadata_peak, (41.0, 2_000_000_000));
    }
}
