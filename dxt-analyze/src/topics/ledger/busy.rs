//! How long processes with several threads were in any call of the program's own: of one with a single thread the sum of its calls says it,
//! since one call follows another. And how long asynchronous operations were in flight.

use super::spans::Spans;
use crate::model::{Process, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use crate::topics::layers::parts::Form;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;

/// Spans that are kept of a process: neighbouring calls are one.
const SPANS: usize = 1 << 15;

/// Whether a stream's calls keep the thread that makes them: those that the program made itself, but for operations that go on while the
/// program does (nonblocking and split ones).
#[must_use]
pub fn keeps_its_thread(run: &Run, stream: &Stream) -> bool {
    stream.within() == Within::Nothing && Form::of(run.op(stream).mode) != Form::Unfinished
}

/// Whether several threads of a process have calls on record.
#[must_use]
pub fn has_threads(process: &Process) -> bool {
    let mut tids = process.blocks.iter().map(|block| process.tid(block.head.thread));
    let first = tids.next();
    tids.any(|tid| Some(tid) != first)
}

/// Whether a stream's operations go on while the program does.
#[must_use]
pub fn goes_on(run: &Run, stream: &Stream) -> bool {
    stream.chosen && stream.within() == Within::Nothing && Form::of(run.op(stream).mode) == Form::Unfinished
}

/// What is looked at of a process.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// When its threads are in calls.
    calls: bool,
    /// When its operations are in flight.
    flights: bool,
}

/// The analysis.
#[derive(Clone, Debug)]
pub struct Busy {
    /// By process.
    of: Vec<Looks>,
}

impl Busy {
    /// Of the processes of `run`.
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

/// By process, in ns.
pub type ByProcess = FxHashMap<ProcessId, u64>;

/// How long something was under way.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Of processes with several threads: time with at least one of them in a call.
    pub calls: ByProcess,
    /// Time with at least one asynchronous operation in flight.
    pub flights: ByProcess,
}

/// A process that is being read.
#[derive(Debug)]
struct Now {
    process: ProcessId,
    looks: Looks,
    calls: Spans,
    flights: Spans,
}

/// What a thread of the analyzer keeps.
#[derive(Debug, Default)]
pub struct Partial {
    times: Times,
    now: Option<Now>,
}

impl Partial {
    /// All of them.
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
        // A process is read by one thread, so no process is in both.
        into.times.calls.extend(other.times.calls);
        into.times.flights.extend(other.times.flights);
    }
}
