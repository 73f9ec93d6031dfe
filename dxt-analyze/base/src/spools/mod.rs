//! Spools of this machine: their files, owners and clocks. [`trace_format::spool`] defines the format. [`crate::tools::recover`] converts
//! spools to traces, and [`crate::live`] reads them while they are being recorded.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod owner;
pub(crate) mod stale;
