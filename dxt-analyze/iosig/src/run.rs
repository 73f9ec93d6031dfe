//! Fast path for a run (loop over a single access with constant strides), with a few instructions per access.

use crate::access::{Access, Accesses};
use crate::nest::{Leaf, Loop, moved};
use crate::stack::Element;
use crate::times::Intervals;

/// Result of comparing an access with the prediction of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// The access differs from the prediction.
    No,
    /// The access equals the prediction.
    Yes,
    /// The access equals the prediction and makes the loop as long as an earlier loop: both may be iterations of an outer loop.
    Watch,
}

/// Cursor that predicts the accesses of the run (loop over a single access) on top of the stack.
#[derive(Debug)]
pub(crate) struct RunCursor {
    op: u16,
    offset: u64,
    length: u64,
    offset_step: u64,
    length_step: u64,
    count: u64,
    watch: u64,
    accesses: u64,
    bytes: u128,
    start_ns: u64,
    end_ns: u64,
    known_start: bool,
    sum_ns: f64,
    sum_squares: f64,
    intervals: u64,
}

impl RunCursor {
    pub(crate) fn new(run: &Loop, leaf: &Leaf, element: &Element, watch: u64) -> Self {
        let step = leaf.steps.last().copied().unwrap_or_default();
        Self {
            op: leaf.op,
            offset: moved(leaf.offset, step.offset, run.count),
            length: moved(leaf.length, step.length, run.count),
            offset_step: step.offset.cast_unsigned(),
            length_step: step.length.cast_unsigned(),
            count: run.count,
            watch,
            accesses: element.accesses,
            bytes: element.bytes,
            start_ns: element.iteration_ns.unwrap_or(0),
            end_ns: element.end_ns,
            known_start: element.iteration_ns.is_some(),
            sum_ns: 0.0,
            sum_squares: 0.0,
            intervals: 0,
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, access: &Access) -> Took {
        if access.offset != self.offset || access.length != self.length || access.op != self.op {
            return Took::No;
        }
        self.offset = self.offset.wrapping_add(self.offset_step);
        self.length = self.length.wrapping_add(self.length_step);
        self.count = self.count.saturating_add(1);
        self.accesses = self.accesses.saturating_add(1);
        self.bytes = self.bytes.wrapping_add(u128::from(access.length));
        if self.known_start {
            self.interval(self.start_ns, access.start_ns);
        }
        self.start_ns = access.start_ns;
        self.end_ns = access.end_ns;
        self.known_start = true;
        if self.count == self.watch { Took::Watch } else { Took::Yes }
    }

    /// Adds the first calls of `calls` that equal the prediction and returns their number. Stops before a call whose result would be
    /// [`Took::Watch`]. `calls.shift` is added to start times.
    pub(crate) fn take_all(&mut self, op: u16, calls: &Accesses<'_>) -> usize {
        if op != self.op {
            return 0;
        }
        let room = self.watch.checked_sub(self.count).and_then(|left| left.checked_sub(1)).unwrap_or(u64::MAX);
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        let (mut taken, mut last) = (0_usize, self.known_start.then_some(self.start_ns));
        for ((&offset, &length), &start) in calls.offset.iter().zip(calls.length).zip(calls.start).take(most) {
            if offset < 0 || offset.cast_unsigned() != self.offset || length != self.length {
                break;
            }
            self.offset = self.offset.wrapping_add(self.offset_step);
            self.length = self.length.wrapping_add(self.length_step);
            self.bytes = self.bytes.wrapping_add(u128::from(length));
            let start_ns = start.saturating_add(calls.shift);
            if let Some(last) = last {
                self.interval(last, start_ns);
            }
            last = Some(start_ns);
            taken += 1;
        }
        self.count = self.count.saturating_add(taken as u64);
        self.accesses = self.accesses.saturating_add(taken as u64);
        if let Some(last) = last {
            (self.start_ns, self.known_start) = (last, true);
        }
        if let Some(end) = taken.checked_sub(1).and_then(|last| calls.end.get(last)) {
            self.end_ns = end.saturating_add(calls.shift);
        }
        taken
    }

    #[inline]
    fn interval(&mut self, from_ns: u64, to_ns: u64) {
        let ns = (to_ns.saturating_sub(from_ns) & (u64::MAX >> 1)).cast_signed() as f64;
        self.sum_ns += ns;
        self.sum_squares += ns * ns;
        self.intervals += 1;
    }

    /// Updates counts, times and intervals of the loop in `element` with the accesses added since the last call, and resets the cursor's
    /// own intervals.
    pub(crate) fn sync(&mut self, element: &mut Element) {
        if let crate::nest::Node::Loop(run) = &mut element.node {
            run.count = self.count;
            run.times.merge(&Intervals { count: self.intervals, sum_ns: self.sum_ns, sum_squares: self.sum_squares });
        }
        (self.intervals, self.sum_ns, self.sum_squares) = (0, 0.0, 0.0);
        element.accesses = self.accesses;
        element.bytes = self.bytes;
        if self.known_start {
            element.iteration_ns = Some(self.start_ns);
            element.last_start_ns = self.start_ns;
            element.end_ns = self.end_ns;
        }
    }

    pub(crate) fn set_watch(&mut self, watch: u64) {
        self.watch = watch;
    }
}
