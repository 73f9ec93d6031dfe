//! Divides the run into time windows, and groups these into phases: at the end of a phase, processes wait for each other.

use super::who::Key;
use rustc_hash::FxHashSet;

/// Largest number of time windows: resolution of the comparison of calls over time.
pub const SLOTS: usize = 512;
/// Number of time windows of a run with one phase; each further phase begins a new window.
const FEWEST: usize = 64;

/// A phase has no pause if some process is in a call for at least this part of the time from the phase's first to its last call.
const WITHOUT_PAUSE: f64 = 0.8;

/// Time windows of a run, and its phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Begin of each time window, ns since the job's start; the first is 0.
    begins: Vec<u64>,
    /// Number of the phase in which each time window lies.
    phases: Vec<u32>,
    /// By time window: time with any process in a call, ns.
    busy: Vec<u64>,
    /// By phase: begin of the first call and end of the last, ns since the job's start.
    spans: Vec<Option<(u64, u64)>>,
    /// True if phases end at synchronization points of all ranks; false if they end at times without I/O.
    pub ranks_met: bool,
    /// MPI operations in which ranks synchronize in this run although a process may leave such calls early; empty if the run has calls that
    /// always synchronize.
    pub met_in: FxHashSet<Key>,
}

impl Slots {
    /// Divides a run of `length` ns into time windows. `ends`: ends of phases, ns since the job's start.
    #[must_use]
    pub fn new(length: u64, mut ends: Vec<u64>, ranks_met: bool) -> Self {
        ends.retain(|&at| at > 0 && at < length);
        ends.sort_unstable();
        ends.dedup();
        let every = ends.len().div_ceil(SLOTS / 2 - 1).max(1);
        let ends: Vec<u64> = ends.into_iter().skip(every - 1).step_by(every).collect();
        let width = (length / FEWEST as u64).max(1);
        let (mut begins, mut phases) = (Vec::new(), Vec::new());
        let bounds: Vec<u64> = std::iter::once(0).chain(ends).chain([length.max(1)]).collect();
        for (phase, bound) in (0_u32..).zip(bounds.windows(2)) {
            let (from, until) = (bound[0], bound[1]);
            let parts = ((until - from) / width).max(1);
            for part in 0..parts {
                begins.push(from + (until - from) / parts * part);
                phases.push(phase);
            }
        }
        let count = phases.last().map_or(0, |&last| last as usize + 1);
        Self {
            busy: vec![0; begins.len()],
            spans: vec![None; count],
            begins,
            phases,
            ranks_met,
            met_in: FxHashSet::default(),
        }
    }

    /// Sets the MPI operations that turned out to be synchronization points in this run.
    #[must_use]
    pub fn with_met_in(self, met_in: FxHashSet<Key>) -> Self {
        Self { met_in, ..self }
    }

    /// Returns the number of the time window that contains `at`, ns since the job's start.
    #[inline]
    #[must_use]
    pub fn of(&self, at: u64) -> usize {
        self.begins.partition_point(|&begin| begin <= at).saturating_sub(1)
    }

    /// Returns the number and the span of the time window that contains `at`: callers with ascending times need not search again within the
    /// span.
    #[must_use]
    pub fn around(&self, at: u64) -> (usize, std::ops::Range<u64>) {
        let slot = self.of(at);
        let from = if slot == 0 { 0 } else { self.begins.get(slot).copied().unwrap_or(0) };
        (slot, from..self.begins.get(slot + 1).copied().unwrap_or(u64::MAX))
    }

    /// Returns the number of the phase in which a time window lies.
    #[inline]
    #[must_use]
    pub fn phase(&self, slot: usize) -> usize {
        self.phases.get(slot).map_or(0, |&phase| phase as usize)
    }

    /// Returns the number of time windows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.begins.len()
    }

    /// True if there are no time windows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Returns the number of phases.
    #[must_use]
    pub fn phases(&self) -> usize {
        self.phases.last().map_or(0, |&last| last as usize + 1)
    }

    /// Returns begin and end of a phase, ns since the job's start; the end of the last phase is `u64::MAX`.
    #[must_use]
    pub fn span(&self, phase: usize) -> (u64, u64) {
        let first = |phase: usize| self.phases.partition_point(|&of| (of as usize) < phase);
        let begin = self.begins.get(first(phase)).copied().unwrap_or(u64::MAX);
        (begin, self.begins.get(first(phase + 1)).copied().unwrap_or(u64::MAX))
    }

    /// Marks `ns` from `at` on as time in which some process is in a call.
    pub fn add_busy(&mut self, at: u64, ns: u64) {
        let slot = self.of(at);
        let (phase, end) = (self.phase(slot), at.saturating_add(ns));
        if let Some(span) = self.spans.get_mut(phase) {
            *span = Some(span.map_or((at, end), |(from, until)| (from.min(at), until.max(end))));
        }
        if let Some(busy) = self.busy.get_mut(slot) {
            *busy = busy.saturating_add(ns);
        }
    }

    /// Returns how long some process is in a call during a time window, ns.
    #[must_use]
    pub fn busy(&self, slot: usize) -> u64 {
        self.busy.get(slot).copied().unwrap_or_default()
    }

    /// Returns, for each phase, how long some process is in a call, ns; 0 for phases with pauses, in which no process waits for another.
    #[must_use]
    pub fn busy_without_pause(&self) -> Vec<u64> {
        let mut out = vec![0_u64; self.phases()];
        for (phase, busy) in self.phases.iter().zip(&self.busy) {
            if let Some(out) = out.get_mut(*phase as usize) {
                *out = out.saturating_add(*busy);
            }
        }
        for (busy, span) in out.iter_mut().zip(&self.spans) {
            let length = span.map_or(0, |(from, until)| until - from);
            if (*busy as f64) < length as f64 * WITHOUT_PAUSE {
                *busy = 0;
            }
        }
        out
    }

    /// Returns the begin of a time window, ns since the job's start; `None` after the last one.
    #[must_use]
    pub fn begin(&self, slot: usize) -> Option<u64> {
        self.begins.get(slot).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_has_a_slot_and_phases_end_where_they_should() {
        let slots = Slots::new(1000, vec![100, 500, 0, 2000], true);
        assert_eq!(slots.phases(), 3);
        assert_eq!((slots.phase(slots.of(99)), slots.phase(slots.of(100)), slots.phase(slots.of(5000))), (0, 1, 2));
        assert!(slots.len() <= FEWEST + 3 && slots.len() > FEWEST / 2);
        let many = Slots::new(1 << 40, (0..100_000).map(|k| k << 20).collect(), false);
        assert!(many.len() <= SLOTS, "{}", many.len());
        assert_eq!(Slots::new(0, vec![], false).of(7), 0);
    }
}
