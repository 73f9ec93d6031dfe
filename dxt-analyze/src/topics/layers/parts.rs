//! Sums of calls, and of the calls that were made inside them.

use crate::model::{Op, Stream};
pub use crate::shared::calls::CallSum;
use crate::shared::ratio;
use crate::sum::Sum;
use serde::Serialize;
use trace_format::op::{Layer, OpClass, OpMode};

/// Kinds of system calls that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Taking a lock, waiting for it included.
    Lock,
    /// Giving it back.
    Unlock,
    /// Everything else: open, sync, seek, stat, ...
    Other,
}

impl Kind {
    /// Of an operation.
    #[must_use]
    pub fn of(op: &Op) -> Self {
        match op.class {
            Some(OpClass::Read) => Self::Read,
            Some(OpClass::Write) => Self::Write,
            Some(OpClass::Lock) => Self::Lock,
            Some(OpClass::Unlock) => Self::Unlock,
            _ => Self::Other,
        }
    }
}

/// What was called inside some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inside {
    /// Reads of the system (POSIX; STDIO if a library uses that).
    pub reads: CallSum,
    /// Writes of the system.
    pub writes: CallSum,
    /// Locks taken.
    pub locks: CallSum,
    /// Locks given back.
    pub unlocks: CallSum,
    /// Other system calls; inside MPI-IO also reads and writes of other files than the call's.
    pub others: CallSum,
    /// Inside HDF5: calls of MPI-IO. The system calls inside them are in the sums above.
    pub mpiio: CallSum,
    /// Time in those calls of MPI-IO that no system call accounts for, ns.
    pub mpiio_rest_ns: u64,
}

impl Inside {
    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.locks.add(&other.locks);
        self.unlocks.add(&other.unlocks);
        self.others.add(&other.others);
        self.mpiio.add(&other.mpiio);
        self.mpiio_rest_ns = self.mpiio_rest_ns.saturating_add(other.mpiio_rest_ns);
    }

    /// Adds system calls of one kind.
    #[inline]
    pub fn add_kind(&mut self, kind: Kind, sum: &CallSum) {
        match kind {
            Kind::Read => self.reads.add(sum),
            Kind::Write => self.writes.add(sum),
            Kind::Lock => self.locks.add(sum),
            Kind::Unlock => self.unlocks.add(sum),
            Kind::Other => self.others.add(sum),
        }
    }

    /// Reads and writes.
    #[must_use]
    pub fn data(&self) -> CallSum {
        let mut sum = self.reads;
        sum.add(&self.writes);
        sum
    }

    /// Taking and giving back locks.
    #[must_use]
    pub fn locking(&self) -> CallSum {
        let mut sum = self.locks;
        sum.add(&self.unlocks);
        sum
    }

    /// Time in system calls, ns.
    #[must_use]
    pub fn system_ns(&self) -> u64 {
        let sums = [&self.reads, &self.writes, &self.locks, &self.unlocks, &self.others];
        sums.iter().map(|sum| sum.time_ns).sum::<Sum>().get()
    }

    /// System calls.
    #[must_use]
    pub fn system_calls(&self) -> u64 {
        let sums = [&self.reads, &self.writes, &self.locks, &self.unlocks, &self.others];
        sums.iter().map(|sum| sum.calls).sum::<Sum>().get()
    }
}

/// Calls of one layer with what was called inside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The calls.
    #[serde(flatten)]
    pub of: CallSum,
    /// What was called inside.
    pub inside: Inside,
}

impl Made {
    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        self.of.add(&other.of);
        self.inside.add(&other.inside);
    }

    /// Time that no call inside accounts for, ns: the library's own work, communication, waiting. Calls inside that ran
    /// at the same time (asynchronous ones) count more than once, so this is a lower bound there.
    #[must_use]
    pub fn rest_ns(&self) -> u64 {
        self.of.time_ns.saturating_sub(self.inside.system_ns()).saturating_sub(self.inside.mpiio_rest_ns)
    }

    /// Share of the time that is `part_ns`; 0 of nothing.
    #[must_use]
    pub fn share(&self, part_ns: u64) -> f64 {
        ratio::share(part_ns, self.of.time_ns)
    }
}

/// How a call of MPI-IO was made, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Every rank for itself; the shared file pointer included.
    Independent,
    /// All ranks of the file's communicator together.
    Collective,
    /// Begun and ended by different calls (nonblocking, split): its time overlaps with whatever happens between them.
    Unfinished,
}

/// Whether all processes of a file's communicator make these calls of MPI-IO together, which may be one process alone (MPI 4.0, 14.2): reads and
/// writes that are collective are so by their form, [`Form::Collective`].
#[must_use]
pub fn is_made_together(op: &Op) -> bool {
    const NAMES: [&str; 6] = ["open", "close", "sync", "set_size", "preallocate", "set_view"];
    op.layer == Some(Layer::Mpiio) && NAMES.contains(&op.name.as_str())
}

impl Form {
    /// Of an operation's mode.
    #[must_use]
    pub const fn of(mode: OpMode) -> Self {
        match mode {
            OpMode::Collective | OpMode::Ordered => Self::Collective,
            OpMode::Nonblocking | OpMode::Split => Self::Unfinished,
            _ => Self::Independent,
        }
    }

    /// For tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Collective => "collective",
            Self::Unfinished => "nonblocking or split",
        }
    }
}

/// What a segment is to the nesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A call that may have others inside: of MPI-IO or HDF5.
    Outer {
        /// Whether HDF5's, not MPI-IO's.
        hdf5: bool,
        /// Whether it may overlap with others of its thread.
        unfinished: bool,
        /// Whether it was made inside HDF5.
        in_hdf5: bool,
        /// Whether it failed: it has its place in the order, and nothing of it is counted.
        failed: bool,
    },
    /// A call of the system inside such a call.
    Inner(Kind),
    /// Neither.
    Apart,
}

impl Part {
    /// Of a stream and its operation.
    #[must_use]
    pub fn of(stream: &Stream, op: &Op) -> Self {
        // What is done inside is the operation's that it hands over or waits for, which has a segment of its own.
        if op.class == Some(OpClass::Wait) {
            return Self::Apart;
        }
        match op.layer {
            Some(Layer::Mpiio | Layer::Hdf5) => Self::Outer {
                hdf5: op.layer == Some(Layer::Hdf5),
                unfinished: op.layer == Some(Layer::Mpiio) && Form::of(op.mode) == Form::Unfinished,
                in_hdf5: stream.in_hdf5,
                failed: stream.failed,
            },
            Some(Layer::Posix | Layer::Stdio) if (stream.nested || stream.in_hdf5) && !stream.failed => {
                Self::Inner(Kind::of(op))
            }
            _ => Self::Apart,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_call_inside_accounts_for_is_the_rest() {
        let mut made = Made { of: CallSum::call(100, 1000), ..Made::default() };
        made.inside.add_kind(Kind::Write, &CallSum::call(100, 300));
        made.inside.add_kind(Kind::Lock, &CallSum::call(0, 200));
        made.inside.add_kind(Kind::Unlock, &CallSum::call(0, 50));
        assert_eq!((made.rest_ns(), made.inside.locking().calls), (450, 2));
        assert_eq!(made.share(made.inside.locking().time_ns), 0.25);
        // Calls inside that overlap with each other never make it negative.
        made.inside.add_kind(Kind::Read, &CallSum::call(1, u64::MAX));
        assert_eq!(made.rest_ns(), 0);
    }
}
