//! A cell of a run, and how its calls differ from their peers.

use crate::model::{Class, FileId, ProcessId, StreamIx};
use crate::topics::causes::reading::cell::Cell;

/// A cell and what it is of.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index into [`Run::processes`].
    pub process: ProcessId,
    /// Slot of the run.
    pub slot: u16,
    /// Index into the process's streams.
    pub stream: StreamIx,
    /// Index into [`Run::files`].
    pub file: FileId,
    /// Octave of the length.
    pub size: u8,
    /// Storage targets that the calls reach, as far as these are few of the file's.
    pub targets: Vec<u32>,
    /// What its calls do.
    pub class: Class,
    /// Whether they reach the system: calls of POSIX and C streams, and of libraries whose inner calls are not on record.
    pub leaf: bool,
    /// Made inside MPI-IO or HDF5.
    pub inside: bool,
    /// Calls in which ranks meet.
    pub collective: bool,
    /// The calls.
    pub cell: Cell,
    /// What is usual for each of them, ns.
    pub usual_ns: f64,
    /// The same of all calls of their kind and size, on whatever file and though nothing but counters tells of them, ns.
    pub usual_of_kind_ns: f64,
    /// Spread of their logarithm, and how far it leans to the fast side.
    pub spread: (f64, f64),
    /// How far the logarithm of their time is above that of their peers, without the longest call where there are several.
    pub above: f64,
    /// The same against all calls of their kind and size, on whatever file.
    pub above_kind: f64,
    /// Whether `above` is against those on the same file.
    pub by_file: bool,
    /// Their time that nothing explains yet, ns.
    pub left_ns: f64,
}

impl Entry {
    /// Time of the calls that are far from their peers beyond `times` what is usual, ns: single calls, whatever else is slow about these.
    #[must_use]
    pub fn beyond_ns(&self, times: f64) -> f64 {
        let with_the_rest = self.cell.far_calls as f64 * self.usual_ns * times;
        (self.cell.far_ns as f64 - with_the_rest).clamp(0.0, self.left_ns.max(0.0))
    }
}
