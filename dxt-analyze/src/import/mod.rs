//! Import of other tools' logs: converts them to traces.

mod budget;
mod calls;
pub mod connector;
pub mod darshan;
mod written;
