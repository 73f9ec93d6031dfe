//! Groups of peers: an operation is compared only with operations of its own group. All operations of a group have the same layer, name and
//! call variant, and are either called by the program or made inside an MPI-IO call.

use crate::model::{Op, Run, Stream};
use crate::text::layers::layer;
use serde::Serialize;

/// Group of operations that are compared with each other (peers): same layer, name and call variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// Name of the group's I/O layer, such as `POSIX`.
    pub layer: String,
    /// Name of the group's operation, such as `read`.
    pub op: String,
    /// Call variant (collective, nonblocking, ...); empty for the ordinary variant.
    pub mode: String,
    /// True for operations made inside an MPI-IO call.
    pub nested: bool,
}

impl Group {
    /// Returns the group of an operation; `nested` is true for operations made inside an MPI-IO call.
    #[must_use]
    pub fn new(op: &Op, nested: bool) -> Self {
        Self { layer: op.layer_name().into(), op: op.name.clone(), mode: op.mode.name().into(), nested }
    }

    /// Returns the heading of the group, such as `POSIX write, inside MPI-IO`.
    #[must_use]
    pub fn title(&self) -> String {
        let mode = if self.mode.is_empty() { String::new() } else { format!(" {}", self.mode) };
        let nested = if self.nested { ", inside MPI-IO" } else { "" };
        format!("{} {}{mode}{nested}", layer(&self.layer), self.op)
    }
}

/// Returns the index of a group in a run's list of groups; `op` is the operation's index, `nested` is true for calls inside MPI-IO.
#[inline]
#[must_use]
pub fn group_index(op: u16, nested: bool) -> usize {
    usize::from(op) * 2 + usize::from(nested)
}

/// Returns the groups of data operations (reads and writes), by [`group_index`]; `None` at the indices of other operations.
#[must_use]
pub fn data_groups(run: &Run) -> Vec<Option<Group>> {
    let both = |op| [false, true].map(|nested| (op, nested));
    run.ops.iter().flat_map(both).map(|(op, nested)| op.is_data().then(|| Group::new(op, nested))).collect()
}

/// Returns the index in `groups` of the group of `stream`; `None` for failed operations and for operations without a group.
#[inline]
#[must_use]
pub fn group_of<T>(groups: &[Option<T>], stream: &Stream) -> Option<usize> {
    let index = group_index(stream.op, stream.nested);
    (!stream.failed && groups.get(index).is_some_and(Option::is_some)).then_some(index)
}

/// Returns the bandwidth of one operation of `length` bytes in bytes per second; `None` for no bytes. A duration of 0 (coarse clock) counts as 1 ns.
#[inline]
#[must_use]
pub fn bandwidth(length: u64, duration_ns: u64) -> Option<u64> {
    (length > 0).then(|| (float(length) * 1e9 / float(duration_ns.max(1))) as u64)
}

/// Converts to a float by way of a signed integer, for which processors have a single instruction.
#[inline]
fn float(number: u64) -> f64 {
    i64::try_from(number).map_or(number as f64, |number| number as f64)
}
