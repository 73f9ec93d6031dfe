//! Whose collective calls belong together: those on one file, or on one communicator of all ranks.

use crate::model::{FileId, Process};
use rustc_hash::FxHashMap;
use trace_format::meta::{CommunicatorDef, WORLD};

/// Whose k-th calls belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// Calls on a file.
    File(FileId),
    /// On a communicator of all ranks: the n-th of those that a process cannot tell from it, and what tells it from others, as
    /// [`CommunicatorDef`] has it.
    All {
        /// Which of them.
        nth: u32,
        /// Rank in `MPI_COMM_WORLD` of its first.
        first: i32,
        /// Told from its members.
        members: u64,
    },
}

/// `MPI_COMM_WORLD`.
const EVERYBODY: Who = Who::All { nth: 0, first: 0, members: 0 };

/// An operation, and whose calls of it.
pub type Key = (u16, Who);

/// The communicators of all `ranks` that a process used, by number.
#[must_use]
pub fn of_all(process: &Process, ranks: u64) -> FxHashMap<i64, Who> {
    let mut out = FxHashMap::default();
    out.insert(i64::from(WORLD), EVERYBODY);
    let has_all = |def: &&CommunicatorDef| {
        def.number != WORLD && u64::from(def.size) == ranks && def.remote_size == 0 && def.members != 0
    };
    let mut all: Vec<&CommunicatorDef> = process.communicators.iter().filter(has_all).collect();
    all.sort_by_key(|def| def.number);
    let mut count: FxHashMap<(i32, u64), u32> = FxHashMap::default();
    for def in all {
        let nth = count.entry((def.first, def.members)).or_default();
        *nth += 1;
        out.insert(i64::from(def.number), Who::All { nth: *nth, first: def.first, members: def.members });
    }
    out
}
