//! Totals of calls by layer, rank and file, for the checks, including calls that have only counters.

use super::file_calls::is_collective;
use super::file_calls::{FileCalls, ProcessFile};
use super::sums::Calls;
use crate::model::{FileId, ProcessId, Run, Stream, Within};
use crate::shared::totals::StreamTotal;
use std::collections::BTreeMap;
use trace_format::counters::Counters;
use trace_format::op::{Layer, OpClass, OpMode};

/// Totals of MPI-IO reads (or writes) by form of call: collective, independent, nonblocking.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// Calls that all ranks of a communicator make together.
    pub collective: Calls,
    /// Calls that each rank makes by itself.
    pub independent: Calls,
    /// Nonblocking and split calls, which return before the bytes have moved; also included in `collective` or `independent`.
    pub nonblocking: Calls,
    /// Independent calls (each made by one rank by itself) per file.
    pub independent_files: BTreeMap<FileId, Calls>,
}

impl Forms {
    /// Returns the number of collective and independent calls together.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.collective.count.saturating_add(self.independent.count)
    }
}

/// Totals of the calls of one rank, or of a process without a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rank {
    /// Reads and writes that the program itself made on this rank.
    pub data: Calls,
    /// Opens, closes, seeks, stats and other metadata calls that the program itself made on this rank.
    pub metadata: Calls,
}

/// Totals over all calls of the run.
#[derive(Clone, Debug, Default)]
pub struct CallSums {
    /// Reads made by the program itself, at any layer.
    pub reads: Calls,
    /// Writes made by the program itself, at any layer.
    pub writes: Calls,
    /// Reads and writes on C streams (STDIO) that the program itself made.
    pub stdio: Calls,
    /// All I/O calls made by the program itself.
    pub all: Calls,
    /// Metadata calls made by the program itself.
    pub metadata: Calls,
    /// Failed opens made by the program itself.
    pub failed_opens: Calls,
    /// Number of failed opens made by the program itself, per file.
    pub failed_files: BTreeMap<FileId, u64>,
    /// Successful opens made by the program itself, directories excluded.
    pub opens: Calls,
    /// MPI-IO reads made by the program or by HDF5.
    pub mpi_reads: Forms,
    /// MPI-IO writes made by the program or by HDF5.
    pub mpi_writes: Forms,
    /// Totals of calls per process.
    pub ranks: BTreeMap<ProcessId, Rank>,
    /// Totals of calls per file.
    pub files: BTreeMap<FileId, FileCalls>,
}

fn calls(counters: &Counters) -> Calls {
    Calls { count: counters.segments, bytes: counters.bytes, time_ns: counters.duration }
}

/// Sums up the totals of streams (calls of one operation and caller on one file); `totals` must be grouped by process.
#[must_use]
pub fn sum(run: &Run, totals: &[StreamTotal]) -> CallSums {
    let mut out = CallSums::default();
    for of_process in totals.chunk_by(|a, b| a.process == b.process) {
        let Some(number) = of_process.first().map(|total| total.process) else { continue };
        let Some(process) = run.process(number) else { continue };
        // A record that stands for several ranks belongs to no single rank.
        let is_one = process.reduction.is_none();
        let mut files: BTreeMap<FileId, ProcessFile> = BTreeMap::new();
        for total in of_process {
            let Some(stream) = process.stream(total.stream) else { continue };
            let calls = calls(&total.all);
            out.add(run, stream, &calls);
            if is_one && stream.within() == Within::Nothing {
                out.ranks.entry(number).or_default().add(run, stream, &calls);
            }
            files.entry(stream.file).or_default().add(run, stream, &calls);
        }
        for (file, sums) in files {
            out.files.entry(file).or_default().add(number, is_one, &sums);
        }
    }
    out
}

impl CallSums {
    fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        let called = stream.within() == Within::Nothing;
        if called {
            self.all.merge(calls);
        }
        match (op.class, stream.failed) {
            (Some(OpClass::Open), true) if called => {
                self.failed_opens.merge(calls);
                let count = self.failed_files.entry(stream.file).or_default();
                *count = count.saturating_add(calls.count);
            }
            // Opens of directories do not count: they are opened to be listed, not to be read or written.
            (Some(OpClass::Open), false) if called && op.name != "opendir" => self.opens.merge(calls),
            _ => {}
        }
        if called && is_metadata(op.class) {
            self.metadata.merge(calls);
        }
        let Some(class @ (OpClass::Read | OpClass::Write)) = op.class.filter(|_| !stream.failed) else { return };
        let reads = class == OpClass::Read;
        if called {
            if reads {
                self.reads.merge(calls);
            } else {
                self.writes.merge(calls);
            }
            if op.layer == Some(Layer::Stdio) {
                self.stdio.merge(calls);
            }
        }
        if op.layer == Some(Layer::Mpiio) && !stream.nested {
            let forms = if reads { &mut self.mpi_reads } else { &mut self.mpi_writes };
            if is_collective(op.mode, &op.name) {
                forms.collective.merge(calls);
            } else {
                forms.independent.merge(calls);
                forms.independent_files.entry(stream.file).or_default().merge(calls);
            }
            if matches!(op.mode, OpMode::Nonblocking | OpMode::Split) {
                forms.nonblocking.merge(calls);
            }
        }
    }
}

fn is_metadata(class: Option<OpClass>) -> bool {
    matches!(
        class,
        Some(
            OpClass::Open
                | OpClass::Close
                | OpClass::Seek
                | OpClass::Metadata
                | OpClass::Lock
                | OpClass::Unlock
                | OpClass::Map
        )
    )
}

impl Rank {
    fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        if op.is_data() && !stream.failed {
            self.data.merge(calls);
        } else if is_metadata(op.class) {
            self.metadata.merge(calls);
        }
    }
}
