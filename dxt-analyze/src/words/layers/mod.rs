//! Sentences on I/O layers, and their facts: rows of the tables of collective operations. [`file`] has the sentences on single files.

pub(crate) mod file;

use super::Words;
use crate::findings::said;
use crate::limits::NAMED_EXAMPLES;
use crate::text::units;
use serde::Serialize;

/// One collective operation: the matching calls of all ranks. Times are in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CollectiveRow {
    /// Path of the file that the collective operation is on.
    pub file: String,
    /// Name of the operation, e.g. `write collective`.
    pub op: String,
    /// Sequence number among the file's operations of this name, from 0.
    pub number: u64,
    /// Number of calls that make up the operation, one per participating rank.
    pub calls: u64,
    /// Bytes requested by all ranks in the operation.
    pub bytes: u64,
    /// Start of the first rank's call, ns since the job's start.
    pub start_ns: u64,
    /// Wall time from the first rank's start to the last rank's end.
    pub wall_ns: u64,
    /// Time from the first rank's start to the last rank's start.
    pub skew_ns: u64,
    /// Time that ranks waited for the last rank to begin, summed over ranks; 0 for a rank whose call ended before the last rank began.
    pub wait_ns: u64,
    /// Name of the process that began the operation last.
    pub last: String,
    /// Wall time after the last rank's start in which the busiest rank was in system calls.
    pub storage_ns: u64,
    /// Name of the busiest process, which spent most time in system calls.
    pub busiest: String,
    /// Wall time after the last rank's start in which the busiest rank was not in system calls, but e.g. communicated or copied.
    pub rest_ns: u64,
    /// Time in the operation's calls, summed over ranks.
    pub time_ns: u64,
    /// Number of processes that moved data by system calls inside their collective call.
    pub aggregators: u64,
    /// Number of system calls that moved data inside the operation's calls.
    pub data_calls: u64,
    /// Bytes moved by system calls inside the operation's calls.
    pub data_bytes: u64,
}

/// Straggler: rank that was the last to begin collective operations, so that other ranks waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LateRow {
    /// Name of the process, e.g. `rank 3`.
    pub process: String,
    /// Host name of the node on which the straggler runs.
    pub node: String,
    /// Number of collective operations in which other ranks waited for this rank, which began last.
    pub times: u64,
    /// Time that the other ranks waited for this rank, ns; summed over ranks and operations.
    pub wait_ns: u64,
}

/// Time in file locks inside MPI-IO reads and writes. All times are in ns.
pub(crate) struct Locks<'a> {
    pub(crate) calls: u64,
    pub(crate) lock_ns: u64,
    pub(crate) unlock_ns: u64,
    /// Time in POSIX reads and writes made inside MPI-IO reads and writes.
    pub(crate) data_ns: u64,
    /// Time in locks and unlocks / time in MPI-IO reads and writes.
    pub(crate) share: f64,
    /// Paths of files, each with its number of lock and unlock calls, and the time in the lock and unlock calls.
    pub(crate) files: Vec<(&'a str, u64, u64)>,
    /// Name of the process with most time in file locks, and this time; `None` if the trace has no ranks.
    pub(crate) worst: Option<(String, u64)>,
    /// True if the job has only one rank, which cannot benefit from collective writes.
    pub(crate) is_alone: bool,
}

/// Formats the finding that MPI-IO spends much time in file locks.
pub(crate) fn lock_time(of: &Locks<'_>) -> Words {
    let mut evidence = vec![format!(
        "inside MPI-IO: {} {} {}, unlocks {}, POSIX reads and writes {} (each summed over processes)",
        units::counted(of.calls, "lock call"),
        units::agree(of.calls, "takes", "take"),
        units::duration(of.lock_ns),
        units::duration(of.unlock_ns),
        units::duration(of.data_ns)
    )];
    evidence.extend(of.files.iter().map(|(file, calls, ns)| {
        format!(
            "{file}: {}, {} summed over processes",
            units::counted(*calls, "lock and unlock call"),
            units::duration(*ns)
        )
    }));
    evidence.extend(of.worst.iter().map(|(name, ns)| {
        format!("most lock time on {name}: {} in all its lock and unlock calls", units::duration(*ns))
    }));
    Words {
        title: format!("MPI-IO reads and writes spend {:.0} % of their time in file locks", 100.0 * of.share).into(),
        evidence: said(evidence),
        hint: if of.is_alone {
            "set the hint romio_ds_write=disable: data sieving locks files (as atomic mode and the shared file pointer do: avoid these)"
        } else {
            "write collectively (romio_cb_write=enable), or switch off what locks files: data sieving (romio_ds_write=disable), atomic mode, \
             the shared file pointer"
        }
        .into(),
    }
}

/// Formats the finding that ranks spend a `share` of their time in collective calls waiting for stragglers, mostly for the process `mostly`
/// if given. `operations`: number of collective operations examined. `longest`: operation with the largest skew.
pub(crate) fn late_ranks<'a>(
    share: f64,
    operations: u64,
    mostly: Option<&str>,
    stragglers: impl Iterator<Item = &'a LateRow>,
    longest: Option<&CollectiveRow>,
) -> Words {
    let straggler = |LateRow { process, node, times, wait_ns }: &LateRow| {
        format!(
            "{process} on {node} arrives last at {} of {}; the other ranks wait {} for it, summed over ranks",
            units::count(*times),
            units::counted(operations, "collective call"),
            units::duration(*wait_ns)
        )
    };
    let longest = longest.map(|CollectiveRow { op, number, file, last, skew_ns, .. }| {
        format!(
            "for example, {op} call number {number} on {file}: {last} arrives {} after the first rank",
            units::duration(*skew_ns)
        )
    });
    let whom = mostly.map_or_else(String::new, |process| format!(", mostly {process}"));
    Words {
        title: format!("ranks spend {:.0} % of the time in collective calls waiting for stragglers{whom}", 100.0 * share)
            .into(),
        evidence: said(stragglers.map(straggler).chain(longest)),
        hint: "the time is lost before the I/O: find what delays the stragglers (ranks that arrive last) between two collective calls (more work, a slow \
               node, I/O of their own)"
            .into(),
    }
}

/// Formats the finding that collective calls spend a `share` of their time outside of system calls; `slowest` are the slowest operations.
pub(crate) fn communication(share: f64, slowest: &[CollectiveRow]) -> Words {
    let evidence = slowest.iter().take(NAMED_EXAMPLES).map(
        |CollectiveRow { op, number, file, busiest, storage_ns, rest_ns, .. }| {
            format!(
                "for example, {op} call number {number} on {file}: {} after the last rank's arrival; the busiest process, {busiest}, is in system calls for {} of that",
                units::duration(storage_ns.saturating_add(*rest_ns)),
                units::duration(*storage_ns)
            )
        },
    );
    Words {
        title: format!(
            "after the last rank arrives, collective calls spend {:.0} % of the time outside system calls (data exchange)",
            100.0 * share
        )
        .into(),
        evidence: said(evidence),
        hint: "use fewer, larger calls; for fewer rounds of data exchange, raise cb_buffer_size or cb_nodes (more aggregators); to avoid it, if ranks \
               write large contiguous parts, set romio_cb_write=disable"
            .into(),
    }
}

/// Number of I/O calls in flight at a time.
pub(crate) struct Depth {
    /// Mean number of I/O calls in flight, over the time during which at least one is.
    pub(crate) mean: f64,
    /// Largest number of I/O calls in flight at any time.
    pub(crate) max: u64,
}

/// Formats the finding that only one POSIX call runs at a time during `alone`, a share of POSIX I/O time, while `ranks` ranks are in
/// MPI-IO. `turns`: number of ranks that make these calls alternately, if several.
pub(crate) fn serial(turns: Option<u64>, alone: f64, ranks: u64, posix: &Depth, mpiio: &Depth) -> Words {
    let percent = 100.0 * alone;
    let title = match turns {
        Some(count) => format!(
            "{} are serialized: their POSIX calls run one at a time for {percent:.0} % of the time with POSIX I/O",
            units::counted(count, "rank")
        ),
        None => format!(
            "POSIX calls run one at a time for {percent:.0} % of the time with POSIX I/O, while {:.0} ranks are in MPI-IO",
            mpiio.mean
        ),
    };
    Words {
        title: title.into(),
        evidence: said([
            format!("POSIX: {:.1} calls in flight on average, {} at most", posix.mean, posix.max),
            format!("MPI-IO, {ranks} ranks: {:.1} calls in flight on average, {} at most", mpiio.mean, mpiio.max),
        ]),
        hint: if turns.is_some() {
            "move more data per call, so that each call reaches all aggregators, or let ranks begin at different parts of the file; if data sieving or atomic mode locks the file, switch that off (romio_ds_write=disable, MPI_File_set_atomicity)"
        } else {
            "most of the time one rank works and the others wait: use more aggregators (cb_nodes) and more than one stripe, do not send all data \
             through one rank, and avoid locks on the whole file"
        }
        .into(),
    }
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let locks = Locks {
        calls: 4096,
        lock_ns: 5_000_000_000,
        unlock_ns: 400_000_000,
        data_ns: 3_000_000_000,
        share: 0.45,
        files: vec![("/scratch/out.nc", 8192, 5_400_000_000)],
        worst: Some(("rank 7".into(), 900_000_000)),
        is_alone: false,
    };
    let alone = Locks { files: Vec::new(), worst: None, is_alone: true, ..locks };
    let late = LateRow { process: "rank 3".into(), node: "n02".into(), times: 40, wait_ns: 9_000_000_000 };
    let slow = CollectiveRow {
        file: "/scratch/out.nc".into(),
        op: "write collective".into(),
        number: 12,
        calls: 64,
        bytes: 1 << 30,
        start_ns: 4_000_000_000,
        wall_ns: 800_000_000,
        skew_ns: 300_000_000,
        wait_ns: 2_000_000_000,
        last: "rank 3".into(),
        storage_ns: 100_000_000,
        busiest: "rank 0".into(),
        rest_ns: 400_000_000,
        time_ns: 40_000_000_000,
        aggregators: 4,
        data_calls: 64,
        data_bytes: 1 << 30,
    };
    let (posix, mpiio) = (Depth { mean: 1.1, max: 2 }, Depth { mean: 14.2, max: 16 });
    let mut all = vec![
        (Code::LOCK_TIME, lock_time(&locks)),
        (Code::LOCK_TIME, lock_time(&alone)),
        (Code::LATE_RANKS, late_ranks(0.42, 50, Some("rank 3"), [&late].into_iter(), Some(&slow))),
        (Code::LATE_RANKS, late_ranks(0.42, 50, None, [&late].into_iter(), None)),
        (Code::COMMUNICATION, communication(0.7, &[slow])),
        (Code::SERIAL, serial(None, 0.93, 16, &posix, &mpiio)),
        (Code::SERIAL, serial(Some(4), 0.93, 16, &posix, &mpiio)),
    ];
    all.extend(file::samples());
    all
}
