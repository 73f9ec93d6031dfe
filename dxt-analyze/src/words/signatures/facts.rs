//! Facts that sentences on I/O signatures (access patterns) state: rows of the tables of advice.

use crate::model::FileId;
use serde::Serialize;

/// Reads of one file with one access pattern, and the simulated effect of prefetching. A cache miss is a read with bytes that are not in the cache.
#[derive(Clone, Debug, Serialize)]
pub struct AheadRow {
    /// Path of the file that is read.
    pub file: String,
    /// Number of processes and threads that read with this pattern.
    pub processes: u64,
    /// Number of reads with this pattern, over all processes and threads.
    pub reads: u64,
    /// Length of the longest read, bytes.
    pub length: u64,
    /// Mean duration of a read, ns.
    pub latency_ns: u64,
    /// Mean time from the end of a read to the start of the next one, ns.
    pub interval_ns: u64,
    /// Prefetch distance: number of reads between the prefetch of a block and its use.
    pub calls_ahead: u64,
    /// Share of the cache misses that sequential read-ahead avoids.
    pub plain_coverage: f64,
    /// Share of the bytes fetched by sequential read-ahead that are used later.
    pub plain_accuracy: f64,
    /// Share of the cache misses that prefetching by the pattern avoids.
    pub coverage: f64,
    /// Share of the bytes prefetched by the pattern that are used later.
    pub accuracy: f64,
    /// Share of the reads whose bytes were prefetched too early: evicted from the cache before use.
    pub too_early: f64,
    /// Share of the reads whose bytes were prefetched too late: still in flight when the read begins.
    pub too_late: f64,
    /// Waiting time that prefetching by the pattern saves, summed over all reads, ns.
    pub saves_ns: u64,
}

/// Loop of independent calls that one collective call could replace.
#[derive(Clone, Debug, Serialize)]
pub struct OneCall {
    /// Path of the file that the loop's calls access.
    pub file: String,
    /// I/O interface of the calls, e.g. `POSIX`.
    pub layer: &'static str,
    /// True if the loop's calls are writes, false if they are reads.
    pub writes: bool,
    /// Number of ranks that execute the loop.
    pub ranks: u64,
    /// Number of calls that each rank makes in the loop.
    pub calls: u64,
    /// Number of bytes that each call of the loop moves.
    pub length: u64,
    /// Distance between the offsets of successive calls of a rank, in bytes.
    pub stride: u64,
    /// Length of the contiguous range that all ranks access together, in bytes.
    pub bytes: u64,
    /// First byte of the contiguous range that all ranks access together.
    pub first: u64,
    /// `(a, b)` if each rank's first byte is at `a x rank + b`; `None` if there is no such formula.
    pub begins: Option<(i64, i128)>,
}

impl OneCall {
    /// Returns the MPI call (C) that creates a datatype for the loop's accesses.
    #[must_use]
    pub fn vector(&self) -> String {
        format!("MPI_Type_create_hvector({}, {}, {}, MPI_BYTE, &filetype)", self.calls, self.length, self.stride)
    }

    /// Returns the displacement of a rank's file view as a formula.
    #[must_use]
    pub fn displacement(&self) -> String {
        match self.begins {
            Some((each, 0)) => format!("{each} * rank"),
            Some((each, first)) => format!("{each} * rank + {first}"),
            None => "rank_offset".into(),
        }
    }

    /// Returns the Python statement (mpi4py) that creates a datatype for the loop's accesses.
    #[must_use]
    pub fn python_vector(&self) -> String {
        format!("filetype = MPI.BYTE.Create_hvector({}, {}, {}).Commit()", self.calls, self.length, self.stride)
    }
}

/// Strided calls on one file: small calls at a fixed distance, with unaccessed gaps between them.
#[derive(Clone, Debug, Serialize)]
pub struct Strided {
    /// Path of the file with strided calls.
    pub file: String,
    /// True if the strided calls are writes, false if they are reads.
    pub writes: bool,
    /// Number of processes that make the strided calls.
    pub processes: u64,
    /// Number of strided calls, over all processes.
    pub calls: u64,
    /// Length of a strided call in the most frequent pattern, bytes.
    pub length: u64,
    /// Distance between successive calls of a process in the most frequent pattern, bytes.
    pub stride: u64,
}

/// Reads of one range of bytes of a file by several ranks.
#[derive(Clone, Debug, Serialize)]
pub struct SameBytes {
    /// Path of the file whose bytes several ranks read.
    pub file: String,
    /// I/O interface of the reads, e.g. `POSIX`.
    pub layer: &'static str,
    /// Number of ranks that read the byte range; number of processes in a run without MPI.
    pub ranks: u64,
    /// True if the run has no MPI ranks, so that `ranks` counts processes.
    #[serde(skip)]
    pub are_processes: bool,
    /// Number of nodes on which the readers run.
    pub nodes: u64,
    /// Bytes that each rank reads; bytes read repeatedly count each time.
    pub bytes_each: u64,
    /// Number of distinct bytes that each rank reads, at most `bytes_each`.
    pub distinct: u64,
    /// Bytes that all ranks read of the range, bytes read repeatedly included.
    pub bytes: u64,
    /// Bytes that would be read if each node read each byte once.
    pub bytes_by_node: u64,
}

impl SameBytes {
    /// Adds a further part of the file that the same ranks read.
    pub(crate) fn join(&mut self, other: &Self) {
        self.bytes_each = self.bytes_each.saturating_add(other.bytes_each);
        self.distinct = self.distinct.saturating_add(other.distinct);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.bytes_by_node = self.bytes_by_node.saturating_add(other.bytes_by_node);
    }
}

/// Access pattern of a file with the stripe size and layout that suit it.
#[derive(Clone, Debug, Serialize)]
pub struct StripeRow {
    /// Path of the file; if each rank has its own file, path of the first file.
    pub file: String,
    /// Number of processes whose requests have this access pattern.
    pub processes: u64,
    /// Start of the pattern's first request, ns since the job's start.
    pub start_ns: u64,
    /// Start of the pattern's last request, ns since the job's start.
    pub last_start_ns: u64,
    /// First byte accessed by the pattern.
    pub first_byte: u64,
    /// End (exclusive) of the bytes accessed by the pattern.
    pub end: u64,
    /// Length of the pattern's first request, bytes.
    pub request_bytes: u64,
    /// Total bytes of the pattern's requests.
    pub bytes: u64,
    /// Number of storage targets (OSTs) over which the file is striped.
    pub targets: u64,
    /// Current stripe size of the file, bytes; `None` if unknown.
    pub stripe_bytes: Option<u64>,
    /// Best stripe size by the cost model, bytes.
    pub best_bytes: u64,
    /// Best stripe size among those that Lustre allows (multiples of 64 KiB), bytes.
    pub lustre_bytes: u64,
    /// Cost of the file's current stripe size / cost of stripes of `lustre_bytes`; `None` if unknown.
    pub costs_times: Option<f64>,
    /// Name of the layout that is cheapest for one request of each process, among the three of the IOSIG paper: data of a process on one
    /// target (1-DV), on all (1-DH) or on a group (2-D).
    pub layout: String,
    /// Number of storage targets that hold the data of one process under the layout `layout`.
    pub targets_per_process: u64,
    /// Best stripe size and count by replay (simulation) of all accesses to the file while the pattern lasts; `None` if there was no
    /// replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// File, as an index into [`crate::model::Run::files`].
    #[serde(skip)]
    pub of: FileId,
    /// True if all processes use one file. With a file per process, the replay of one file is not representative: all of its data is on the
    /// same targets.
    #[serde(skip)]
    pub is_one_file: bool,
}

/// Best stripe size and count by replay, with costs relative to other layouts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Replayed {
    /// Number of the file's reads and writes during the pattern, counted below all libraries.
    pub operations: u64,
    /// Stripe size with the lowest cost in the replay, bytes.
    pub stripe_bytes: u64,
    /// Stripe count with the lowest cost in the replay.
    pub stripe_count: u64,
    /// Cost of the best layout / cost of the file's current layout; `None` if the current layout is unknown.
    pub costs_of_today: Option<f64>,
    /// Cost of the cost model's stripe size (with its best stripe count) / cost of the best layout, both by replay; `None` if unknown.
    pub costs_of_model: Option<f64>,
    /// Reason why the cost model's stripe size is far from the best one by replay; empty if they are close.
    pub why_apart: &'static str,
    /// True if the best layout costs so much less than the current one that a change pays; `None` if the current layout is unknown.
    pub is_better: Option<bool>,
}
