//! A cell of a run, with its slowdown.

use crate::cube::reading::sums::Sums;
use crate::model::{Class, FileId, ProcessId, StreamIx};

/// Calls of one process, time window, stream, size and set of targets.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Index into [`crate::model::Run::processes`].
    pub process: ProcessId,
    /// Time window of the run.
    pub slot: u16,
    /// Index into the process's streams.
    pub stream: StreamIx,
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Size octave: bit length of the bytes per call.
    pub size: u8,
    /// Storage targets that the calls reach, if these are few of the file's.
    pub targets: Vec<u32>,
    /// Class of the calls.
    pub class: Class,
    /// True if the calls reach the kernel: POSIX and C streams, and libraries whose inner calls are not recorded.
    pub leaf: bool,
    /// True if made inside MPI-IO or HDF5.
    pub inside: bool,
    /// True for collective MPI-IO calls.
    pub collective: bool,
    /// Sums over the calls.
    pub sums: Sums,
    /// Usual duration of a call, ns.
    pub usual_ns: f64,
    /// Usual duration of calls of the kind and size on any file, including calls with counters only, ns.
    pub usual_of_kind_ns: f64,
    /// Spread of log durations, and their skew to the fast side.
    pub spread: (f64, f64),
    /// Log slowdown against peers, without the longest call if there are several.
    pub above: f64,
    /// Log slowdown against all calls of the kind and size, on any file.
    pub above_kind: f64,
    /// True if `above` is against calls on the same file.
    pub by_file: bool,
}

impl Cell {
    /// Returns the time in the calls, in ns.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.sums.time_ns as f64
    }

    /// Returns the time of outliers beyond `times` their usual duration, ns.
    #[must_use]
    pub fn beyond_ns(&self, times: f64) -> f64 {
        let with_the_rest = self.sums.far_calls as f64 * self.usual_ns * times;
        (self.sums.far_ns as f64 - with_the_rest).clamp(0.0, self.time_ns())
    }
}
