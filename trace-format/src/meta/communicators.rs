//! MPI communicators whose collective calls are recorded. A segment of layer MPI holds its communicator's id in the field for the file
//! offset; the communicator table defines these ids.

use serde::{Deserialize, Serialize};

/// Id of `MPI_COMM_WORLD` in every process.
pub const WORLD: u32 = 0;

/// MPI communicator, as seen by one process. Ids are never reused, even after a communicator is freed.
///
/// Each process assigns its own ids. Communicators of two processes may be the same communicator only if `size`, `first`, `members` and
/// `remote_size` are equal. If several communicators agree in all four fields, the *n*-th of one process is the *n*-th of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommunicatorDef {
    /// Communicator id: the value that segments of collective calls hold in the field for the file offset.
    pub number: u32,
    /// Number of processes in the communicator, or in the local group of an intercommunicator.
    pub size: u32,
    /// Rank of this process in the communicator.
    pub rank: i32,
    /// Rank in `MPI_COMM_WORLD` of the communicator's rank 0; -1 if unknown.
    pub first: i32,
    /// Hash of the ranks in `MPI_COMM_WORLD` of up to 64 members, equal in all members; 0 if unknown.
    pub members: u64,
    /// Number of processes in the remote group of an intercommunicator; 0 for other communicators.
    pub remote_size: u32,
}
