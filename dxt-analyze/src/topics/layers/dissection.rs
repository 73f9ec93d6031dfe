//! Breaks the time in MPI-IO and HDF5 calls down into calls of lower layers: over the whole job by kind of call, and by rank.

use super::pass::Partial;
use crate::model::{Op, Process, ProcessId, Run, Stream};
use crate::shared::layer_calls::{CallSum, Form, Kind, Made};
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::meta::Missing;
use trace_format::op::{Layer, OpClass};

/// Calls of one layer, operation and form over the whole job. Covers only calls with segments: counters do not show which calls were made
/// inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallRow {
    /// Name of the I/O layer: `HDF5` or `MPIIO`.
    pub layer: &'static str,
    /// Operation: `read`, `write`, or `other` (open, close, sync, view, ...).
    pub op: &'static str,
    /// Form of MPI-IO reads or writes, such as collective; `None` for other operations and for HDF5.
    pub form: Option<Form>,
    /// Totals of these MPI-IO or HDF5 calls, and of the calls of lower layers made inside them.
    #[serde(flatten)]
    pub made: Made,
    /// Time in the MPI-IO or HDF5 calls that is spent outside of the calls made inside them, ns.
    pub rest_ns: u64,
}

/// Calls of one process, with the calls of lower layers made inside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankRow {
    /// MPI rank of the row's process; -1 for a process without MPI.
    pub rank: i32,
    /// Host name of the node on which the row's process runs.
    pub node: String,
    /// Process ID of the row's process.
    pub pid: u32,
    /// Blocking MPI-IO reads and writes, including calls that have only counters. System reads, writes and locks that have only counters
    /// count as made inside these calls.
    pub mpiio: Made,
    /// Time in blocking MPI-IO reads and writes outside of the calls made inside them, ns.
    pub mpiio_rest_ns: u64,
    /// MPI-IO calls other than reads and writes: open, close, sync, view, ...
    pub mpiio_others: Made,
    /// Nonblocking and split MPI-IO reads and writes, whose time overlaps with other calls.
    pub mpiio_unfinished: Made,
    /// HDF5 reads and writes of the process, with the calls made inside them.
    pub hdf5: Made,
    /// Time in HDF5 reads and writes that is spent neither in MPI-IO nor in system calls, ns.
    pub hdf5_rest_ns: u64,
    /// STDIO reads and writes that the program itself made in this process.
    pub stdio: CallSum,
    /// POSIX reads and writes that the program itself made in this process.
    pub posix: CallSum,
    /// Number of the process's blocking MPI-IO reads and writes that have only counters.
    pub folded: u64,
}

impl RankRow {
    /// Returns the time in reads and writes of HDF5 or of MPI-IO, whichever is longer, ns.
    #[must_use]
    pub fn time_ns(&self) -> u64 {
        self.hdf5.of.time_ns.max(self.mpiio.of.time_ns)
    }

    fn add(&mut self, op: &Op, made: &Made) {
        match (op.layer, op.is_data(), Form::of(op.mode)) {
            (Some(Layer::Mpiio), true, Form::Unfinished) => self.mpiio_unfinished.add(made),
            (Some(Layer::Mpiio), true, _) => self.mpiio.add(made),
            (Some(Layer::Mpiio), false, _) => self.mpiio_others.add(made),
            (Some(Layer::Hdf5), true, _) => self.hdf5.add(made),
            _ => {}
        }
    }

    /// Adds calls that have only counters. Counters do not show the call around a system call, but libraries read, write and lock only
    /// inside reads and writes.
    fn add_folded(&mut self, stream: &Stream, op: &Op, missing: &Missing) {
        let counters = &missing.counters;
        let sum = CallSum { calls: counters.segments, bytes: counters.bytes, time_ns: counters.duration };
        match (op.layer, Kind::of(op)) {
            (Some(Layer::Mpiio | Layer::Hdf5), _) => {
                self.add(op, &Made { of: sum, ..Made::default() });
                if op.layer == Some(Layer::Mpiio) && op.is_data() {
                    self.folded = self.folded.saturating_add(sum.calls);
                }
            }
            (Some(Layer::Posix), kind) if stream.nested && kind != Kind::Other => {
                self.mpiio.inside.add_kind(kind, &sum);
            }
            _ => {}
        }
    }
}

/// Returns one row per kind of MPI-IO or HDF5 call (layer, operation, form).
#[must_use]
pub fn calls(run: &Run, partial: &Partial) -> Vec<CallRow> {
    let mut all: BTreeMap<(std::cmp::Reverse<Layer>, u8, Option<Form>), Made> = BTreeMap::new();
    for (&(process, stream), made) in &partial.made {
        let Some(stream) = run.process(process).and_then(|p| p.stream(stream)) else {
            continue;
        };
        let op = run.op(stream);
        let Some(layer) = op.layer else { continue };
        let kind = match op.class {
            Some(OpClass::Read) => 0,
            Some(OpClass::Write) => 1,
            _ => 2,
        };
        let form = (layer == Layer::Mpiio && kind < 2).then(|| Form::of(op.mode));
        all.entry((std::cmp::Reverse(layer), kind, form)).or_default().add(made);
    }
    let row = |((layer, kind, form), made): ((std::cmp::Reverse<Layer>, u8, Option<Form>), Made)| CallRow {
        layer: layer.0.name(),
        op: ["read", "write", "other"].get(usize::from(kind)).copied().unwrap_or_default(),
        form,
        made,
        rest_ns: made.rest_ns(),
    };
    all.into_iter().map(row).collect()
}

/// Returns one row per process that called MPI-IO or HDF5, slowest first.
#[must_use]
pub fn ranks(run: &Run, partial: &Partial) -> Vec<RankRow> {
    let mut rows: BTreeMap<ProcessId, RankRow> = BTreeMap::new();
    for (&(number, stream), made) in &partial.made {
        let Some(process) = run.process(number) else { continue };
        if let Some(stream) = process.stream(stream) {
            rows.entry(number).or_insert_with(|| empty(run, process)).add(run.op(stream), made);
        }
    }
    for (number, process) in run.numbered_processes() {
        for missing in &process.missing {
            let stream = process.stream_with_id(missing.stream);
            if let Some(stream) = stream.filter(|stream| !stream.failed && stream.chosen) {
                rows.entry(number).or_insert_with(|| empty(run, process)).add_folded(stream, run.op(stream), missing);
            }
        }
    }
    let mut rows: Vec<RankRow> = rows.into_values().collect();
    for row in &mut rows {
        row.mpiio_rest_ns = row.mpiio.rest_ns();
        row.hdf5_rest_ns = row.hdf5.rest_ns();
    }
    rows.retain(|row| {
        let made = [&row.mpiio, &row.mpiio_others, &row.mpiio_unfinished, &row.hdf5];
        made.iter().any(|made| made.of.calls > 0)
    });
    rows.sort_by_key(|row| (std::cmp::Reverse(row.time_ns()), row.rank, row.pid));
    rows
}

fn empty(run: &Run, process: &Process) -> RankRow {
    RankRow { rank: process.rank, node: run.node(process).to_owned(), pid: process.pid, ..RankRow::default() }
}

/// Adds to `rows` the reads and writes that the program itself made through STDIO and POSIX.
pub fn add_direct(run: &Run, totals: &[crate::shared::totals::StreamTotal], rows: &mut [RankRow]) {
    let places: BTreeMap<(i32, u32), usize> =
        rows.iter().enumerate().map(|(place, row)| ((row.rank, row.pid), place)).collect();
    for total in totals {
        let Some(process) = run.process(total.process) else { continue };
        let Some(stream) = process.stream(total.stream) else { continue };
        let op = run.op(stream);
        if stream.failed || stream.nested || stream.in_hdf5 || !op.is_data() {
            continue;
        }
        let Some(row) = places.get(&(process.rank, process.pid)).and_then(|&place| rows.get_mut(place)) else {
            continue;
        };
        let sum = CallSum { calls: total.all.segments, bytes: total.all.bytes, time_ns: total.all.duration };
        match op.layer {
            Some(Layer::Stdio) => row.stdio.add(&sum),
            Some(Layer::Posix) => row.posix.add(&sum),
            _ => {}
        }
    }
}

/// Returns one row with the totals over all ranks.
#[must_use]
pub fn job(rows: &[RankRow]) -> RankRow {
    let mut all = RankRow { rank: -1, ..RankRow::default() };
    for row in rows {
        all.mpiio.add(&row.mpiio);
        all.mpiio_others.add(&row.mpiio_others);
        all.mpiio_unfinished.add(&row.mpiio_unfinished);
        all.hdf5.add(&row.hdf5);
        all.stdio.add(&row.stdio);
        all.posix.add(&row.posix);
        all.folded = all.folded.saturating_add(row.folded);
        all.mpiio_rest_ns = all.mpiio_rest_ns.saturating_add(row.mpiio_rest_ns);
        all.hdf5_rest_ns = all.hdf5_rest_ns.saturating_add(row.hdf5_rest_ns);
    }
    all
}
