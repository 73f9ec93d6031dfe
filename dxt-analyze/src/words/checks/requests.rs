//! Sentences on requests: their size, order, and read-write mix; and on syncs and seeks between them.

use super::{Example, counts, each, percent};
use crate::text::units;
use crate::words::Words;
use crate::words::common::each_bytes;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Returns a phrase that says if the program reads or writes more.
pub(crate) const fn more_of(read: u64, written: u64) -> &'static str {
    if read > written { "reads more than it writes" } else { "writes more than it reads" }
}

/// Formats the finding that the program makes far more reads than writes, or vice versa.
pub(crate) fn call_mix(reads: u64, writes: u64) -> Words {
    mix(reads, writes, counts("call"))
}

/// Formats the finding that the program moves far more bytes in one direction (read or write) than in the other.
pub(crate) fn byte_mix(read: u64, written: u64) -> Words {
    mix(read, written, units::bytes)
}

fn mix(read: u64, written: u64, show: impl Fn(u64) -> String) -> Words {
    Words::saying(
        format!("the program {} (reads: {}, writes: {})", more_of(read, written), show(read), show(written)),
        [],
        "no change needed; when you tune I/O, begin with the direction that has more traffic",
    )
}

/// Advisable ways to merge small requests, besides a buffer in the program.
#[derive(Clone, Copy)]
pub(crate) struct Merging {
    /// True to advise collective MPI-IO: the program has several ranks, or an unknown number.
    pub(crate) collective: bool,
    /// True to advise HDF5 chunks: the program uses HDF5.
    pub(crate) hdf5: bool,
    /// True to advise MPI-IO's buffers: the program uses MPI-IO.
    pub(crate) mpi_io: bool,
}

impl Merging {
    fn hint(self) -> String {
        let mut ways = vec!["a buffer in the program"];
        if self.collective {
            ways.push("collective MPI-IO");
        }
        if self.hdf5 {
            ways.push("larger HDF5 chunks or a chunk cache");
        }
        let buffer = if self.mpi_io { "; if MPI-IO makes the small requests, raise cb_buffer_size" } else { "" };
        format!("merge small requests: use {}{buffer}", ways.join(", or "))
    }
}

/// Many small read or write requests.
pub(crate) struct Small<'a> {
    /// Operation of the requests: `reads` or `writes`.
    pub(crate) operation: &'a str,
    /// True if only requests on files that several ranks use are counted.
    pub(crate) of_shared: bool,
    /// Number of small requests.
    pub(crate) count: u64,
    /// Share of small requests in all requests, 0 to 1.
    pub(crate) share: f64,
    /// Total size of all small requests, bytes; `None` if unknown.
    pub(crate) bytes: Option<u64>,
    /// Size in bytes below which a request is small.
    pub(crate) limit: u64,
    /// Files with the most small requests.
    pub(crate) files: Vec<SmallOfFile<'a>>,
    /// Advisable ways to merge the requests.
    pub(crate) merging: Merging,
}

/// Small requests on a file: path, number, total bytes if known, time in ns.
pub(crate) type SmallOfFile<'a> = (&'a str, u64, Option<u64>, u64);

/// Formats the finding that many reads or writes are small.
pub(crate) fn small_requests(facts: &Small<'_>) -> Words {
    let of_what = if facts.of_shared { " of files shared by several processes" } else { "" };
    let (what, part) = (format!("{}{of_what} are small", facts.operation), percent(facts.share));
    let title = match facts.bytes {
        Some(bytes) => {
            let mean = each_bytes(bytes, facts.count);
            let (count, operation) = (units::count(facts.count), facts.operation);
            format!("{count} small {operation}{of_what}, {mean} on average: {part} of all {operation}{of_what}")
        }
        None => format!("{part} of {what}: less than {} each", units::bytes(facts.limit)),
    };
    let evidence = facts.files.iter().map(|&(file, count, bytes, time_ns)| {
        let mean = bytes.map(|bytes| format!(", {} on average", each_bytes(bytes, count)));
        let (calls, time) = (units::counted(count, "small call"), units::duration(time_ns));
        format!("{file}: {calls}{}, {time} summed over processes", mean.unwrap_or_default())
    });
    Words::saying(title, evidence, facts.merging.hint())
}

/// Formats the finding that a `share` (0 to 1) of requests (`operation`: `reads` or `writes`) begins before the end of the thread's
/// previous request. `is_backward`: true if most do. `files`: number of such requests on each. `collective`: false if the program has one
/// rank.
pub(crate) fn random_requests(
    operation: &str,
    share: f64,
    is_backward: bool,
    files: &[(&str, u64)],
    collective: bool,
) -> Words {
    let (order, part) = (if is_backward { "backward" } else { "random" }, percent(share));
    Words::saying(
        format!(
            "{part} of {operation} are {order}: they jump back, to before the end of the thread's previous {} of the file",
            operation.trim_end_matches('s')
        ),
        each(files, counts("such call")),
        match (collective, is_backward || operation == "writes") {
            (true, _) => "sort requests by offset before issuing them, or use collective MPI-IO, which sorts them",
            (false, true) => "sort requests by offset before issuing them",
            (false, false) => {
                "sort requests by offset before issuing them, or keep several in flight (threads, io_uring, POSIX_FADV_WILLNEED)"
            }
        },
    )
}

/// Sequences of small adjacent requests on a file: path, number of requests that merging would save, and the longest sequence with its
/// number of requests (`None` if unknown).
pub(crate) type RunsOfFile<'a> = (&'a str, u64, Option<(u64, Example)>);

/// Formats the finding that `calls` small requests (`reads` or `writes`) on some `files` could be `merged` requests of `size` bytes.
pub(crate) fn request_runs(operation: &str, calls: u64, merged: u64, size: u64, files: &[RunsOfFile<'_>]) -> Words {
    let (calls, merged) = (units::count(calls), units::counted(merged, "call"));
    let evidence = files.iter().map(|(file, saved, longest)| {
        let longest = longest.as_ref().map(|(calls, run)| {
            let (calls, bytes) = (units::counted(*calls, "call"), units::bytes(run.length));
            format!("; longest sequence: {calls}, {bytes}, by {}", run.place())
        });
        format!("{file}: {} can be saved{}", units::counted(*saved, "call"), longest.unwrap_or_default())
    });
    Words::saying(
        format!("{calls} consecutive small {operation} could be merged into {merged}"),
        evidence,
        format!(
            "each small call begins where the previous one ended: use a buffer, and make one call per {}",
            units::bytes(size)
        ),
    )
}

/// Formats the finding that a `share` (0 to 1) of small `writes` take `slow_ns` or more each. `files`: total time of these writes on each, ns.
pub(crate) fn slow_small_writes(share: f64, writes: u64, slow_ns: u64, files: &[(&str, u64)]) -> Words {
    let (writes, slow) = (units::counted(writes, "small write"), units::duration(slow_ns));
    Words::saying(
        format!("{} of {writes} wait for storage: they take {slow} or more", percent(share)),
        each(files, |ns| format!("{} in slow small writes, summed over processes", units::duration(ns))),
        "make fewer and larger writes; a small write waits for storage if writes are not cached (by the file system, or with O_SYNC, \
         O_DSYNC or O_DIRECT), if locks move between clients (see `dxt-analyze stripes`), or if the page cache is full",
    )
}

/// Formats the finding that the program syncs `files` files after nearly every write. `named`: path, syncs, writes, time in syncs in ns.
pub(crate) fn sync_per_write(files: u64, named: &[(&str, u64, u64, u64)]) -> Words {
    let evidence = named.iter().map(|(file, syncs, writes, time_ns)| {
        let (syncs, writes) = (units::counted(*syncs, "sync"), units::counted(*writes, "write"));
        format!("{file}: {syncs} for {writes}, {} in syncs, summed over processes", units::duration(*time_ns))
    });
    Words::saying(
        format!("the program syncs {} after every one or two writes", units::counted(files, "file")),
        evidence,
        "sync once per step or checkpoint: fsync(2) waits for all data written so far (SQLite: one transaction around \
         many statements)",
    )
}

/// Formats the finding that the program makes many `seeks` for its number of `accesses`. `files`: number of seeks on each.
pub(crate) fn seek_per_access(seeks: u64, accesses: u64, files: &[(&str, u64)]) -> Words {
    Words::saying(
        format!("the program makes {} for {}", units::counted(seeks, "seek"), units::accesses(accesses)),
        each(files, counts("seek")),
        "pass the offset with the call (pread(2), pwrite(2), MPI_File_read_at): one call instead of two",
    )
}

#[cfg(test)]
fn sample_of_small(operation: &'static str, of_shared: bool, sized: bool) -> Words {
    let one = ("/scratch/out.h5", 9000, sized.then_some(9000 << 12), 7_300_000_000);
    let other = ("/scratch/log", 1, sized.then_some(100), 42_000);
    small_requests(&Small {
        operation,
        of_shared,
        count: 9001,
        share: 0.9,
        bytes: sized.then_some((9000 << 12) + 100),
        limit: 1 << 20,
        files: vec![one, other],
        merging: Merging { collective: of_shared, hdf5: sized, mpi_io: sized && of_shared },
    })
}

#[cfg(test)]
fn sample_of_random(operation: &'static str, is_backward: bool, collective: bool) -> Words {
    let files = [("/scratch/out.h5", 12_000), ("/scratch/index", 1)];
    random_requests(operation, 0.42, is_backward, &files, collective)
}

#[cfg(test)]
fn sample_of_runs(operation: &str) -> Words {
    let longest = Example { process: "rank 3".into(), offset: 1 << 30, length: 500 << 12 };
    let files = [("/scratch/out.h5", 4900, Some((500, longest))), ("/scratch/log", 1, None)];
    request_runs(operation, 5000, 99, 1 << 20, &files)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let synced = [("/scratch/state.db", 4000, 4100, 90_000_000_000), ("/scratch/log", 1, 1, 4_000_000)];
    let seeks = [("/scratch/out.dat", 30_000), ("/scratch/log", 1)];
    vec![
        (Code::CALL_MIX, call_mix(12_000, 3)),
        (Code::CALL_MIX, call_mix(1, 500)),
        (Code::BYTE_MIX, byte_mix(3 << 30, 4096)),
        (Code::BYTE_MIX, byte_mix(0, 3 << 30)),
        (Code::SMALL_READS, sample_of_small("reads", false, true)),
        (Code::SMALL_READS, sample_of_small("reads", false, false)),
        (Code::SMALL_WRITES, sample_of_small("writes", false, true)),
        (Code::SMALL_SHARED_READS, sample_of_small("reads", true, true)),
        (Code::SMALL_SHARED_WRITES, sample_of_small("writes", true, true)),
        (Code::SMALL_SHARED_WRITES, sample_of_small("writes", true, false)),
        (Code::RANDOM_READS, sample_of_random("reads", false, true)),
        (Code::RANDOM_READS, sample_of_random("reads", true, false)),
        (Code::RANDOM_WRITES, sample_of_random("writes", false, false)),
        (Code::RANDOM_WRITES, sample_of_random("writes", true, true)),
        (Code::READ_RUNS, sample_of_runs("reads")),
        (Code::WRITE_RUNS, sample_of_runs("writes")),
        (Code::SLOW_SMALL_WRITES, slow_small_writes(0.35, 20_000, 1_000_000, &[("/scratch/log", 31_000_000_000)])),
        (Code::SYNC_PER_WRITE, sync_per_write(2, &synced)),
        (Code::SEEK_PER_ACCESS, seek_per_access(30_001, 30_500, &seeks)),
    ]
}
