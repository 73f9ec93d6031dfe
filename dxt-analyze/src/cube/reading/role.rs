//! Decides whether calls of a stream (one operation on one file) may be synchronization points of ranks.

use super::who::{Key, Who};
use crate::model::{FileId, Op, Run, Stream, Within};
use crate::shared::layer_calls::{Form, is_made_together};
use trace_format::op::Layer;

/// Role of a stream's calls in the search for synchronization points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The stream's calls are ignored.
    None,
    /// The stream's calls do not synchronize ranks.
    Call,
    /// MPI-IO and HDF5 calls in which all or some ranks synchronize (`group`: hash of the group). If not `sure`, they do so only if no rank
    /// leaves a call before the last arrives.
    Collective { op: u16, file: FileId, sure: bool, group: u64 },
    /// MPI's own calls in which all processes of a communicator synchronize. If not `sure`, they do so only if no process leaves a call
    /// before the last arrives, such as a broadcast after a reduction.
    SyncPoint { op: u16, sure: bool },
}

impl Role {
    /// Returns operation and file of a collective MPI-IO or HDF5 call; `None` for other calls.
    pub(super) fn collective(self) -> Option<Key> {
        match self {
            Self::Collective { op, file, .. } => Some((op, Who::File(file))),
            _ => None,
        }
    }
}

/// MPI functions that no process leaves before all have arrived.
const SYNC_CALLS: [&str; 9] = [
    "barrier",
    "allreduce",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce_scatter",
    "reduce_scatter_block",
];

/// True if no process leaves the MPI function before all have arrived.
pub(super) fn all_meet(op: &Op) -> bool {
    SYNC_CALLS.contains(&op.name.as_str())
}

pub(super) fn role(run: &Run, stream: &Stream) -> Role {
    let op = run.op(stream);
    if stream.meets {
        return Role::SyncPoint { op: stream.op, sure: all_meet(op) };
    }
    if stream.overview || Form::of(op.mode) == Form::Unfinished {
        return Role::None;
    }
    let (form, mpiio) = (Form::of(op.mode) == Form::Collective, op.layer == Some(Layer::Mpiio));
    // HDF5 may read each rank's part independently.
    let (sure, library) = (form && mpiio, mpiio || op.layer == Some(Layer::Hdf5));
    let collective = library && form || mpiio && is_made_together(op);
    match stream.within() {
        Within::Nothing if collective && run.window.is_none() => {
            Role::Collective { op: stream.op, file: stream.file, sure, group: 0 }
        }
        Within::Nothing => Role::Call,
        _ => Role::None,
    }
}
