//! Settings of the tracer, read once when the library is loaded. An invalid value turns tracing off and is reported in one line on standard
//! error; the program then runs as if untraced.

pub(crate) mod check;
mod darshan;
mod file;
mod filters;
mod made;
mod output_dir;
mod settings;
mod site;
mod source;
mod trigger_file;
mod values;

pub(crate) use darshan::WithDarshan;
pub(crate) use file::{BadFile, File, Layered, content};
pub(crate) use output_dir::{Filled, Filling};
pub(crate) use settings::{
    Config, Enabled, FlushMode, LEAST_BUFFER_MAX, Mode, Overflow, Spool, is_off, read, standing_by,
};
pub(crate) use site::Site;
pub(crate) use source::Environment;
pub(crate) use values::BadValue;

use crate::filters::{Filters, Triggers};
use std::sync::OnceLock;

static CURRENT: OnceLock<Config> = OnceLock::new();

/// Returns the settings of this process; `None` while tracing is off.
pub(crate) fn current() -> Option<&'static Config> {
    CURRENT.get()
}

/// Returns the filters in effect; `None` while tracing is off.
pub(crate) fn filters() -> Option<&'static Filters> {
    current().map(|config| &config.filters)
}

/// Returns the triggers (conditions under which a file's calls are recorded individually) in effect; `None` if none is set.
pub(crate) fn triggers() -> Option<&'static Triggers> {
    filters().map(|filters| &filters.triggers).filter(|triggers| triggers.are_set())
}

/// Makes `config` the settings of this process. Only the first call has an effect.
pub(crate) fn adopt(config: Config) {
    let _ = CURRENT.set(config);
}

/// Returns the treatment of segments (records of calls) when the buffer is full.
pub(crate) fn overflow() -> Overflow {
    current().map_or(Overflow::Fold, |config| config.overflow)
}
