//! Measures by which runs are compared: name, unit, and the function that computes the value for a run.
//!
//! Tables, CSV, JSON and the command `compare` all use these definitions, so each measure is defined once.

use super::measure::RunRow;
use super::spread::Spread;
use crate::render::Cell;
use crate::render::table::human;
use crate::shared::bandwidth::LayerRow;
use crate::shared::calls::CallSum;
use crate::shared::layer_calls::{Inside, Made};
use crate::shared::ratio::share_if_any;
use crate::sum::Sum;
use serde::{Serialize, Serializer};
use trace_format::op::Layer;

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Number of things, such as calls or ranks.
    Count,
    /// Number of bytes.
    Bytes,
    /// Duration, ns.
    Time,
    /// Bandwidth, bytes per second.
    Rate,
    /// Share of a whole, 0 to 1.
    Share,
    /// Ratio, which can exceed 1, such as a speedup.
    Times,
}

impl Unit {
    /// Formats a value in this unit as a table cell.
    #[must_use]
    pub fn cell(self, value: f64) -> Cell {
        match self {
            Self::Count => Cell::Count(value.round() as u64),
            Self::Bytes => Cell::Bytes(value.round() as u64),
            Self::Time => Cell::Duration(value.round() as u64),
            Self::Rate => Cell::Rate(value),
            Self::Share => Cell::Share(value),
            Self::Times => Cell::Times(value),
        }
    }
}

/// Formats a value with its range if repeated runs differ: `1.2 s (1.1 s - 1.4 s)`.
#[must_use]
pub fn ranged(unit: Unit, value: f64, spread: &Spread) -> Cell {
    let [shown, least, most] = [value, spread.least, spread.most].map(|value| human(&unit.cell(value)));
    let plain = unit.cell(value);
    if least == most {
        plain
    } else {
        Cell::Ranged { value: Box::new(plain), shown: format!("{shown} ({least} - {most})") }
    }
}

/// Measure by which runs are compared, such as the run time.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Name of the measure in JSON, such as `run_time_ns`.
    pub name: &'static str,
    /// Name of the measure in tables, such as `Run time`.
    pub title: &'static str,
    /// CSV column names, with unit: for the median, the minimum and the maximum over repeated runs.
    pub columns: [&'static str; 3],
    /// Unit of the measure's values, such as bytes.
    pub unit: Unit,
    /// True if the measure depends on the times of calls, which some logs do not have.
    timed: bool,
    /// Function that computes the measure's value for a run; it returns `None` if the value is unknown.
    value: fn(&RunRow) -> Option<f64>,
}

impl Measure {
    /// Returns the value of the measure for a run; `None` if it is unknown or does not apply.
    #[must_use]
    pub fn of(&self, run: &RunRow) -> Option<f64> {
        if self.timed && run.untimed { None } else { (self.value)(run) }
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// True if a measure depends on the times of calls, which some logs do not have.
const fn rests_on_times(name: &str, unit: Unit) -> bool {
    match unit {
        Unit::Rate => true,
        // The run time follows from the start and end of processes, so it is known even if calls are not timed.
        Unit::Time => !matches!(name.as_bytes(), b"run_time_ns"),
        Unit::Share => {
            matches!(
                name.as_bytes(),
                b"io_share"
                    | b"posix_in_mpiio_share"
                    | b"lock_share"
                    | b"unlock_share"
                    | b"posix_in_writes_share"
                    | b"lock_in_writes_share"
                    | b"unlock_in_writes_share"
            )
        }
        Unit::Count | Unit::Bytes | Unit::Times => false,
    }
}

macro_rules! measures {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $title:literal, $csv:literal, $unit:ident, $of:expr;)+) => {
        $($(#[$doc])* pub const $constant: Measure = Measure {
            name: $name,
            title: $title,
            columns: [$csv, concat!($csv, "_least"), concat!($csv, "_most")],
            unit: Unit::$unit,
            timed: rests_on_times($name, Unit::$unit),
            value: $of,
        };)+
        /// All measures, in the order of tables and JSON.
        pub const ALL: &[Measure] = &[$($constant),+];
    };
}

measures! {
    /// Number of ranks; number of processes in a run without ranks.
    RANKS = "ranks", "Ranks", "ranks", Count, |run| Some(run.job.ranks as f64);
    /// Number of nodes on which the job ran; unknown for some logs.
    NODES = "nodes", "Nodes", "nodes", Count, |run| run.job.nodes.map(|nodes| nodes as f64);
    /// Run time of the job, ns.
    RUN_TIME = "run_time_ns", "Run time", "run_time_s", Time, |run| Some(run.job.runtime_ns as f64);
    /// Share (0 to 1) of the run time that ranks spend in I/O calls, mean over ranks.
    IO_SHARE = "io_share", "Share of run time in I/O", "io_share", Share, |run| run.job.io_share;
    /// Time in I/O calls of the rank that spends most time in I/O calls, ns.
    SLOWEST = "slowest_ns", "Time in I/O, slowest rank", "slowest_s", Time, |run| Some(run.job.slowest_ns as f64);
    /// Bytes that the program read, summed over all files.
    BYTES_READ = "bytes_read", "Read", "bytes_read", Bytes, |run| Some(run.job.called.bytes_read as f64);
    /// Bytes that the program wrote, summed over all files.
    BYTES_WRITTEN = "bytes_written", "Written", "bytes_written", Bytes, |run| Some(run.job.called.bytes_written as f64);
    /// Number of files that the job used.
    FILES = "files", "Files", "files", Count, |run| Some(run.job.files as f64);
    /// Number of MPI-IO calls of all operations.
    MPIIO_CALLS = "mpiio_calls", "Calls of MPI-IO", "mpiio_calls", Count, |run| Some(run.job.inside_mpiio.mpiio.calls as f64);
    /// Number of POSIX calls of all operations, regardless of the caller.
    POSIX_CALLS = "posix_calls", "Calls of POSIX", "posix_calls", Count, |run| Some(run.posix.calls as f64);
    /// Number of file locks that MPI-IO acquired.
    LOCK_CALLS = "lock_calls", "MPI-IO lock calls", "lock_calls", Count, |run| locks(run).map(|[lock, _]| lock.calls as f64);
    /// Number of file locks that MPI-IO released.
    UNLOCK_CALLS = "unlock_calls", "MPI-IO unlock calls", "unlock_calls", Count, |run| locks(run).map(|[_, unlock]| unlock.calls as f64);
    /// Time in MPI-IO calls, summed over ranks, ns.
    MPIIO_TIME = "mpiio_ns", "Time in MPI-IO", "mpiio_s", Time, |run| Some(run.job.inside_mpiio.mpiio.time_ns as f64);
    /// Time in POSIX calls regardless of the caller, summed over ranks, ns.
    POSIX_TIME = "posix_ns", "Time in POSIX", "posix_s", Time, |run| Some(run.posix.time_ns as f64);
    /// Time in POSIX calls made by MPI-IO, including locks, summed over ranks, ns.
    POSIX_IN_MPIIO = "posix_in_mpiio_ns", "Time in POSIX inside MPI-IO", "posix_in_mpiio_s", Time, |run| {
        let inside = &run.job.inside_mpiio;
        (inside.mpiio.calls > 0).then_some(inside.posix.time_ns as f64)
    };
    /// Share of the time in MPI-IO calls that is spent in POSIX calls inside MPI-IO.
    POSIX_IN_MPIIO_SHARE = "posix_in_mpiio_share", "POSIX share of MPI-IO", "posix_in_mpiio_share", Share, |run| of_mpiio(run, &run.job.inside_mpiio.posix);
    /// Time in acquiring file locks inside MPI-IO, summed over ranks, ns.
    LOCK_TIME = "lock_ns", "Time in locks", "lock_s", Time, |run| locks(run).map(|[lock, _]| lock.time_ns as f64);
    /// Share of the time in MPI-IO calls that is spent acquiring file locks.
    LOCK_SHARE = "lock_share", "Lock share of MPI-IO", "lock_share", Share, |run| of_mpiio(run, locks(run)?[0]);
    /// Time in releasing file locks inside MPI-IO, summed over ranks, ns.
    UNLOCK_TIME = "unlock_ns", "Time in unlocks", "unlock_s", Time, |run| locks(run).map(|[_, unlock]| unlock.time_ns as f64);
    /// Share of the time in MPI-IO calls that is spent releasing file locks.
    UNLOCK_SHARE = "unlock_share", "Unlock share of MPI-IO", "unlock_share", Share, |run| of_mpiio(run, locks(run)?[1]);
    /// Time in MPI-IO writes that have segments, summed over ranks, ns. The measures of calls inside MPI-IO writes refer to these writes.
    MPIIO_WRITE_TIME = "mpiio_write_ns", "Time in MPI-IO writes", "mpiio_write_s", Time, |run| writes(run).map(|made| made.of.time_ns as f64);
    /// Time in POSIX calls inside MPI-IO writes, including locks, summed over ranks, ns.
    POSIX_IN_WRITES = "posix_in_writes_ns", "Time in POSIX inside MPI-IO writes", "posix_in_writes_s", Time, |run| writes(run).map(|made| made.inside.system_ns() as f64);
    /// Share of the time in MPI-IO writes that is spent in POSIX calls inside the writes.
    POSIX_IN_WRITES_SHARE = "posix_in_writes_share", "POSIX share of MPI-IO writes", "posix_in_writes_share", Share, |run| of_writes(run, Inside::system_ns);
    /// Time in acquiring file locks inside MPI-IO writes, summed over ranks, ns.
    LOCK_IN_WRITES = "lock_in_writes_ns", "Time in locks inside MPI-IO writes", "lock_in_writes_s", Time, |run| writes(run).map(|made| made.inside.locks.time_ns as f64);
    /// Share of the time in MPI-IO writes that is spent acquiring file locks.
    LOCK_IN_WRITES_SHARE = "lock_in_writes_share", "Lock share of MPI-IO writes", "lock_in_writes_share", Share, |run| of_writes(run, |inside| inside.locks.time_ns);
    /// Time in releasing file locks inside MPI-IO writes, summed over ranks, ns.
    UNLOCK_IN_WRITES = "unlock_in_writes_ns", "Time in unlocks inside MPI-IO writes", "unlock_in_writes_s", Time, |run| writes(run).map(|made| made.inside.unlocks.time_ns as f64);
    /// Share of the time in MPI-IO writes that is spent releasing file locks.
    UNLOCK_IN_WRITES_SHARE = "unlock_in_writes_share", "Unlock share of MPI-IO writes", "unlock_in_writes_share", Share, |run| of_writes(run, |inside| inside.unlocks.time_ns);
    /// Bandwidth of MPI-IO reads: bytes / time in calls summed over processes.
    MPIIO_READ_EFFECTIVE = "mpiio_read_effective", "MPI-IO reads, effective", "mpiio_read_effective_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "read", |row| Some(row.effective));
    /// Bandwidth of MPI-IO reads: bytes / time in calls of the slowest process.
    MPIIO_READ_BY_SLOWEST = "mpiio_read_by_slowest", "MPI-IO reads, by slowest", "mpiio_read_by_slowest_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "read", |row| row.bandwidth.by_slowest);
    /// Bandwidth of MPI-IO reads: bytes / time from the first start to the last end.
    MPIIO_READ_OVER_SPAN = "mpiio_read_over_span", "MPI-IO reads, over span", "mpiio_read_over_span_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "read", |row| Some(row.bandwidth.over_span));
    /// Bandwidth of MPI-IO writes: bytes / time in calls summed over processes.
    MPIIO_WRITE_EFFECTIVE = "mpiio_write_effective", "MPI-IO writes, effective", "mpiio_write_effective_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "write", |row| Some(row.effective));
    /// Bandwidth of MPI-IO writes: bytes / time in calls of the slowest process.
    MPIIO_WRITE_BY_SLOWEST = "mpiio_write_by_slowest", "MPI-IO writes, by slowest", "mpiio_write_by_slowest_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "write", |row| row.bandwidth.by_slowest);
    /// Bandwidth of MPI-IO writes: bytes / time from the first start to the last end.
    MPIIO_WRITE_OVER_SPAN = "mpiio_write_over_span", "MPI-IO writes, over span", "mpiio_write_over_span_bytes_per_s", Rate, |run| rate(run, Layer::Mpiio, "write", |row| Some(row.bandwidth.over_span));
    /// Bandwidth of POSIX reads: bytes / time in calls summed over processes.
    POSIX_READ_EFFECTIVE = "posix_read_effective", "POSIX reads, effective", "posix_read_effective_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "read", |row| Some(row.effective));
    /// Bandwidth of POSIX reads: bytes / time in calls of the slowest process.
    POSIX_READ_BY_SLOWEST = "posix_read_by_slowest", "POSIX reads, by slowest", "posix_read_by_slowest_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "read", |row| row.bandwidth.by_slowest);
    /// Bandwidth of POSIX reads: bytes / time from the first start to the last end.
    POSIX_READ_OVER_SPAN = "posix_read_over_span", "POSIX reads, over span", "posix_read_over_span_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "read", |row| Some(row.bandwidth.over_span));
    /// Bandwidth of POSIX writes: bytes / time in calls summed over processes.
    POSIX_WRITE_EFFECTIVE = "posix_write_effective", "POSIX writes, effective", "posix_write_effective_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "write", |row| Some(row.effective));
    /// Bandwidth of POSIX writes: bytes / time in calls of the slowest process.
    POSIX_WRITE_BY_SLOWEST = "posix_write_by_slowest", "POSIX writes, by slowest", "posix_write_by_slowest_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "write", |row| row.bandwidth.by_slowest);
    /// Bandwidth of POSIX writes: bytes / time from the first start to the last end.
    POSIX_WRITE_OVER_SPAN = "posix_write_over_span", "POSIX writes, over span", "posix_write_over_span_bytes_per_s", Rate, |run| rate(run, Layer::Posix, "write", |row| Some(row.bandwidth.over_span));
    /// Share of MPI-IO reads and writes that are collective.
    COLLECTIVE_SHARE = "collective_share", "Collective MPI-IO calls", "collective_share", Share, |run| {
        let forms = &run.forms;
        share_if_any(forms.collective, forms.independent.saturating_add(forms.collective).saturating_add(forms.nonblocking))
    };
    /// Share of POSIX reads (or writes) that begin exactly where the process's previous read (or write) of the file ended.
    CONSECUTIVE_SHARE = "consecutive_share", "Consecutive POSIX calls", "consecutive_share", Share, |run| ordered(run, |row| row.consecutive);
    /// Share of POSIX reads (or writes) that begin at or after the end of the process's previous read (or write) of the file.
    SEQUENTIAL_SHARE = "sequential_share", "Sequential POSIX calls", "sequential_share", Share, |run| ordered(run, |row| row.sequential);
    /// Share of POSIX reads and writes that do not begin at a multiple of the stripe size or, if unknown, the preferred I/O size.
    UNALIGNED_SHARE = "unaligned_share", "Unaligned POSIX calls", "unaligned_share", Share, |run| {
        let row = run.patterns.iter().find(|row| row.layer == POSIX)?;
        share_if_any(row.file_unaligned, row.file_known)
    };
}

const POSIX: &str = "POSIX";

/// Returns the totals of lock acquisitions and of lock releases inside MPI-IO; `None` if locks are not recorded.
fn locks(run: &RunRow) -> Option<[&CallSum; 2]> {
    let inside = &run.job.inside_mpiio;
    run.job.lock_ns.map(|_| [&inside.locks, &inside.unlocks])
}

/// Returns the recorded MPI-IO writes with the calls inside them; `None` if there are no writes, or if locks are not recorded.
fn writes(run: &RunRow) -> Option<&Made> {
    run.job.lock_ns.map(|_| &run.mpiio_writes).filter(|made| made.of.calls > 0)
}

fn of_writes(run: &RunRow, part_ns: fn(&Inside) -> u64) -> Option<f64> {
    writes(run).and_then(|made| share_if_any(part_ns(&made.inside), made.of.time_ns))
}

fn of_mpiio(run: &RunRow, part: &CallSum) -> Option<f64> {
    share_if_any(part.time_ns, run.job.inside_mpiio.mpiio.time_ns)
}

/// Returns a bandwidth of a layer's reads or writes; `of` selects the definition of bandwidth. `None` if no bytes were moved.
fn rate(run: &RunRow, layer: Layer, op: &str, of: fn(&LayerRow) -> Option<f64>) -> Option<f64> {
    run.data(layer, op).filter(|row| row.sum.bytes > 0).and_then(of)
}

fn ordered(run: &RunRow, part: fn(&crate::topics::counters::result::AccessRow) -> u64) -> Option<f64> {
    let rows = || run.accesses.iter().filter(|row| row.layer == POSIX);
    let sum = |of: fn(&crate::topics::counters::result::AccessRow) -> u64| rows().map(of).sum::<Sum>().get();
    share_if_any(sum(part), sum(|row| row.ordered))
}
