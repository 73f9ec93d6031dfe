//! Communicators of MPI whose collective calls are on record: a segment of the layer MPI has the number of its communicator as
//! its offset, and the table here says what that is.

use serde::{Deserialize, Serialize};

/// Number of `MPI_COMM_WORLD` in every process.
pub const WORLD: u32 = 0;

/// A communicator, as one process saw it. A number is never given again, even if the communicator is freed.
///
/// Processes number communicators on their own. Those of two processes can be the same one only if `size`, `first`, `members` and
/// `remote_size` are equal; of several with all of these equal, the members have used the *n*-th of each process together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommunicatorDef {
    /// What segments have as their offset.
    pub number: u32,
    /// Processes in it; of an intercommunicator, those of this side.
    pub size: u32,
    /// This process's rank in it.
    pub rank: i32,
    /// Rank in `MPI_COMM_WORLD` of its rank 0; -1 unknown.
    pub first: i32,
    /// Told from the ranks in `MPI_COMM_WORLD` of up to 64 members, the same in all of them; 0 unknown.
    pub members: u64,
    /// Processes on the other side of an intercommunicator; 0: it is none.
    pub remote_size: u32,
}
