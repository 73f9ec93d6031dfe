//! MPI communicators whose collective calls are on record. A segment of the layer MPI has the number of its communicator as its offset; the
//! table here defines the numbers.

use serde::{Deserialize, Serialize};

/// Number of `MPI_COMM_WORLD` in every process.
pub const WORLD: u32 = 0;

/// Communicator, as seen by one process. Numbers are never reused, even if a communicator is freed.
///
/// Each process numbers communicators on its own. Communicators of two processes can be the same one only if `size`, `first`, `members` and
/// `remote_size` are equal; of several that are equal in all of these, the *n*-th of one process is the *n*-th of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommunicatorDef {
    /// Number, which segments have as their offset.
    pub number: u32,
    /// Number of processes; of an intercommunicator, those of this side.
    pub size: u32,
    /// Rank of this process in the communicator.
    pub rank: i32,
    /// Rank in `MPI_COMM_WORLD` of the communicator's rank 0; -1 if unknown.
    pub first: i32,
    /// Hash of the ranks in `MPI_COMM_WORLD` of up to 64 members, equal in all members; 0 if unknown.
    pub members: u64,
    /// Number of processes on the other side of an intercommunicator; 0 if it is none.
    pub remote_size: u32,
}
