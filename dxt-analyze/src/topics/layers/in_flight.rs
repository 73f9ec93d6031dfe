//! Counts calls in flight in bounded memory: exact time in calls per time bin, with at most [`BINS`] bins from the first call to the last.
//! In runs of at most [`HELD_CALLS`] calls, the start and end of each call are stored as well.

use crate::limits::HELD_CALLS;
use crate::model::{Op, Run, Stream};
use crate::scan::Stretch;
use serde::Serialize;
use trace_format::op::{Layer, OpClass};

/// Number of time bins in which calls in flight are counted.
pub const BINS: usize = 1 << 14;

/// Kind of calls for which the number in flight is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// MPI-IO reads and writes.
    Mpiio,
    /// POSIX reads and writes together, as one kind.
    Posix,
    /// POSIX reads, regardless of the caller.
    PosixReads,
    /// POSIX writes, regardless of the caller.
    PosixWrites,
    /// Acquisitions of POSIX file locks.
    Locks,
    /// HDF5 reads and writes.
    Hdf5,
    /// STDIO reads and writes.
    Stdio,
}

impl What {
    /// All kinds of calls, in the order of tables.
    pub const ALL: [Self; 7] =
        [Self::Mpiio, Self::Posix, Self::PosixReads, Self::PosixWrites, Self::Locks, Self::Hdf5, Self::Stdio];

    /// Returns the name of the kind of calls for tables, such as that of POSIX reads.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mpiio => "MPI-IO data",
            Self::Posix => "POSIX data",
            Self::PosixReads => "POSIX reads",
            Self::PosixWrites => "POSIX writes",
            Self::Locks => "POSIX locks",
            Self::Hdf5 => "HDF5 data",
            Self::Stdio => "STDIO data",
        }
    }

    /// Returns the kind of the calls of a stream (one operation, file and caller); never [`Self::Posix`], which is summed at the end from
    /// reads and writes. `None` if these calls are not counted.
    #[must_use]
    pub fn of(stream: &Stream, op: &Op) -> Option<Self> {
        match (op.layer?, op.class?) {
            _ if stream.failed => None,
            (Layer::Posix, OpClass::Lock) => Some(Self::Locks),
            (Layer::Posix, OpClass::Read) => Some(Self::PosixReads),
            (Layer::Posix, OpClass::Write) => Some(Self::PosixWrites),
            (Layer::Mpiio, class) if class.is_data() => Some(Self::Mpiio),
            (Layer::Hdf5, class) if class.is_data() => Some(Self::Hdf5),
            (Layer::Stdio, class) if class.is_data() => Some(Self::Stdio),
            _ => None,
        }
    }
}

/// Time span divided into [`BINS`] bins of equal width, ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub(super) start: u64,
    pub(super) width: u64,
    /// Base-2 logarithm of the bins' width in ns: a shift replaces the division.
    shift: u32,
}

impl Span {
    /// Creates the span of all recorded calls, from the headers of the trace's blocks.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut edges = (u64::MAX, 0);
        for process in &run.processes {
            for block in &process.blocks {
                edges.0 = edges.0.min(block.head.min_start.saturating_add(process.shift_ns));
                edges.1 = edges.1.max(block.head.max_end.saturating_add(process.shift_ns));
            }
        }
        Self::new(edges.0.min(edges.1), edges.1)
    }

    /// Creates the span from `start` to `end`, ns since the job's start.
    #[must_use]
    pub fn new(start: u64, end: u64) -> Self {
        // With a power of two as width, the bin of a time is found without a division.
        let shift = u64::BITS - (end.saturating_sub(start) / BINS as u64).leading_zeros();
        Self { start, width: 1_u64.checked_shl(shift).unwrap_or(u64::MAX), shift }
    }

    /// Returns the bin that contains time `at`, and the distance of `at` from the bin's start, ns.
    #[inline]
    fn place(self, at: u64) -> (usize, u64) {
        let at = at.saturating_sub(self.start);
        let bin = (at >> self.shift).min(BINS as u64 - 1);
        (bin as usize, (at - (bin << self.shift)).min(self.width))
    }
}

/// Calls of one kind (such as POSIX reads) that are in flight over time.
#[derive(Clone, Debug)]
pub(super) struct Flights {
    /// For each time bin: time within the bin of calls that begin or end in it, ns.
    pub(super) partly: Vec<u64>,
    /// Number of calls that span a whole bin, as differences: calls that begin to span in this bin minus calls that no longer do.
    pub(super) wholly: Vec<i64>,
    /// Start and end of each call, ns since the job's start; `None` if there are too many calls to store.
    pub(super) held: Option<Vec<(u64, u64)>>,
    /// Number of calls of this kind (such as POSIX reads).
    pub(super) calls: u64,
}

impl Flights {
    pub(super) fn new(hold: bool) -> Self {
        Self { partly: vec![0; BINS], wholly: vec![0; BINS + 1], held: hold.then(Vec::new), calls: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, span: Span, start: u64, end: u64) {
        self.calls += 1;
        let ((first, from), (last, to)) = (span.place(start), span.place(end));
        let mut partly = |bin: usize, ns: u64| {
            if let Some(sum) = self.partly.get_mut(bin) {
                *sum = sum.saturating_add(ns);
            }
        };
        if first == last {
            partly(first, to.saturating_sub(from));
        } else {
            partly(first, span.width - from);
            partly(last, to);
            let mut wholly = |bin: usize, by: i64| {
                if let Some(count) = self.wholly.get_mut(bin) {
                    *count += by;
                }
            };
            wholly(first + 1, 1);
            wholly(last, -1);
        }
        if let Some(held) = &mut self.held {
            held.push((start, end));
        }
    }

    fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.partly.iter_mut().zip(&other.partly).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.wholly.iter_mut().zip(&other.wholly).for_each(|(mine, theirs)| *mine += theirs);
        if let (Some(mine), Some(theirs)) = (&mut self.held, other.held) {
            mine.extend(theirs);
        }
    }
}

/// Calls in flight of all kinds over one time span.
#[derive(Clone, Debug)]
pub struct InFlight {
    pub(super) span: Span,
    hold: bool,
    /// Calls in flight by kind, indexed by [`What`]; `None` until the kind's first call.
    pub(super) kinds: [Option<Box<Flights>>; What::ALL.len()],
}

impl InFlight {
    /// Creates an empty collection for a run with `segments` calls within `span`.
    #[must_use]
    pub fn new(span: Span, segments: u64) -> Self {
        Self { span, hold: segments <= HELD_CALLS, kinds: Default::default() }
    }

    /// Adds calls of kind `what`; `shift` (ns) converts their times to times since the job's start.
    pub fn add(&mut self, what: What, calls: Stretch<'_>, shift: u64) {
        let (span, hold) = (self.span, self.hold);
        let Some(place) = self.kinds.get_mut(what as usize) else { return };
        let flights = place.get_or_insert_with(|| Box::new(Flights::new(hold)));
        for (start, end) in calls.start.iter().zip(calls.end) {
            flights.add(span, start.saturating_add(shift), end.saturating_add(shift));
        }
    }

    /// Adds the kind [`What::Posix`], the sum of POSIX reads and writes, if the run has both.
    pub(super) fn with_posix(mut self) -> Self {
        let has = |what: What| self.kinds.get(what as usize).is_some_and(Option::is_some);
        if !(has(What::PosixReads) && has(What::PosixWrites)) {
            return self;
        }
        for part in [What::PosixReads, What::PosixWrites] {
            let Some(flights) = self.kinds.get(part as usize).cloned().flatten() else { continue };
            let Some(whole) = self.kinds.get_mut(What::Posix as usize) else { continue };
            match whole {
                Some(whole) => whole.merge(*flights),
                None => *whole = Some(flights),
            }
        }
        self
    }

    /// Adds the calls in flight that another thread of the analyzer collected.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(*theirs),
                (None, Some(theirs)) => *mine = Some(theirs),
                (_, None) => {}
            }
        }
    }
}
