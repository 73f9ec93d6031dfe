//! Spools of this machine: their files, owners and clocks. [`trace_format::spool`] defines the format. `recover` converts
//! spools to traces, and `live` reads them while they are being recorded.

pub mod clock;
pub mod files;
pub mod owner;
pub mod stale;
