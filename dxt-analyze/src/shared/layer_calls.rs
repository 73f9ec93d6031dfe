//! Totals of calls, and of the calls made inside them, by kind of system call.

use crate::model::{Op, Stream};
pub use crate::shared::calls::CallSum;
use crate::shared::ratio;
use crate::sum::Sum;
use serde::Serialize;
use trace_format::op::{Layer, OpClass, OpMode};

/// Kind of a system call, by its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// System call that reads.
    Read,
    /// System call that writes.
    Write,
    /// System call that acquires a lock, including the time waiting for the lock.
    Lock,
    /// System call that releases a lock.
    Unlock,
    /// Any other system call: open, sync, seek, stat, ...
    Other,
}

impl Kind {
    /// Returns the kind of system call that an operation is.
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

/// Totals of the calls made inside other calls, by kind of call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inside {
    /// Reads by system calls (POSIX; STDIO if a library uses it).
    pub reads: CallSum,
    /// Writes by system calls (POSIX; STDIO if a library uses it).
    pub writes: CallSum,
    /// Calls that acquire file locks.
    pub locks: CallSum,
    /// Calls that release file locks.
    pub unlocks: CallSum,
    /// Other system calls; inside MPI-IO, also reads and writes of files other than the one that the MPI-IO call is on.
    pub others: CallSum,
    /// MPI-IO calls, only inside HDF5. System calls made by these MPI-IO calls are in the fields `reads` to `others`.
    pub mpiio: CallSum,
    /// Time in MPI-IO calls inside HDF5 that is not spent in system calls, ns.
    pub mpiio_rest_ns: u64,
}

impl Inside {
    /// Adds the totals of other inner calls.
    pub fn add(&mut self, other: &Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.locks.add(&other.locks);
        self.unlocks.add(&other.unlocks);
        self.others.add(&other.others);
        self.mpiio.add(&other.mpiio);
        self.mpiio_rest_ns = self.mpiio_rest_ns.saturating_add(other.mpiio_rest_ns);
    }

    /// Adds the totals of system calls of one kind.
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

    /// Returns the totals of reads and writes together, without other calls.
    #[must_use]
    pub fn data(&self) -> CallSum {
        let mut sum = self.reads;
        sum.add(&self.writes);
        sum
    }

    /// Returns the totals of lock acquisitions and releases together.
    #[must_use]
    pub fn locking(&self) -> CallSum {
        let mut sum = self.locks;
        sum.add(&self.unlocks);
        sum
    }

    /// Returns the time in all system calls, summed, ns.
    #[must_use]
    pub fn system_ns(&self) -> u64 {
        let sums = [&self.reads, &self.writes, &self.locks, &self.unlocks, &self.others];
        sums.iter().map(|sum| sum.time_ns).sum::<Sum>().get()
    }

    /// Returns the number of all system calls.
    #[must_use]
    pub fn system_calls(&self) -> u64 {
        let sums = [&self.reads, &self.writes, &self.locks, &self.unlocks, &self.others];
        sums.iter().map(|sum| sum.calls).sum::<Sum>().get()
    }
}

/// Calls of one layer, and the calls made inside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Made {
    /// Totals of the layer's own calls, including the time of calls made inside them.
    #[serde(flatten)]
    pub of: CallSum,
    /// Totals of the calls made inside the layer's calls.
    pub inside: Inside,
}

impl Made {
    /// Adds the totals of other calls of the layer, and of the calls inside them.
    pub fn add(&mut self, other: &Self) {
        self.of.add(&other.of);
        self.inside.add(&other.inside);
    }

    /// Returns the layer's time outside of inner calls, ns: the library's own work, communication, waiting. A lower bound if inner calls
    /// overlap (asynchronous ones), since overlapping time counts more than once.
    #[must_use]
    pub fn rest_ns(&self) -> u64 {
        self.of.time_ns.saturating_sub(self.inside.system_ns()).saturating_sub(self.inside.mpiio_rest_ns)
    }

    /// Returns `part_ns` as a share of the time in the layer's calls; 0 if there are no calls.
    #[must_use]
    pub fn share(&self, part_ns: u64) -> f64 {
        ratio::share(part_ns, self.of.time_ns)
    }
}

/// Form of an MPI-IO read or write: independent, collective, or nonblocking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Made by each rank independently, including calls that use the shared file pointer.
    Independent,
    /// Made by all ranks of the file's communicator together.
    Collective,
    /// Begun and ended by different calls (nonblocking, split): the operation overlaps with any calls in between.
    Unfinished,
}

/// True if all processes of the file's communicator must make this MPI-IO call (MPI 4.0, 14.2). Collective reads and writes are not
/// included: their form is [`Form::Collective`].
#[must_use]
pub fn is_made_together(op: &Op) -> bool {
    const NAMES: [&str; 6] = ["open", "close", "sync", "set_size", "preallocate", "set_view"];
    op.layer == Some(Layer::Mpiio) && NAMES.contains(&op.name.as_str())
}

impl Form {
    /// Returns the form of MPI-IO calls that have this `mode`.
    #[must_use]
    pub const fn of(mode: OpMode) -> Self {
        match mode {
            OpMode::Collective | OpMode::Ordered => Self::Collective,
            OpMode::Nonblocking | OpMode::Split => Self::Unfinished,
            _ => Self::Independent,
        }
    }

    /// Returns the form's name for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Collective => "collective",
            Self::Unfinished => "nonblocking or split",
        }
    }
}

/// Role of a segment in the nesting of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// MPI-IO or HDF5 call, which may have other calls inside.
    Outer {
        /// True for an HDF5 call, false for an MPI-IO call.
        hdf5: bool,
        /// True if the operation may overlap with other calls of its thread.
        unfinished: bool,
        /// True if the call was made inside HDF5.
        in_hdf5: bool,
        /// True if the call failed: it takes part in the nesting, but does not count.
        failed: bool,
    },
    /// System call, which may be inside an MPI-IO or HDF5 call.
    Inner(Kind),
    /// Call without a place in the nesting: a system call outside of MPI-IO and HDF5 calls, a failed one, or a wait for asynchronous I/O.
    Apart,
}

impl Part {
    /// Returns the role of a stream's segments in the nesting of calls.
    #[must_use]
    pub fn of(stream: &Stream, op: &Op) -> Self {
        // Calls made inside a wait belong to the awaited operation, which has a record of its own.
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
        // Overlapping inner calls must not make the rest negative.
        made.inside.add_kind(Kind::Read, &CallSum::call(1, u64::MAX));
        assert_eq!(made.rest_ns(), 0);
    }
}
