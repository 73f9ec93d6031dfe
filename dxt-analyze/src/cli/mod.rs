//! Command line: definition and execution.

pub mod args;
mod examples;
pub mod run;
