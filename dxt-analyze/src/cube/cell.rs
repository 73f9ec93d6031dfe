//! Cell of a run: sums over similar calls, and how slow these calls are.

use crate::cube::reading::sums::Sums;
use crate::cube::reading::usual::size_class;
use crate::model::{Class, FileId, ProcessId, StreamIx};

/// OST indices of storage targets. Most calls reach few, and a large run has hundreds of thousands of cells.
pub(super) type Targets = smallvec::SmallVec<[u32; 4]>;

/// Calls of one process and stream (one operation on one file) with similar size and the same storage targets, in one time window.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Process of the calls, as an index into [`crate::model::Run::processes`].
    pub process: ProcessId,
    /// Number of the time window in which the calls begin.
    pub slot: u16,
    /// Stream of the calls (one operation on one file), as an index into the process's streams.
    pub stream: StreamIx,
    /// File of the calls, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Size octave: bit length of the bytes per call.
    pub size: u8,
    /// OST indices of the storage targets that the calls reach; empty if they reach most of the file's targets, or if unknown.
    pub targets: Targets,
    /// Operation class of the calls: read, write, open, ...
    pub class: Class,
    /// True if the calls reach the kernel: POSIX and C streams, and libraries whose inner calls are not recorded.
    pub leaf: bool,
    /// True for calls made inside MPI-IO or HDF5.
    pub inside: bool,
    /// True for collective MPI-IO calls.
    pub collective: bool,
    /// Number, bytes and times of the calls, summed.
    pub sums: Sums,
    /// Usual duration of calls of this kind and size in this run, ns.
    pub usual_ns: f64,
    /// Usual duration of calls of the same kind and size on any file, ns; calls that are only in counters count, too.
    pub usual_of_kind_ns: f64,
    /// Spread (standard deviation) of the peers' log durations, and skew of these durations to the fast side.
    pub spread: (f64, f64),
    /// Slowdown: natural logarithm of (typical duration of the calls / that of their peers). The longest call does not count if there are
    /// several.
    pub above: f64,
    /// Slowdown as in `above`, but compared with all calls of the same kind and size, on any file.
    pub above_kind: f64,
    /// True if the peers in `above` are calls on the same file only.
    pub by_file: bool,
}

impl Cell {
    /// True if the calls move fewer than `bytes` each, at the resolution of size octaves.
    #[must_use]
    pub fn is_below(&self, bytes: u64) -> bool {
        self.size <= size_class(bytes.saturating_sub(1))
    }

    /// Returns the time in the calls, in ns.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.sums.time_ns as f64
    }

    /// Returns the time that outlier calls take beyond `times` the usual duration of such calls, summed over the outliers, ns.
    #[must_use]
    pub fn beyond_ns(&self, times: f64) -> f64 {
        let with_the_rest = self.sums.far_calls as f64 * self.usual_ns * times;
        (self.sums.far_ns as f64 - with_the_rest).clamp(0.0, self.time_ns())
    }
}
