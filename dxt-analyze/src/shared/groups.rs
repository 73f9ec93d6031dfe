//! Groups of operations that are compared with each other and never with others: same layer, operation, form of the call,
//! and either called by the program or made inside an MPI-IO call.

use crate::model::{Op, Run, Stream};
use crate::text::layers::layer;
use serde::Serialize;

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// Layer's name.
    pub layer: String,
    /// Operation's name.
    pub op: String,
    /// Form of the call, empty for the plain one.
    pub mode: String,
    /// Made inside an MPI-IO call.
    pub nested: bool,
}

impl Group {
    /// Of an operation.
    #[must_use]
    pub fn new(op: &Op, nested: bool) -> Self {
        Self { layer: op.layer_name().into(), op: op.name.clone(), mode: op.mode.name().into(), nested }
    }

    /// For headings: `POSIX write, inside MPI-IO`.
    #[must_use]
    pub fn title(&self) -> String {
        let mode = if self.mode.is_empty() { String::new() } else { format!(" {}", self.mode) };
        let nested = if self.nested { ", inside MPI-IO" } else { "" };
        format!("{} {}{mode}{nested}", layer(&self.layer), self.op)
    }
}

/// Number of a group within a run: dense, from the operation's index.
#[inline]
#[must_use]
pub fn group_index(op: u16, nested: bool) -> usize {
    usize::from(op) * 2 + usize::from(nested)
}

/// The groups of data operations (reads and writes): `Some` at [`group_index`].
#[must_use]
pub fn data_groups(run: &Run) -> Vec<Option<Group>> {
    let both = |op| [false, true].map(|nested| (op, nested));
    run.ops.iter().flat_map(both).map(|(op, nested)| op.is_data().then(|| Group::new(op, nested))).collect()
}

/// Where `stream`'s operations belong among `groups`; failed ones belong nowhere.
#[inline]
#[must_use]
pub fn group_of<T>(groups: &[Option<T>], stream: &Stream) -> Option<usize> {
    let index = group_index(stream.op, stream.nested);
    (!stream.failed && groups.get(index).is_some_and(Option::is_some)).then_some(index)
}

/// Bandwidth of one operation in whole bytes per second. An operation of no duration, possible with a coarse clock,
/// counts as one of 1 ns; one of no bytes has no bandwidth.
#[inline]
#[must_use]
pub fn bandwidth(length: u64, duration_ns: u64) -> Option<u64> {
    (length > 0).then(|| (float(length) * 1e9 / float(duration_ns.max(1))) as u64)
}

/// As a float. Signed numbers are, which a processor converts at once.
#[inline]
fn float(number: u64) -> f64 {
    i64::try_from(number).map_or(number as f64, |number| number as f64)
}
