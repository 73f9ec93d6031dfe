//! Import of other tools' logs as traces.

mod budget;
mod calls;
pub mod connector;
pub mod darshan;
mod written;
