//! Collects nesting of calls, collective operations and calls in flight in one pass over the segments. One thread reads all segments of a
//! process.

use super::collectives::{Call, Followed, Key};
use super::in_flight::{InFlight, Span, What};
use super::nesting::Thread;
use crate::model::{FileId, Process, ProcessId, Run, StreamIx};
use crate::scan::{Analysis, Block};
use crate::shared::layer_calls::{Form, Inside, Made, Part};
use rustc_hash::FxHashMap;
use trace_format::op::Layer;

/// Pass over the segments that collects the data of the command `layers`.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    span: Span,
    segments: u64,
    /// True if collective calls are matched across ranks; false if some calls may lie outside of the selected time window.
    matches: bool,
}

impl Pass {
    /// Creates the pass over `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        Self { span: Span::of(run), segments: run.segments(), matches: run.window.is_none() }
    }
}

/// Process and stream (one operation, file and caller): key of [`Partial::made`].
pub type StreamKey = (ProcessId, StreamIx);

/// Data collected by the pass: calls with the calls inside them, collective operations, calls in flight.
#[derive(Debug)]
pub struct Partial {
    /// MPI-IO and HDF5 calls that have segments, and the calls made inside them, by process and stream (one operation, file and caller).
    pub made: FxHashMap<StreamKey, Made>,
    /// System calls inside no MPI-IO or HDF5 call in `made` (the outer call failed, is not recorded, or is of another kind), by process.
    pub elsewhere: FxHashMap<ProcessId, Inside>,
    /// Number of system calls for which the call around them is uncertain.
    pub unsure: u64,
    /// Collective operations: the ranks' calls that belong together.
    pub followed: Followed,
    /// Number of calls in flight over time.
    pub in_flight: InFlight,
    now: Now,
}

/// State of the thread whose segments are being read.
#[derive(Debug, Default)]
struct Now {
    process: ProcessId,
    thread: u32,
    state: Thread,
    /// By stream (one operation, file and caller) of the process: role in the nesting, kind of calls in flight, true if collective, and
    /// file.
    parts: Vec<(Part, Option<What>, bool, FileId)>,
    /// By stream (one operation, file and caller) of the process: totals of its outer calls, and of the calls made inside them.
    made: Vec<Made>,
    /// Number of collective calls of the process so far, by file and operation.
    numbers: FxHashMap<(FileId, u16), u64>,
}

impl Partial {
    /// Ends the current thread or process if `block` belongs to another thread or process.
    fn switch(&mut self, block: &Block<'_>) {
        let is_same_process = self.now.process == block.number && !self.now.parts.is_empty();
        if is_same_process && self.now.thread == block.thread {
            return;
        }
        self.end_thread();
        self.now.thread = block.thread;
        if !is_same_process {
            self.end_process();
            self.now.process = block.number;
            self.now.made.resize(block.process.streams.len(), Made::default());
            let part = |stream| {
                let op = block.run.op(stream);
                let collective =
                    op.layer == Some(Layer::Mpiio) && op.is_data() && Form::of(op.mode) == Form::Collective;
                (Part::of(stream, op), What::of(stream, op), collective, stream.file)
            };
            self.now.parts.extend(block.process.streams.iter().map(part));
        }
    }

    fn end_thread(&mut self) {
        let left_over = self.now.state.left_over();
        self.unsure = self.unsure.saturating_add(std::mem::take(&mut self.now.state.unsure));
        if left_over != Inside::default() {
            self.elsewhere.entry(self.now.process).or_default().add(&left_over);
        }
    }

    fn end_process(&mut self) {
        for (stream, made) in self.now.made.drain(..).enumerate().filter(|(_, made)| made.of.calls > 0) {
            self.made.insert((self.now.process, StreamIx::at(stream)), made);
        }
        self.now.parts.clear();
        self.now.numbers.clear();
    }

    /// Ends the last thread and process. Call after the last block.
    pub fn finish(&mut self) {
        self.end_thread();
        self.end_process();
    }

    fn collective(&mut self, process: &Process, stream: StreamIx, start: u64, made: &Made, counts: bool) {
        let Some(def) = process.stream(stream) else { return };
        let number = self.now.numbers.entry((def.file, def.op)).or_default();
        let key = Key { file: def.file, op: def.op, number: *number };
        *number += 1;
        if counts {
            let end = start.saturating_add(made.of.time_ns);
            self.followed.add(key, &Call { process: self.now.process, start, end, made: *made });
        }
    }
}

impl Analysis for Pass {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial {
            made: FxHashMap::default(),
            elsewhere: FxHashMap::default(),
            unsure: 0,
            followed: Followed::default(),
            in_flight: InFlight::new(self.span, self.segments),
            now: Now::default(),
        }
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        partial.switch(block);
        let shift = block.process.shift_ns;
        for calls in block.stretches() {
            let Some(&(part, what, collective, file)) = partial.now.parts.get(calls.stream.index()) else { continue };
            if let Some(what) = what {
                partial.in_flight.add(what, calls, shift);
            }
            if part == Part::Apart {
                continue;
            }
            for row in calls.rows() {
                match part {
                    Part::Apart => {}
                    Part::Inner(kind) => partial.now.state.inner(kind, file, row.length, row.start, row.end),
                    Part::Outer { failed, hdf5, .. } => {
                        let made = partial.now.state.outer(part, file, row.length, row.start, row.end);
                        if failed && !hdf5 {
                            partial.elsewhere.entry(block.number).or_default().add(&made.inside);
                        }
                        if let (false, Some(sum)) = (failed, partial.now.made.get_mut(row.stream.index())) {
                            sum.add(&made);
                        }
                        if collective && self.matches {
                            let start = row.start.saturating_add(shift);
                            partial.collective(block.process, row.stream, start, &made, !failed);
                        }
                    }
                }
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.finish();
        other.finish();
        // Each process is read by one thread, so no key is in both maps.
        into.made.extend(other.made);
        for (process, inside) in other.elsewhere {
            into.elsewhere.entry(process).or_default().add(&inside);
        }
        into.unsure = into.unsure.saturating_add(other.unsure);
        into.followed.merge(other.followed);
        into.in_flight.merge(other.in_flight);
    }
}
