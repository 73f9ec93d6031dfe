//! Spools (files with recorded calls) of this machine: files, owners and clocks. [`trace_format::spool`] defines the format, `recover`
//! converts spools to traces, and `live` reads spools while they are recorded.

pub mod clock;
pub mod files;
pub mod owner;
pub mod stale;
