//! Totals per file from the pass in call order: integers that add up over processes, and one example of each kind, chosen regardless of the
//! order of processes.

use crate::model::{FileId, ProcessId};
use crate::sum::Sum;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Example call that a finding can point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Size of the example in bytes or calls; the largest example is reported.
    pub amount: u64,
    /// Process that made the call, as an index into the run's processes.
    pub process: ProcessId,
    /// Offset in the file of the example call, bytes.
    pub offset: u64,
    /// Length of the example call, bytes.
    pub length: u64,
}

/// Replaces `mine` by `other` if `other` is larger, or equal and of an earlier process or at a lower offset.
pub fn keep(mine: &mut Option<Example>, other: Option<Example>) {
    let order = |one: &Example| (one.amount, std::cmp::Reverse((one.process, one.offset)));
    if other.as_ref().map(order) > mine.as_ref().map(order) {
        *mine = other;
    }
}

/// Totals over a set of calls: number, bytes and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Number of calls in the set.
    pub count: u64,
    /// Bytes that the calls of the set moved.
    pub bytes: u64,
    /// Time in the calls of the set, summed over processes, ns.
    pub time_ns: u64,
}

impl Calls {
    /// Adds one call that moved `bytes` bytes in `time_ns` ns.
    #[inline]
    pub fn add(&mut self, bytes: u64, time_ns: u64) {
        self.merge(&Self { count: 1, bytes, time_ns });
    }

    /// Adds the totals of other calls to these totals.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Totals of a file's reads, or of its writes, at the layer that reaches storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// All reads (or writes) of the file.
    pub all: Calls,
    /// Small calls: at least one byte, and below the threshold for small requests. Excludes calls on C streams, whose buffers gather bytes.
    pub small: Calls,
    /// Number of small calls of unknown size: counters sum their bytes with those of larger calls.
    pub small_unsized: u64,
    /// Random calls: calls that begin before the end of the thread's previous call, but not at that call's offset (repeated access to one
    /// place is not random).
    pub random: Calls,
    /// Number of calls whose order relative to the thread's previous call is known.
    pub placed: u64,
    /// Number of runs of contiguous small requests that one larger request could replace.
    pub runs: u64,
    /// Number, bytes and time of the calls that belong to runs of contiguous small requests.
    pub in_runs: Calls,
    /// Number of calls that would be saved if each run of contiguous small requests were merged into larger requests.
    pub saved: u64,
    /// Time that larger requests would save, ns: the runs' time x share of their calls that would be saved.
    pub saved_ns: u64,
    /// Longest run of contiguous small requests; its `amount` is a number of calls.
    pub longest_run: Option<Example>,
    /// Small calls that took at least `slow_small_ns` ns, the time of an access to storage.
    pub slow_small: Calls,
}

impl Direction {
    /// Adds the totals of the same direction (reads or writes) of another process or file.
    pub fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.small.merge(&other.small);
        self.small_unsized = self.small_unsized.saturating_add(other.small_unsized);
        self.random.merge(&other.random);
        self.placed = self.placed.saturating_add(other.placed);
        self.runs = self.runs.saturating_add(other.runs);
        self.in_runs.merge(&other.in_runs);
        self.saved = self.saved.saturating_add(other.saved);
        self.saved_ns = self.saved_ns.saturating_add(other.saved_ns);
        keep(&mut self.longest_run, other.longest_run);
        self.slow_small.merge(&other.slow_small);
    }
}

/// Bytes that the same process moved repeatedly (reread, read back or overwritten).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Number of bytes moved repeatedly.
    pub bytes: u64,
    /// Time of the repeating calls, in proportion to the bytes that were moved repeatedly, ns.
    pub time_ns: u64,
    /// Number of processes that moved bytes of the file repeatedly.
    pub processes: u64,
    /// First call that moved bytes repeatedly, of the process with most such bytes; its `amount` is that number of bytes.
    pub example: Option<Example>,
}

impl Repeated {
    /// Adds a call of `process`: `length` bytes at `offset` in `time_ns` ns, of which `bytes` bytes had been moved before.
    pub fn add(&mut self, process: ProcessId, bytes: u64, offset: u64, length: u64, time_ns: u64) {
        if bytes == 0 {
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        let part = u128::from(time_ns) * u128::from(bytes) / u128::from(length.max(1));
        self.time_ns = self.time_ns.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        self.processes = 1;
        let first = self.example.get_or_insert(Example { amount: 0, process, offset, length });
        first.amount = self.bytes;
    }

    fn merge(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.processes = self.processes.saturating_add(other.processes);
        keep(&mut self.example, other.example);
    }
}

/// Bytes that MPI-IO read by system calls inside its calls, compared with the bytes requested (data sieving).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sieve {
    /// Bytes that MPI-IO read inside independent reads minus the bytes that these reads requested, if positive.
    pub independent: Sum,
    /// Bytes that MPI-IO read inside writes in order to write them back (read-modify-write).
    pub inside_writes: Sum,
    /// Bytes that MPI-IO read by system calls inside collective reads.
    pub collective_read: Sum,
    /// Bytes that the collective MPI-IO reads requested.
    pub collective_asked: Sum,
    /// Time in system reads inside MPI-IO calls that requested fewer bytes than were read, ns.
    pub time_ns: Sum,
}

impl Sieve {
    fn merge(&mut self, other: &Self) {
        self.independent += other.independent;
        self.inside_writes += other.inside_writes;
        self.collective_read += other.collective_read;
        self.collective_asked += other.collective_asked;
        self.time_ns += other.time_ns;
    }

    /// Returns the bytes that MPI-IO read although no call requested them. For collective reads, that is the excess over the requests of
    /// all ranks together.
    #[must_use]
    pub fn unasked(&self) -> u64 {
        let collective = self.collective_read.get().saturating_sub(self.collective_asked.get());
        (self.independent + self.inside_writes + collective).get()
    }
}

/// Totals of one file over all its accesses in call order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSums {
    /// Totals of the file's reads at the layer that reaches storage, except on C streams.
    pub reads: Direction,
    /// Totals of the writes to the file at the layer that reaches storage, except on C streams.
    pub writes: Direction,
    /// Reads of the file that were recorded singly (with segments), at the layer that reaches storage.
    pub read: Calls,
    /// Writes to the file that were recorded singly (with segments), at the layer that reaches storage.
    pub written: Calls,
    /// Bytes that a process read more than once without writing them in between.
    pub reread: Repeated,
    /// Bytes that a process read back after it wrote them.
    pub read_back: Repeated,
    /// Bytes that a process wrote more than once.
    pub overwritten: Repeated,
    /// Bytes reread, read back or overwritten that are in no other field: several threads of a process read and wrote the file in unknown
    /// order.
    pub unordered: Sum,
    /// Bytes of the file whose offsets were forgotten to limit memory.
    pub forgotten: Sum,
    /// Bytes that MPI-IO read inside its calls, compared with requests.
    pub sieve: Sieve,
    /// Number of processes that wrote the file.
    pub writers: u32,
    /// Number of processes that read the file.
    pub readers: u32,
    /// Number of processes that both read and wrote the file.
    pub both: u32,
}

impl FileSums {
    /// Returns the totals of writes if `writes` is true, else of reads.
    #[inline]
    pub fn direction(&mut self, writes: bool) -> &mut Direction {
        if writes { &mut self.writes } else { &mut self.reads }
    }

    /// Adds the totals to those of `file`. Logs may name a million files: what is in no table of theirs yet moves there as it is.
    pub fn merge_into(self: Box<Self>, files: &mut FxHashMap<FileId, Box<Self>>, file: FileId) {
        match files.entry(file) {
            Entry::Occupied(of) => of.into_mut().merge(&self),
            Entry::Vacant(of) => {
                of.insert(self);
            }
        }
    }

    /// Adds the totals of the file in another process.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.read.merge(&other.read);
        self.written.merge(&other.written);
        self.reread.merge(&other.reread);
        self.read_back.merge(&other.read_back);
        self.overwritten.merge(&other.overwritten);
        self.unordered += other.unordered;
        self.forgotten += other.forgotten;
        self.sieve.merge(&other.sieve);
        self.writers = self.writers.saturating_add(other.writers);
        self.readers = self.readers.saturating_add(other.readers);
        self.both = self.both.saturating_add(other.both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_example_stays_and_equal_ones_go_to_the_first() {
        let example = |amount, process| Some(Example { amount, process: ProcessId(process), offset: 5, length: 1 });
        let mut mine = None;
        for (other, expected) in
            [(example(3, 4), (3, 4)), (example(3, 2), (3, 2)), (example(1, 0), (3, 2)), (None, (3, 2))]
        {
            keep(&mut mine, other);
            assert_eq!(mine.map(|one| (one.amount, one.process.0)), Some(expected));
        }
    }

    #[test]
    fn time_is_shared_out_by_bytes() {
        let mut again = Repeated::default();
        again.add(ProcessId(3), 0, 0, 100, 50);
        again.add(ProcessId(3), 25, 40, 100, 1000);
        again.add(ProcessId(3), 100, 0, 100, 1000);
        assert_eq!((again.bytes, again.time_ns, again.processes), (125, 1250, 1));
        assert_eq!(again.example, Some(Example { amount: 125, process: ProcessId(3), offset: 40, length: 100 }));
    }
}
