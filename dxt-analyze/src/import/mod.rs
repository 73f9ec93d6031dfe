//! Import of other tools' logs: converts the logs to traces.

mod budget;
mod calls;
pub mod connector;
pub mod darshan;
mod written;
