//! The analyzer as a library: everything behind the command line, so that tests and other programs can call it.
//!
//! Data flows one way: [`load`] opens traces and merges their tables, [`scan`] reads all segments once and serves every
//! one of the [`analyses`], these return plain results and [`findings`], [`render`] turns results into text. [`verbs`]
//! puts that together, one file per verb.

#![forbid(unsafe_code)]

pub mod analyses;
pub mod cli;
pub mod darshan;
pub mod exit;
pub mod findings;
pub mod layouts;
pub mod limits;
pub mod load;
pub mod pattern;
pub mod progress;
pub mod recover;
pub mod render;
pub mod scan;
pub mod significance;
pub mod stats;
pub mod thresholds;
pub mod verbs;
mod written;
