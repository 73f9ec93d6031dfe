//! Amplification per file = bytes that system calls move / bytes requested from MPI-IO. Above 1: data sieving (MPI-IO reads a block,
//! changes a part of it, and writes the whole block back). Below 1: several ranks requested the same bytes.

use super::pass::Partial;
use crate::model::{FileId, Run, Users};
use crate::shared::layer_calls::{CallSum, Form, Inside};
use crate::shared::totals::StreamTotal;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

/// Use of one file through MPI-IO, and the POSIX calls that MPI-IO made for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileRow {
    /// Path of the file that MPI-IO read or wrote.
    pub file: String,
    /// MPI-IO reads of the file.
    pub mpiio_reads: CallSum,
    /// MPI-IO writes of the file.
    pub mpiio_writes: CallSum,
    /// Number of collective calls among the MPI-IO reads and writes.
    pub collective_calls: u64,
    /// Blocking independent calls among the MPI-IO reads and writes.
    pub independent: CallSum,
    /// Number of processes that made MPI-IO reads or writes on the file.
    pub processes: u64,
    /// POSIX reads of the file made inside MPI-IO calls.
    pub posix_reads: CallSum,
    /// POSIX writes of the file made inside MPI-IO calls.
    pub posix_writes: CallSum,
    /// Acquisitions and releases of file locks made inside MPI-IO calls.
    pub locking: CallSum,
    /// POSIX reads made inside MPI-IO writes (read-modify-write). Without segments: all POSIX reads, if the program made no MPI-IO reads of
    /// the file.
    pub reads_in_writes: CallSum,
    /// Bytes that POSIX calls read (except read-modify-write) / bytes requested by MPI-IO reads; `None` if none were requested.
    pub read_amplification: Option<f64>,
    /// Bytes that POSIX calls moved for MPI-IO writes (including read-modify-write) / bytes requested by MPI-IO writes.
    pub write_amplification: Option<f64>,
}

impl FileRow {
    /// Returns the time in MPI-IO reads and writes, summed over processes, ns.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.mpiio_reads.time_ns.saturating_add(self.mpiio_writes.time_ns)
    }

    /// True if collective MPI-IO reads and writes of the file outnumber blocking independent ones. Bytes that system calls move in excess
    /// then lie in gaps between the regions of all ranks.
    pub(super) fn is_collective(&self) -> bool {
        self.collective_calls > self.independent.calls
    }

    fn settle(&mut self) {
        // Counters alone (as in a log) do not show which MPI-IO call made a POSIX read.
        if self.mpiio_reads.calls == 0 && self.reads_in_writes.calls == 0 {
            self.reads_in_writes = self.posix_reads;
        }
        let for_reads = self.posix_reads.bytes.saturating_sub(self.reads_in_writes.bytes);
        let for_writes = self.posix_writes.bytes.saturating_add(self.reads_in_writes.bytes);
        let ratio = |moved: u64, asked: u64| (asked > 0).then(|| moved as f64 / asked as f64);
        self.read_amplification = ratio(for_reads, self.mpiio_reads.bytes);
        self.write_amplification = ratio(for_writes, self.mpiio_writes.bytes);
    }
}

/// Returns all files that MPI-IO read or wrote, sorted by time in MPI-IO, largest first.
#[must_use]
pub fn files(run: &Run, totals: &[StreamTotal], partial: &Partial) -> Vec<FileRow> {
    let mut rows: BTreeMap<FileId, FileRow> = BTreeMap::new();
    let mut who: BTreeMap<FileId, Users> = BTreeMap::new();
    for total in totals {
        let stream = run.process(total.process).and_then(|p| p.stream(total.stream));
        let Some(stream) = stream.filter(|stream| !stream.failed) else { continue };
        let op = run.op(stream);
        let sum = CallSum { calls: total.all.segments, bytes: total.all.bytes, time_ns: total.all.duration };
        let row = rows.entry(stream.file).or_default();
        match (op.layer, op.class) {
            (Some(Layer::Mpiio), Some(class)) if class.is_data() => {
                let side = if class == OpClass::Write { &mut row.mpiio_writes } else { &mut row.mpiio_reads };
                side.add(&sum);
                match Form::of(op.mode) {
                    Form::Collective => row.collective_calls = row.collective_calls.saturating_add(sum.calls),
                    Form::Independent => row.independent.add(&sum),
                    Form::Unfinished => {}
                }
                who.entry(stream.file).or_default().add(run, total.process, stream.file, Some(Layer::Mpiio));
            }
            (Some(Layer::Posix), Some(OpClass::Read)) if stream.nested => row.posix_reads.add(&sum),
            (Some(Layer::Posix), Some(OpClass::Write)) if stream.nested => row.posix_writes.add(&sum),
            (Some(Layer::Posix), Some(OpClass::Lock | OpClass::Unlock)) if stream.nested => row.locking.add(&sum),
            _ => {}
        }
    }
    for (file, inside) in inside_writes(run, partial) {
        if let Some(row) = rows.get_mut(&file) {
            row.reads_in_writes = inside.reads;
        }
    }
    let mut all: Vec<(FileId, FileRow)> = rows.into_iter().filter(|(file, _)| who.contains_key(file)).collect();
    for (file, row) in &mut all {
        row.file = run.file_name(*file).to_owned();
        row.processes = who.remove(file).unwrap_or_default().count();
        row.settle();
    }
    all.sort_by_key(|(file, row)| (std::cmp::Reverse(row.time_ns()), *file));
    all.into_iter().map(|(_, row)| row).collect()
}

/// Returns the system calls made inside MPI-IO writes, per file.
fn inside_writes(run: &Run, partial: &Partial) -> BTreeMap<FileId, Inside> {
    let mut all: BTreeMap<FileId, Inside> = BTreeMap::new();
    for (&(process, stream), made) in &partial.made {
        let stream = run.process(process).and_then(|p| p.stream(stream));
        let Some(stream) = stream else { continue };
        let op = run.op(stream);
        if op.layer == Some(Layer::Mpiio) && op.class == Some(OpClass::Write) {
            all.entry(stream.file).or_default().add(&made.inside);
        }
    }
    all
}
