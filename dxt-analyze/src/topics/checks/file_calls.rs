//! Counts calls per file: opens, syncs and seeks; processes that use the file; aggregators of collective calls.

use super::sums::Calls;
use crate::model::{ProcessId, Run, Stream, Within};
use std::collections::BTreeMap;
use trace_format::op::OpMode;
use trace_format::op::{Layer, OpClass};

/// Totals of the calls on one file over all processes.
#[derive(Clone, Debug, Default)]
pub struct FileCalls {
    /// POSIX syncs, made by the program or inside calls of other layers.
    pub syncs: Calls,
    /// POSIX seeks, made by the program or inside calls of other layers.
    pub seeks: Calls,
    /// POSIX reads, made by the program or inside calls of other layers.
    pub reads: Calls,
    /// POSIX writes, made by the program or inside calls of other layers.
    pub writes: Calls,
    /// Opens of the file made by the program itself.
    pub opens: Calls,
    /// Closes of the file made by the program itself.
    pub closes: Calls,
    /// Largest number of opens of the file by one process, and that process.
    pub most_opens: (u64, ProcessId),
    /// Number of reads and writes of the file by the process with most opens of the file.
    pub accesses_of_most: u64,
    /// Bytes of the file that each process read, at the layer that the program called.
    pub read_by: BTreeMap<ProcessId, u64>,
    /// Bytes of the file that each process wrote, at the layer that the program called.
    pub written_by: BTreeMap<ProcessId, u64>,
    /// Independent POSIX and MPI-IO reads and writes made by the program or by HDF5, not inside MPI-IO.
    pub alone: Calls,
    /// Number of processes that made collective reads or writes on the file.
    pub collective_by: u32,
    /// Aggregators: processes that made collective calls on the file and moved bytes inside these calls.
    pub aggregators: Vec<ProcessId>,
}

/// Totals of the calls of one process on one file.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessFile {
    syncs: Calls,
    seeks: Calls,
    reads: Calls,
    writes: Calls,
    opens: Calls,
    closes: Calls,
    read: u64,
    written: u64,
    touched: [bool; 2],
    alone: Calls,
    accesses: u64,
    collective: bool,
    moves_inside: bool,
}

impl ProcessFile {
    pub(super) fn add(&mut self, run: &Run, stream: &Stream, calls: &Calls) {
        let op = run.op(stream);
        if stream.failed {
            return;
        }
        let called = stream.within() == Within::Nothing;
        let posix = op.layer == Some(Layer::Posix);
        match op.class {
            Some(OpClass::Sync) if posix => self.syncs.merge(calls),
            Some(OpClass::Seek) if posix => self.seeks.merge(calls),
            Some(OpClass::Open) if called => self.opens.merge(calls),
            Some(OpClass::Close) if called => self.closes.merge(calls),
            Some(class @ (OpClass::Read | OpClass::Write)) => {
                let reads = class == OpClass::Read;
                if posix {
                    if reads { self.reads.merge(calls) } else { self.writes.merge(calls) }
                }
                let collective = is_collective(op.mode, &op.name);
                self.collective |= op.layer == Some(Layer::Mpiio) && collective;
                self.moves_inside |= posix && stream.nested && calls.bytes > 0;
                if called {
                    self.accesses = self.accesses.saturating_add(calls.count);
                    let sum = if reads { &mut self.read } else { &mut self.written };
                    *sum = sum.saturating_add(calls.bytes);
                    if let Some(touched) = self.touched.get_mut(usize::from(!reads)) {
                        *touched = true;
                    }
                }
                // HDF5 calls do not count here: HDF5 decides whether MPI-IO moves their data collectively, and its MPI-IO calls count.
                if !collective && !stream.nested && matches!(op.layer, Some(Layer::Posix | Layer::Mpiio)) {
                    self.alone.merge(calls);
                }
            }
            _ => {}
        }
    }
}

impl FileCalls {
    pub(super) fn add(&mut self, process: ProcessId, is_one: bool, other: &ProcessFile) {
        self.syncs.merge(&other.syncs);
        self.seeks.merge(&other.seeks);
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.opens.merge(&other.opens);
        self.closes.merge(&other.closes);
        self.alone.merge(&other.alone);
        if !is_one {
            return;
        }
        if other.opens.count > self.most_opens.0 {
            self.most_opens = (other.opens.count, process);
            self.accesses_of_most = other.accesses;
        }
        let [read, wrote] = other.touched;
        self.read_by.extend(read.then_some((process, other.read)));
        self.written_by.extend(wrote.then_some((process, other.written)));
        if other.collective {
            self.collective_by = self.collective_by.saturating_add(1);
            self.aggregators.extend(other.moves_inside.then_some(process));
        }
    }
}

pub(crate) fn is_collective(mode: OpMode, name: &str) -> bool {
    match mode {
        OpMode::Collective | OpMode::Ordered | OpMode::Split => true,
        OpMode::Nonblocking => name.ends_with("_all"),
        _ => false,
    }
}
