//! Computes the wall-clock time that processes with several threads spent in the program's own calls, and the time with asynchronous
//! operations in flight.
//!
//! For a process with a single thread, the sum over its calls suffices, since they do not overlap.

use super::spans::Spans;
use crate::model::{Process, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use crate::shared::layer_calls::Form;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;

/// Maximum number of disjoint time spans stored per process; adjacent calls share one span.
const SPANS: usize = 1 << 15;

/// True if the calls of a stream block the calling thread: the program's own calls, except nonblocking and split operations.
#[must_use]
pub fn keeps_its_thread(run: &Run, stream: &Stream) -> bool {
    stream.within() == Within::Nothing && Form::of(run.op(stream).mode) != Form::Unfinished
}

/// True if several threads of the process made recorded calls.
#[must_use]
pub fn has_threads(process: &Process) -> bool {
    let mut tids = process.blocks.iter().map(|block| process.tid(block.head.thread));
    let first = tids.next();
    tids.any(|tid| Some(tid) != first)
}

/// True if the operations of a stream continue after the call returns (nonblocking and split operations).
#[must_use]
pub fn goes_on(run: &Run, stream: &Stream) -> bool {
    stream.chosen && stream.within() == Within::Nothing && Form::of(run.op(stream).mode) == Form::Unfinished
}

/// Choice of the times to compute for one process.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// True to compute the time with at least one thread in a call.
    calls: bool,
    /// True to compute the time with at least one asynchronous operation in flight.
    flights: bool,
}

/// Analysis that computes wall-clock times in calls, and with asynchronous operations in flight.
#[derive(Clone, Debug)]
pub struct Busy {
    of: Vec<Looks>,
}

impl Busy {
    /// Creates the analysis of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        let looks = |process: &Process| Looks {
            calls: has_threads(process),
            flights: process.streams.iter().any(|stream| goes_on(run, stream)),
        };
        Self { of: run.processes.iter().map(looks).collect() }
    }

    fn looks_at(&self, process: ProcessId) -> Option<Looks> {
        self.of.get(process.index()).copied().filter(|looks| looks.calls || looks.flights)
    }
}

/// Time of each process, ns.
pub type ByProcess = FxHashMap<ProcessId, u64>;

/// Wall-clock times of each process in calls, and with asynchronous operations in flight.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Time with at least one thread in a call, ns; only for processes with several threads.
    pub calls: ByProcess,
    /// Time with at least one asynchronous operation in flight, ns.
    pub flights: ByProcess,
}

#[derive(Debug)]
struct Now {
    process: ProcessId,
    looks: Looks,
    calls: Spans,
    flights: Spans,
}

/// Partial result of one thread of the analyzer.
#[derive(Debug, Default)]
pub struct Partial {
    times: Times,
    now: Option<Now>,
}

impl Partial {
    /// Returns the final times of all processes.
    #[must_use]
    pub fn times(mut self) -> Times {
        self.end_process();
        self.times
    }

    fn end_process(&mut self) {
        let Some(now) = self.now.take() else { return };
        if now.looks.calls {
            self.times.calls.insert(now.process, now.calls.time().0);
        }
        if now.looks.flights {
            self.times.flights.insert(now.process, now.flights.time().0);
        }
    }
}

impl Analysis for Busy {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.looks_at(process).is_some()
    }

    fn ordered(&self) -> bool {
        self.of.iter().any(|looks| looks.calls || looks.flights)
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(looks) = self.looks_at(block.number) else { return };
        if partial.now.as_ref().is_none_or(|now| now.process != block.number) {
            partial.end_process();
            let (calls, flights) = (Spans::with_limit(SPANS), Spans::with_limit(SPANS));
            partial.now = Some(Now { process: block.number, looks, calls, flights });
        }
        let Some(now) = &mut partial.now else { return };
        let streams = &block.process.streams;
        for row in block.rows() {
            let Some(stream) = streams.get(row.stream.index()) else { continue };
            if looks.calls && keeps_its_thread(block.run, stream) {
                now.calls.add(row.start, row.end);
            } else if looks.flights && goes_on(block.run, stream) {
                now.flights.add(row.start, row.end);
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        // Each process is read by one thread, so no process is in both partial results.
        into.times.calls.extend(other.times.calls);
        into.times.flights.extend(other.times.flights);
    }
}
