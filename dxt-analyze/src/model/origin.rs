//! Who made the file, in the words of reports: what a tracer's variables say of a trace does not hold for a log.

use crate::sum::Sum;
use rustc_hash::FxHashMap;
use trace_format::meta::Job;
use trace_format::op::{Layer, OpClass};

/// What a run was recorded as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A trace of this project's tracer.
    #[default]
    Trace,
    /// A Darshan log, or a trace that was made of one.
    Darshan,
}

impl Origin {
    /// By a job's settings.
    #[must_use]
    pub fn of(settings: &[(String, String)]) -> Self {
        let was_log = settings.iter().any(|(name, _)| name == crate::model::converted::SOURCE);
        if was_log { Self::Darshan } else { Self::Trace }
    }

    /// What the file is called.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Darshan => "log",
        }
    }

    /// Why there are counters and nothing of `what`: single operations, offsets.
    #[must_use]
    pub fn counters_and_no(self, what: &str) -> String {
        match self {
            Self::Trace => format!("the trace holds counters and no {what} (DXT_ENABLE=counters)"),
            Self::Darshan => format!("the log holds counters and no {what} (it has no DXT)"),
        }
    }

    /// Why calls have no segment where none were to be kept: in front of their number.
    #[must_use]
    pub const fn without_segments(self) -> &'static str {
        match self {
            Self::Trace => "none, as asked for (DXT_ENABLE=counters)",
            Self::Darshan => "none, the log has no DXT",
        }
    }

    /// The same where others have some.
    #[must_use]
    pub const fn some_without_segments(self) -> &'static str {
        match self {
            Self::Trace => "as asked for or by design",
            Self::Darshan => "as DXT has segments of reads and writes only",
        }
    }

    /// How operations came to have no segment, and what to do about it; `filtered`: a filter may be why.
    #[must_use]
    pub const fn missing(self, filtered: bool) -> &'static str {
        match (self, filtered) {
            (Self::Trace, true) => {
                "operations have no segment (folded into counters, as a filter says or because a buffer was full): their counts, \
                 bytes and times are in the sums, they are in no distribution or list."
            }
            (Self::Trace, false) => {
                "operations have no segment (folded into counters when a buffer was full): their counts, bytes and times are in \
                 the sums, they are in no distribution or list. A larger DXT_BUFFER_MAX keeps them."
            }
            (Self::Darshan, _) => {
                "operations have no segment (DXT's memory was full, or its configuration left them out): their counts, bytes and \
                 times are in the sums, they are in no distribution or list."
            }
        }
    }

    /// What a finding says of them, behind their number.
    #[must_use]
    pub const fn missing_title(self) -> &'static str {
        match self {
            Self::Trace => "operations were folded into counters",
            Self::Darshan => "operations have no DXT segment",
        }
    }

    /// What to do about them.
    #[must_use]
    pub const fn missing_hint(self, filtered: bool) -> &'static str {
        match (self, filtered) {
            (Self::Trace, true) => {
                "leave the filter out, and set DXT_BUFFER_MAX higher if need be, to keep every operation"
            }
            (Self::Trace, false) => "set DXT_BUFFER_MAX higher to keep every operation",
            (Self::Darshan, _) => {
                "set DARSHAN_MODMEM higher, or trace fewer files (DXT_TRIGGER_CONF_PATH, or a configuration file), to keep every operation"
            }
        }
    }
}

/// Which operations have segments by design; of all others counters are all there is to be, and nothing is missing. The one rule of
/// `check` and of every report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// None has.
    pub counters_only: bool,
    /// Reads and writes of POSIX and MPI-IO have.
    pub data_only: bool,
}

impl Kept {
    /// As the settings of a file say.
    #[must_use]
    pub fn of(settings: &[(String, String)]) -> Self {
        let is_set = |(name, value): (&str, &str)| settings.iter().any(|(known, set)| known == name && set == value);
        Self {
            counters_only: is_set(("DXT_ENABLE", "counters")),
            data_only: is_set(crate::model::converted::DATA_ONLY),
        }
    }

    /// Whether operations of a layer and class have segments; `None`: of no known one.
    #[must_use]
    pub fn has_segments(self, op: Option<(Layer, OpClass)>) -> bool {
        let is_data = op.is_some_and(|(layer, class)| class.is_data() && matches!(layer, Layer::Posix | Layer::Mpiio));
        !self.counters_only && (!self.data_only || is_data)
    }

    /// Operations of a process that should have segments and have none.
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
