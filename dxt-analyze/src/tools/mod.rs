//! Commands that work on trace files themselves rather than analyze the job in the files.

pub mod advise;
pub mod check;
pub mod convert;
pub mod dump;
pub mod expand;
pub mod explain;
pub mod generate;
pub mod patterns;
pub mod recover;
