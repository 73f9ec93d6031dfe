//! Tool that recorded a run. Explanations depend on it: they mention the tracer's environment variables for its own traces, not for Darshan logs.

use crate::sum::Sum;
use crate::text::units;
use rustc_hash::FxHashMap;
use trace_format::meta::Job;
use trace_format::op::{Layer, OpClass};

/// Tool that recorded a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Trace recorded by this project's tracer.
    #[default]
    Trace,
    /// Darshan log, or a trace converted from one.
    Darshan,
}

impl Origin {
    /// Determines the recording tool from a job's settings.
    #[must_use]
    pub fn of(settings: &[(String, String)]) -> Self {
        let was_log = settings.iter().any(|(name, _)| name == crate::model::converted::SOURCE);
        if was_log { Self::Darshan } else { Self::Trace }
    }

    /// Returns the noun for an input file: a trace or a log.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Darshan => "log",
        }
    }

    /// Returns a sentence that says why the run has counters but no `what` (for example single operations, or offsets).
    #[must_use]
    pub fn counters_and_no(self, what: &str) -> String {
        match self {
            Self::Trace => format!("the trace has counters but no {what} (DXT_ENABLE=counters)"),
            Self::Darshan => format!("the log has counters but no {what} (no DXT)"),
        }
    }

    /// Returns the reason why a number of calls has no segments by design, worded to precede that number.
    #[must_use]
    pub const fn without_segments(self) -> &'static str {
        match self {
            Self::Trace => "none, as configured (DXT_ENABLE=counters)",
            Self::Darshan => "none, the log has no DXT",
        }
    }

    /// Returns the reason why only some of the calls have segments by design.
    #[must_use]
    pub const fn some_without_segments(self) -> &'static str {
        match self {
            Self::Trace => "by configuration or by design",
            Self::Darshan => "as DXT records segments of reads and writes only",
        }
    }

    /// Says why `count` operations have no segments, and how to record them. `filtered` is true if a filter of the tracer may be the reason.
    #[must_use]
    pub fn missing(self, count: u64, filtered: bool) -> String {
        let (have, their, these) = units::agree(
            count,
            ("operation has", "its count, bytes and time", "this operation"),
            ("operations have", "their counts, bytes and times", "these operations"),
        );
        let (why, advice) = match (self, filtered) {
            (Self::Trace, true) => ("only counters, because of a filter or a full buffer", ""),
            (Self::Trace, false) => {
                ("only counters, because a buffer was full", " Set DXT_BUFFER_MAX higher to record every operation.")
            }
            (Self::Darshan, _) => (
                units::agree(
                    count,
                    "DXT's memory was full, or its configuration excludes it",
                    "DXT's memory was full, or its configuration excludes them",
                ),
                "",
            ),
        };
        format!(
            "{} {have} no segment ({why}): sums include {their}, but no distribution or list includes {these}.{advice}",
            units::count(count)
        )
    }
}

/// Rule that says which operations of a trace are recorded as single calls (segments) by design. All others have only counters, without
/// anything missing. The command `check` and every report apply this rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// True if no operation has segments (counters only).
    pub counters_only: bool,
    /// True if only POSIX and MPI-IO reads and writes have segments.
    pub data_only: bool,
}

impl Kept {
    /// Determines from the settings of a trace which operations are recorded as single calls by design.
    #[must_use]
    pub fn of(settings: &[(String, String)]) -> Self {
        let is_set = |(name, value): (&str, &str)| settings.iter().any(|(known, set)| known == name && set == value);
        Self {
            counters_only: is_set(("DXT_ENABLE", "counters")),
            data_only: is_set(crate::model::converted::DATA_ONLY),
        }
    }

    /// Returns true if operations of this layer and class have segments by design; `None` stands for an unknown operation.
    #[must_use]
    pub fn has_segments(self, op: Option<(Layer, OpClass)>) -> bool {
        let is_data = op.is_some_and(|(layer, class)| class.is_data() && matches!(layer, Layer::Posix | Layer::Mpiio));
        !self.counters_only && (!self.data_only || is_data)
    }

    /// Returns the number of a process's operations that should have segments but have none.
    #[must_use]
    pub fn missing(job: &Job, process: &trace_format::meta::Process) -> u64 {
        let kept = Self::of(&job.settings);
        let ops: FxHashMap<u16, _> = job.ops.iter().map(|op| (op.code, (op.layer, op.class))).collect();
        let streams: FxHashMap<u32, u16> = process.streams.iter().map(|stream| (stream.id, stream.op)).collect();
        let op_of = |id: u32| ops.get(streams.get(&id)?).copied();
        let missing = process.missing.iter().filter(|missing| kept.has_segments(op_of(missing.stream)));
        missing.map(|missing| missing.counters.segments).sum::<Sum>().get()
    }
}
