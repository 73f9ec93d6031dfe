//! What a stream's calls are where it is asked when ranks meet.

use super::who::{Key, Who};
use crate::model::{FileId, Op, Run, Stream, Within};
use crate::topics::layers::parts::{Form, is_made_together};
use trace_format::op::Layer;

/// What a stream's calls are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Not looked at.
    None,
    /// Calls of the program or below.
    Call,
    /// Calls of MPI-IO and HDF5 in which all ranks meet, or a part of them; if it is not `sure`, as far as none leaves before the last has come.
    Collective { op: u16, file: FileId, sure: bool, group: u64 },
    /// Calls of MPI's in which all processes of a communicator meet; if it is not `sure`, as far as none leaves before the last has come: a broadcast
    /// behind a reduction.
    SyncPoint { op: u16, sure: bool },
}

impl Role {
    /// Operation and file of a collective call.
    pub(super) fn collective(self) -> Option<Key> {
        match self {
            Self::Collective { op, file, .. } => Some((op, Who::File(file))),
            _ => None,
        }
    }
}

/// Calls of MPI's which nobody leaves before all have come.
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

/// Whether nobody leaves a call of MPI's before all have come.
pub(super) fn all_meet(op: &Op) -> bool {
    SYNC_CALLS.contains(&op.name.as_str())
}

/// It.
pub(super) fn role(run: &Run, stream: &Stream) -> Role {
    let op = run.op(stream);
    if stream.meets {
        return Role::SyncPoint { op: stream.op, sure: all_meet(op) };
    }
    if stream.overview || Form::of(op.mode) == Form::Unfinished {
        return Role::None;
    }
    let (form, mpiio) = (Form::of(op.mode) == Form::Collective, op.layer == Some(Layer::Mpiio));
    // HDF5 may read each rank's part on its own.
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
