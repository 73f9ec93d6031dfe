//! How long processes with several threads were in any call of the program's own. Of one with a single thread the sum of its calls says it,
//! since one call follows another.

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
    let first = process.blocks.first().map(|block| block.head.thread);
    process.blocks.iter().any(|block| Some(block.head.thread) != first)
}

/// The analysis.
#[derive(Clone, Debug)]
pub struct Busy {
    /// By process: whether its threads have to be looked at.
    of: Vec<bool>,
}

impl Busy {
    /// Of the processes of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        Self { of: run.processes.iter().map(has_threads).collect() }
    }

    fn looks_at(&self, process: ProcessId) -> bool {
        self.of.get(process.index()).copied().unwrap_or_default()
    }
}

/// By process with several threads: time with at least one of them in a call, ns.
pub type Times = FxHashMap<ProcessId, u64>;

/// What a thread of the analyzer keeps.
#[derive(Debug, Default)]
pub struct Partial {
    times: Times,
    now: Option<(ProcessId, Spans)>,
}

impl Partial {
    /// All of them.
    #[must_use]
    pub fn times(mut self) -> Times {
        self.end_process();
        self.times
    }

    fn end_process(&mut self) {
        if let Some((process, spans)) = self.now.take() {
            self.times.insert(process, spans.time().0);
        }
    }
}

impl Analysis for Busy {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.looks_at(process)
    }

    fn ordered(&self) -> bool {
        self.of.contains(&true)
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if !self.looks_at(block.number) {
            return;
        }
        if partial.now.as_ref().is_none_or(|(process, _)| *process != block.number) {
            partial.end_process();
            partial.now = Some((block.number, Spans::with_limit(SPANS)));
        }
        let Some((_, spans)) = &mut partial.now else { return };
        let streams = &block.process.streams;
        for row in block.rows() {
            if streams.get(row.stream.index()).is_some_and(|stream| keeps_its_thread(block.run, stream)) {
                spans.add(row.start, row.end);
            }
        }
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        into.end_process();
        other.end_process();
        // A process is read by one thread, so no process is in both.
        into.times.extend(other.times);
    }
}
