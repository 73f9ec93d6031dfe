//! Other tools' logs as traces.

pub mod darshan;
