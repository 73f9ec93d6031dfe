//! Computes the wall-clock time that processes with several threads spent in the program's own calls, and the time with asynchronous
//! operations in flight.
//!
//! For a process with a single thread, the sum over its calls suffices, since they do not overlap.

use crate::model::cpu_waits::during;
use crate::model::{Process, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use crate::shared::layer_calls::Form;
use crate::shared::spans::Spans;
use crate::shared::totals::add;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;

/// True if the calls of a stream (one operation, file and caller) block the calling thread: the program's own calls, except nonblocking and
/// split operations.
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

/// True if the operations of a stream (one operation, file and caller) continue after the call returns (nonblocking and split operations).
#[must_use]
pub fn goes_on(run: &Run, stream: &Stream) -> bool {
    stream.chosen && stream.within() == Within::Nothing && Form::of(run.op(stream).mode) == Form::Unfinished
}

/// Choice of the times that the pass computes for one process. For all other processes, sums over calls suffice.
#[derive(Clone, Copy, Debug)]
struct Looks {
    /// True to compute the time with at least one thread in a call.
    calls: bool,
    /// True to compute the time with at least one asynchronous operation in flight.
    flights: bool,
    /// True to compute the waits for a processor.
    waits: bool,
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
            waits: process.cpu.any(),
        };
        Self { of: run.processes.iter().map(looks).collect() }
    }

    fn looks_at(&self, process: ProcessId) -> Option<Looks> {
        self.of.get(process.index()).copied().filter(|looks| looks.calls || looks.flights || looks.waits)
    }
}

/// By process: the wall-clock time that the process spent in one state, such as with a thread in a call, ns.
pub type ByProcess = FxHashMap<ProcessId, u64>;

/// Wall-clock times of each process in calls, and with asynchronous operations in flight.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Time with at least one thread in a call, ns; only for processes with several threads.
    pub calls: ByProcess,
    /// Time with at least one asynchronous operation in flight, ns.
    pub flights: ByProcess,
    /// Time in calls while threads were sampled, and the part of it in which they waited for a processor, ns, summed over threads.
    pub cpu_waits: FxHashMap<ProcessId, (u64, u64)>,
}

impl Times {
    fn add_waits(&mut self, process: ProcessId, (calls_ns, waits_ns): (u64, u64)) {
        let sums = self.cpu_waits.entry(process).or_default();
        add(&mut sums.0, calls_ns);
        add(&mut sums.1, waits_ns);
    }
}

#[derive(Debug)]
struct Now {
    process: ProcessId,
    looks: Looks,
    calls: Spans,
    flights: Spans,
}

/// Wall-clock times that one thread of the analyzer computed so far, and the state of the process being read.
#[derive(Debug, Default)]
pub struct Partial {
    times: Times,
    now: Option<Now>,
}

impl Partial {
    /// Completes the last process, and returns the wall-clock times of all processes.
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
        // Waits are sums, which need no order.
        self.of.iter().any(|looks| looks.calls || looks.flights)
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(looks) = self.looks_at(block.number) else { return };
        if partial.now.as_ref().is_none_or(|now| now.process != block.number) {
            partial.end_process();
            let (calls, flights) = (Spans::default(), Spans::default());
            partial.now = Some(Now { process: block.number, looks, calls, flights });
        }
        let Some(now) = &mut partial.now else { return };
        let (streams, shift) = (&block.process.streams, block.process.shift_ns);
        let intervals = block.process.cpu.of_thread(block.process.tid(block.thread));
        let mut in_calls = vec![0_u64; intervals.len()];
        for row in block.rows() {
            let Some(stream) = streams.get(row.stream.index()) else { continue };
            let keeps = keeps_its_thread(block.run, stream);
            if looks.waits && keeps {
                let (begin, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                for (at, both_ns) in during(intervals, begin, end) {
                    add(&mut in_calls[at], both_ns);
                }
            }
            if looks.calls && keeps {
                now.calls.add(row.start, row.end);
            } else if looks.flights && goes_on(block.run, stream) {
                now.flights.add(row.start, row.end);
            }
        }
        if looks.waits {
            let mut waits = (0_u64, 0_u64);
            for (of, ns) in intervals.iter().zip(in_calls) {
                add(&mut waits.0, ns);
                add(&mut waits.1, of.waits_in(ns));
            }
            partial.times.add_waits(block.number, waits);
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        // If spans are computed, each process is read by one thread, so no process is in both partial results.
        into.times.calls.extend(other.times.calls);
        into.times.flights.extend(other.times.flights);
        other.times.cpu_waits.into_iter().for_each(|(process, waits)| into.times.add_waits(process, waits));
    }
}
