//! The command line: what can be said on it, and what is then done.

pub mod args;
mod examples;
pub mod run;
