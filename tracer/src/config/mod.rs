//! The settings, read once when the library is loaded: what they are, how values are read, and where variables come from.
//! A value that makes no sense turns tracing off with one line on standard error; the program runs on as if the library
//! were not there.

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

use std::sync::OnceLock;

static CURRENT: OnceLock<Config> = OnceLock::new();

/// The settings; `None` while tracing is off.
pub(crate) fn current() -> Option<&'static Config> {
    CURRENT.get()
}

/// Puts settings into effect, once.
pub(crate) fn adopt(config: Config) {
    let _ = CURRENT.set(config);
}

/// What becomes of segments when the buffer is full.
pub(crate) fn overflow() -> Overflow {
    current().map_or(Overflow::Fold, |config| config.overflow)
}
