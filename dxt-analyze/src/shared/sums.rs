//! I/O totals of a file, a process or a job. Only calls at the layer that the program called are added, so that each byte and each ns
//! counts once. Totals are exact even for operations without segments.

use super::totals::StreamTotal;
use crate::model::{Process, ProcessId, Run, Within};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use trace_format::op::OpClass;

/// Totals over the calls that the program itself made, excluding calls made inside libraries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// Number of calls of all operations.
    pub operations: u64,
    /// Bytes read by the program, each counted once.
    pub bytes_read: u64,
    /// Bytes written by the program, each counted once.
    pub bytes_written: u64,
    /// Time in read calls, summed over processes, ns.
    pub read_ns: u64,
    /// Time in write calls, summed over processes, ns.
    pub write_ns: u64,
    /// Time in all other calls, including failed ones, summed over processes, ns.
    pub other_ns: u64,
}

impl Called {
    /// Returns the time in calls of all operations, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.read_ns.saturating_add(self.write_ns).saturating_add(self.other_ns)
    }
}

/// I/O totals of one file or one process.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Totals over the calls that the program itself made.
    pub called: Called,
    /// Number of operations at all layers, including calls made inside libraries.
    pub all: u64,
    /// Number of operations at all layers that have no segment.
    pub missing: u64,
    processes: BTreeSet<ProcessId>,
    /// Number of ranks of a reduced record (one record for several ranks) that used the file, through any layer.
    reduced_ranks: u64,
}

impl Sums {
    fn add(&mut self, run: &Run, process: &Process, total: &StreamTotal) {
        let Some(stream) = process.stream(total.stream) else { return };
        let sums = &total.all;
        self.all = self.all.saturating_add(sums.segments);
        self.missing = self.missing.saturating_add(total.missing);
        if stream.within() != Within::Nothing {
            return;
        }
        if process.reduction.is_none() {
            self.processes.insert(total.process);
        } else {
            self.reduced_ranks = self.reduced_ranks.max(run.ranks_of(process, stream.file, run.op(stream).layer));
        }
        self.called.operations = self.called.operations.saturating_add(sums.segments);
        // Failed calls took time but moved no bytes.
        let (bytes, time) = match run.op(stream).class.filter(|_| !stream.failed) {
            Some(OpClass::Read) => (Some(&mut self.called.bytes_read), &mut self.called.read_ns),
            Some(OpClass::Write) => (Some(&mut self.called.bytes_written), &mut self.called.write_ns),
            _ => (None, &mut self.called.other_ns),
        };
        *time = time.saturating_add(sums.duration);
        if let Some(bytes) = bytes {
            *bytes = bytes.saturating_add(sums.bytes);
        }
    }

    /// Returns the number of processes that made calls. Ranks with a record of their own are assumed to be among the ranks of a reduced record.
    #[must_use]
    pub fn processes(&self) -> u64 {
        (self.processes.len() as u64).max(self.reduced_ranks)
    }
}

/// Returns the I/O totals of each file of the run, indexed by file id; 0 for unused files.
#[must_use]
pub fn by_file(run: &Run, totals: &[StreamTotal]) -> Vec<Sums> {
    let file = |total: &StreamTotal| {
        let process = run.process(total.process)?;
        process.stream(total.stream).map(|stream| stream.file.index())
    };
    by(run, totals, run.files.len(), file)
}

/// Returns the I/O totals of each process of the run, indexed by process id.
#[must_use]
pub fn by_process(run: &Run, totals: &[StreamTotal]) -> Vec<Sums> {
    by(run, totals, run.processes.len(), |total| Some(total.process.index()))
}

fn by(run: &Run, totals: &[StreamTotal], count: usize, place: impl Fn(&StreamTotal) -> Option<usize>) -> Vec<Sums> {
    let mut out = vec![Sums::default(); count];
    for total in totals {
        let process = run.process(total.process);
        let sums = place(total).and_then(|place| out.get_mut(place));
        if let (Some(process), Some(sums)) = (process, sums) {
            sums.add(run, process, total);
        }
    }
    out
}
