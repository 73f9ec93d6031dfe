//! Spools of this machine: their files, owners and clocks. [`trace_format::spool`] has the format; [`crate::tools::recover`] makes traces
//! of spools, and [`crate::live`] reads them while they are recorded.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod owner;
pub(crate) mod stale;
