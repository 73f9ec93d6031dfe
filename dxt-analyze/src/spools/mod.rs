//! Spools of this machine: their files, their owners, and the clocks that their times are told by. The bytes are
//! [`trace_format::spool`]'s business; [`crate::tools::recover`] makes traces of them, and [`crate::live`] shows what is recorded while it is.

pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod owner;
pub(crate) mod stale;
