//! Processes that take part in a file's collective MPI-IO reads and writes of any form: blocking, split or nonblocking. Split and
//! nonblocking calls have no cells, since the time of one call is not the time of the operation.

use crate::model::{Class, FileId, Op, ProcessId, Run, Within};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpMode};

/// Returns the participating processes by file, also if another library makes the MPI-IO calls.
#[must_use]
pub fn collective_callers(run: &Run) -> BTreeMap<FileId, BTreeSet<ProcessId>> {
    let mut out: BTreeMap<FileId, BTreeSet<ProcessId>> = BTreeMap::new();
    for (number, process) in run.numbered_processes() {
        let theirs = process.streams.iter().filter(|stream| stream.within() != Within::Mpiio);
        for stream in theirs.filter(|stream| is_collective(run.op(stream))) {
            out.entry(stream.file).or_default().insert(number);
        }
    }
    out
}

/// True for reads and writes that all processes of the file's communicator make together (MPI 4.0, 14.4).
fn is_collective(op: &Op) -> bool {
    let form = match op.mode {
        OpMode::Collective | OpMode::Ordered | OpMode::Split => true,
        OpMode::Nonblocking => op.name.ends_with("_all"),
        _ => false,
    };
    form && op.layer == Some(Layer::Mpiio) && matches!(Class::of(op), Class::Read | Class::Write)
}
