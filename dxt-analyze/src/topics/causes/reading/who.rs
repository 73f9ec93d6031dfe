//! Whose collective calls belong together: those on one file, or on one communicator, of all ranks or a part of them.

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
        /// Reported from its members.
        members: u64,
    },
    /// The same of a communicator of some of the ranks.
    Part {
        /// Which of them.
        nth: u32,
        /// Rank in `MPI_COMM_WORLD` of its first.
        first: i32,
        /// Reported from its members.
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
    let has_all = |def: &CommunicatorDef| u64::from(def.size) == ranks;
    let mut out = numbered(process, has_all, |(nth, first, members)| Who::All { nth, first, members });
    out.insert(i64::from(WORLD), EVERYBODY);
    out
}

/// Those of at least so many of them, but not of all.
#[must_use]
pub fn of_parts(process: &Process, ranks: u64, least: u64) -> FxHashMap<i64, Who> {
    let has_some = |def: &CommunicatorDef| (least..ranks).contains(&u64::from(def.size));
    numbered(process, has_some, |(nth, first, members)| Who::Part { nth, first, members })
}

/// Communicators within one group, as each of its members tells them apart.
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
