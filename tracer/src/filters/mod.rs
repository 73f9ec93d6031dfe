//! User filters by path, application, rank, layer and size. Applied when a file is first seen; omitted files are counted. Only the code
//! that reads the settings allocates memory.

mod apps;
mod expression;
mod layers;
mod paths;
mod pattern;
mod ranks;
mod triggers;

pub(crate) use apps::Apps;
pub(crate) use expression::Expression;
pub(crate) use layers::Layers;
pub(crate) use paths::{Choice, Paths};
pub(crate) use pattern::Pattern;
pub(crate) use ranks::Ranks;
pub(crate) use triggers::{Accesses, Share, Triggers};

/// Filters in effect in this process, which decide what is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    /// Path filters: DXT_INCLUDE, DXT_EXCLUDE, DARSHAN_EXCLUDE_DIRS.
    pub(crate) paths: Paths,
    /// MPI ranks to record (DXT_RANKS); `None` for all.
    pub(crate) ranks: Option<Ranks>,
    /// Names of programs to record (DXT_APPS).
    pub(crate) apps: Apps,
    /// I/O layers (POSIX, MPI-IO, ...) whose calls are recorded (DXT_LAYERS).
    pub(crate) layers: Layers,
    /// Minimum size of reads and writes that get a segment, in bytes (DXT_MIN_SIZE); smaller reads and writes are only counted.
    pub(crate) min_size: u64,
    /// Conditions under which a file keeps its segments (records of single calls): DXT_SMALL_IO_TRIGGER, DXT_SMALL_IO_SIZE,
    /// DXT_UNALIGNED_IO_TRIGGER, DXT_TRIGGER_CONF_PATH.
    pub(crate) triggers: Triggers,
    /// Pairs (variable, value) of the filter variables that are set; stored in the trace.
    pub(crate) described: Vec<(&'static str, String)>,
    /// Messages to the user about ignored parts of the variables' values.
    pub(crate) left_out: Vec<String>,
}

impl Filters {
    /// True if a process with this executable and rank (-1 without a rank) is recorded.
    pub(crate) fn chooses(&self, executable: &[u8], rank: i32) -> bool {
        self.apps.choose(executable) && self.ranks.as_ref().is_none_or(|ranks| rank < 0 || ranks.contain(rank))
    }
}
