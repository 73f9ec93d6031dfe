//! Groups of processes whose collective calls belong together: the processes that use a file, or those of a communicator.

use crate::model::{FileId, Process};
use rustc_hash::FxHashMap;
use trace_format::meta::{CommunicatorDef, WORLD};

/// Group of processes: the k-th calls of an operation by its members are one collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// Processes that make the call on this file.
    File(FileId),
    /// Communicator of all ranks. Different processes know it by first rank, members, and number among those with equal values
    /// ([`CommunicatorDef`]).
    All {
        /// Number of the communicator among those with equal first rank and members.
        nth: u32,
        /// Rank in `MPI_COMM_WORLD` of the communicator's first member.
        first: i32,
        /// Hash of the members of the communicator.
        members: u64,
    },
    /// Communicator of some of the ranks, identified in the same way as `All`.
    Part {
        /// Number of the communicator among those with equal first rank and members.
        nth: u32,
        /// Rank in `MPI_COMM_WORLD` of the communicator's first member.
        first: i32,
        /// Hash of the members of the communicator.
        members: u64,
    },
}

/// Group of all ranks: `MPI_COMM_WORLD`.
const EVERYBODY: Who = Who::All { nth: 0, first: 0, members: 0 };

/// Operation (index into the run's operations), and the group of processes that makes the calls together.
pub type Key = (u16, Who);

/// Returns a process's communicators that contain all `ranks`, by their number in the trace.
#[must_use]
pub fn of_all(process: &Process, ranks: u64) -> FxHashMap<i64, Who> {
    let has_all = |def: &CommunicatorDef| u64::from(def.size) == ranks;
    let mut out = numbered(process, has_all, |(nth, first, members)| Who::All { nth, first, members });
    out.insert(i64::from(WORLD), EVERYBODY);
    out
}

/// Returns a process's communicators of at least `least` ranks, but not of all, by their number in the trace.
#[must_use]
pub fn of_parts(process: &Process, ranks: u64, least: u64) -> FxHashMap<i64, Who> {
    let has_some = |def: &CommunicatorDef| (least..ranks).contains(&u64::from(def.size));
    numbered(process, has_some, |(nth, first, members)| Who::Part { nth, first, members })
}

/// Returns a process's communicators for which `is` is true, by their number in the trace. `who` gets (nth, first rank, hash of the
/// members): nth counts the communicators with equal first rank and members in the order of their creation, which is the same on all members.
fn numbered(
    process: &Process,
    is: impl Fn(&CommunicatorDef) -> bool,
    who: impl Fn((u32, i32, u64)) -> Who,
) -> FxHashMap<i64, Who> {
    let counts = |def: &&CommunicatorDef| def.number != WORLD && is(def) && def.remote_size == 0 && def.members != 0;
    let mut all: Vec<&CommunicatorDef> = process.communicators.iter().filter(counts).collect();
    all.sort_by_key(|def| def.number);
    let mut count: FxHashMap<(i32, u64), u32> = FxHashMap::default();
    let number = |def: &CommunicatorDef| {
        let nth = count.entry((def.first, def.members)).or_default();
        *nth += 1;
        (i64::from(def.number), who((*nth, def.first, def.members)))
    };
    all.into_iter().map(number).collect()
}
