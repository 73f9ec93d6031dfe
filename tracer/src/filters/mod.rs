//! User filters by path, application, rank, layer and size. Applied when an object is first seen; what is left out is counted. Only the
//! code that reads the settings allocates.

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

/// Filters in effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filters {
    /// DXT_INCLUDE, DXT_EXCLUDE, DARSHAN_EXCLUDE_DIRS.
    pub(crate) paths: Paths,
    /// DXT_RANKS.
    pub(crate) ranks: Option<Ranks>,
    /// DXT_APPS.
    pub(crate) apps: Apps,
    /// DXT_LAYERS.
    pub(crate) layers: Layers,
    /// DXT_MIN_SIZE, in bytes: shorter reads and writes are counted only.
    pub(crate) min_size: u64,
    /// DXT_SMALL_IO_TRIGGER, DXT_SMALL_IO_SIZE, DXT_UNALIGNED_IO_TRIGGER, DXT_TRIGGER_CONF_PATH.
    pub(crate) triggers: Triggers,
    /// Variables that are set, with their values, for the trace.
    pub(crate) described: Vec<(&'static str, String)>,
    /// Ignored parts of the variables' values, as messages to the user.
    pub(crate) left_out: Vec<String>,
}

impl Filters {
    /// True if a process of this executable and rank (-1 if none) is recorded.
    pub(crate) fn chooses(&self, executable: &[u8], rank: i32) -> bool {
        self.apps.choose(executable) && self.ranks.as_ref().is_none_or(|ranks| rank < 0 || ranks.contain(rank))
    }
}

/// Returns the triggers, if any is set.
pub(crate) fn triggers() -> Option<&'static Triggers> {
    current().map(|filters| &filters.triggers).filter(|triggers| triggers.are_set())
}

/// Returns the filters in effect; `None` while tracing is off.
pub(crate) fn current() -> Option<&'static Filters> {
    crate::config::current().map(|config| &config.filters)
}
