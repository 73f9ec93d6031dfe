//! Matches collective calls over ranks. The k-th collective write (or read) of each rank on a file belongs to the k-th of every other
//! rank: MPI requires this of the ranks that opened the file together. Groups of ranks that open one file with different communicators are
//! not distinguished.
//!
//! At most [`FOLLOWED_COLLECTIVES`] operations are tracked; beyond that, a sample chosen by hash (see
//! [`crate::shared::sampled_table`]). Values of a tracked operation stay exact; sums then cover 1 in 2^bits operations.

use crate::limits::FOLLOWED_COLLECTIVES;
use crate::model::{FileId, ProcessId};
use crate::shared::layer_calls::Made;
use crate::shared::sampled_table::{self, Value};

/// Key of a collective operation: file, operation and sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// File of the collective operation, as an index into the run's files.
    pub file: FileId,
    /// Operation (such as a collective write), as an index into the run's operations.
    pub op: u16,
    /// Sequence number, from 0, of the operation among each rank's calls of this kind on the file.
    pub number: u64,
}

impl sampled_table::Key for Key {
    fn parts(self) -> (u64, u64) {
        (u64::from(self.file.0) << 16 | u64::from(self.op), self.number)
    }
}

/// Call of one rank in a collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Process that made the call, as an index into the run's processes.
    pub process: ProcessId,
    /// Start of the call, ns since the job's start.
    pub start: u64,
    /// End of the call, ns since the job's start.
    pub end: u64,
    /// Duration of the call, and the calls made inside it.
    pub made: Made,
}

/// Largest value over processes, and the process that has it; of equal values, that of the process with the lowest index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Largest value over processes: a duration, or a time since the job's start, ns.
    pub ns: u64,
    /// Process that has the largest value, as an index into the run's processes.
    pub process: ProcessId,
}

impl Most {
    fn max(&mut self, other: Self) {
        if (other.ns, std::cmp::Reverse(other.process)) > (self.ns, std::cmp::Reverse(self.process)) {
            *self = other;
        }
    }
}

/// Collective operation: the matching calls of all ranks. Points in time are ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Number of calls in the collective operation, one per participating rank.
    pub calls: u64,
    /// Bytes requested by all ranks together in the collective operation.
    pub bytes: u64,
    /// Time in the calls of the collective operation, summed over ranks, ns.
    pub time_ns: u64,
    /// Earliest start of a rank's call, ns since the job's start.
    pub first_start: u64,
    /// Latest start of a rank's call, ns since the job's start, and the rank's process.
    pub last_start: Most,
    /// Earliest end of a rank's call, ns since the job's start.
    pub first_end: u64,
    /// Latest end of a rank's call, ns since the job's start, and the rank's process.
    pub last_end: Most,
    /// Sum of the start times of all ranks' calls, ns since the job's start.
    pub starts: u128,
    /// Number of processes that moved data by system calls inside their collective call (aggregators).
    pub aggregators: u64,
    /// Number of system calls that moved data inside the collective calls.
    pub data_calls: u64,
    /// Bytes moved by system calls inside the collective calls.
    pub data_bytes: u64,
    /// Time in system calls that moved data inside the collective calls, summed over processes, ns.
    pub data_ns: u64,
    /// Longest time that one process spent in system calls inside its collective call, ns, and this process.
    pub longest: Most,
}

impl Collective {
    /// Creates a collective operation with one participant so far.
    #[must_use]
    pub fn of(call: &Call) -> Self {
        let Call { process, start, end, made } = *call;
        let data = made.inside.data();
        Self {
            calls: 1,
            bytes: made.of.bytes,
            time_ns: made.of.time_ns,
            first_start: start,
            last_start: Most { ns: start, process },
            first_end: end,
            last_end: Most { ns: end, process },
            starts: u128::from(start),
            aggregators: u64::from(data.calls > 0),
            data_calls: data.calls,
            data_bytes: data.bytes,
            data_ns: data.time_ns,
            longest: Most { ns: made.inside.system_ns().min(made.of.time_ns), process },
        }
    }

    fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.first_start = self.first_start.min(other.first_start);
        self.last_start.max(other.last_start);
        self.first_end = self.first_end.min(other.first_end);
        self.last_end.max(other.last_end);
        self.starts = self.starts.saturating_add(other.starts);
        self.aggregators = self.aggregators.saturating_add(other.aggregators);
        self.data_calls = self.data_calls.saturating_add(other.data_calls);
        self.data_bytes = self.data_bytes.saturating_add(other.data_bytes);
        self.data_ns = self.data_ns.saturating_add(other.data_ns);
        self.longest.max(other.longest);
    }

    /// Returns the wall time from the first rank's start to the last rank's end, in ns.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.last_end.ns.saturating_sub(self.first_start)
    }

    /// Returns the time between the first and the last rank's start, in ns.
    #[must_use]
    pub fn skew_ns(&self) -> u64 {
        self.last_start.ns.saturating_sub(self.first_start)
    }

    /// True if no rank's call ended before the last rank's call began, so that all other ranks may have waited for the last.
    #[must_use]
    pub fn is_together(&self) -> bool {
        self.first_end >= self.last_start.ns
    }

    /// Returns the time that ranks waited for the last rank to begin, summed over ranks, ns; 0 if a rank's call ended before that.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        if !self.is_together() {
            return 0;
        }
        let all = u128::from(self.last_start.ns).saturating_mul(self.calls.into()).saturating_sub(self.starts);
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// Returns an upper bound of the time that any one process spends in system calls after all ranks have entered the collective call, in
    /// ns: its time in system calls inside the call, at most the time from the last rank's entry to the end of the call on all ranks.
    #[must_use]
    pub fn storage_ns(&self) -> u64 {
        self.longest.ns.min(self.wall_ns().saturating_sub(self.skew_ns()))
    }

    /// Returns a lower bound of the time that any one process spends outside of system calls (communication, copying) after all ranks have
    /// entered the collective call, in ns.
    #[must_use]
    pub fn rest_ns(&self) -> u64 {
        self.wall_ns().saturating_sub(self.skew_ns()).saturating_sub(self.storage_ns())
    }
}

impl Value for Collective {
    fn join(&mut self, other: Self) {
        self.add(&other);
    }
}

/// Collective operations that are tracked: all, or a sample if there are too many.
#[derive(Clone, Debug)]
pub struct Followed(sampled_table::Followed<Key, Collective>);

impl Default for Followed {
    fn default() -> Self {
        Self::with_limit(FOLLOWED_COLLECTIVES)
    }
}

impl Followed {
    /// Creates an empty set that tracks at most `limit` collective operations.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self(sampled_table::Followed::with_limit(limit))
    }

    /// Adds the call of one process to the collective operation `key`, if this operation is tracked.
    pub fn add(&mut self, key: Key, call: &Call) {
        if self.0.follows(key) {
            self.0.add(key, Collective::of(call));
        }
    }

    /// Adds the collective operations that another thread of the analyzer tracked.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }

    /// Returns the sampling factor: one in this many collective operations is tracked; 1 if all are.
    #[must_use]
    pub fn one_in(&self) -> u64 {
        self.0.one_in()
    }

    /// Returns the tracked collective operations, sorted by key.
    #[must_use]
    pub fn sorted(self) -> Vec<(Key, Collective)> {
        self.0.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::layer_calls::{CallSum, Kind};

    fn call(process: ProcessId, start: u64, end: u64, data_ns: u64) -> Call {
        let mut made = Made { of: CallSum::call(10, end - start), ..Made::default() };
        if data_ns > 0 {
            made.inside.add_kind(Kind::Write, &CallSum::call(30, data_ns));
        }
        Call { process, start, end, made }
    }

    #[test]
    fn the_last_to_come_makes_the_others_wait() {
        let key = Key { file: FileId(0), op: 0, number: 0 };
        let calls =
            [call(ProcessId(2), 100, 190, 0), call(ProcessId(0), 110, 200, 40), call(ProcessId(1), 150, 195, 0)];
        let mut followed = Followed::default();
        calls.iter().for_each(|call| followed.add(key, call));
        let all = followed.sorted();
        let found = all[0].1;
        assert_eq!((found.wall_ns(), found.skew_ns(), found.wait_ns()), (100, 50, 50 + 40));
        assert_eq!((found.storage_ns(), found.rest_ns()), (40, 10));
        assert_eq!((found.last_start.process, found.last_end.process), (ProcessId(1), ProcessId(0)));
        assert_eq!(found.aggregators, 1);
        assert_eq!((found.bytes, found.data_bytes), (30, 30));
    }

    #[test]
    fn who_has_gone_has_not_waited() {
        let mut found = Collective::of(&call(ProcessId(0), 0, 10, 5));
        found.add(&Collective::of(&call(ProcessId(1), 20, 30, 5)));
        assert_eq!((found.wall_ns(), found.skew_ns(), found.wait_ns()), (30, 20, 0));
        assert!(!found.is_together());
        assert_eq!((found.storage_ns(), found.rest_ns()), (5, 5));
    }

    #[test]
    fn a_sample_does_not_depend_on_who_saw_what() {
        let keys = (0..1000).map(|number| Key { file: FileId(1), op: 2, number });
        let (mut whole, mut one, mut two) =
            (Followed::with_limit(100), Followed::with_limit(100), Followed::with_limit(100));
        for key in keys {
            for process in 0..2 {
                let call = call(ProcessId(process), key.number, key.number + 10, 1);
                whole.add(key, &call);
                let half = if (key.number + u64::from(process)).is_multiple_of(3) { &mut one } else { &mut two };
                half.add(key, &call);
            }
        }
        one.merge(two);
        assert!((8..=32).contains(&whole.one_in()));
        assert_eq!(whole.one_in(), one.one_in());
        assert_eq!(whole.sorted(), one.sorted());
    }
}
