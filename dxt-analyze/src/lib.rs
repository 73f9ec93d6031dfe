//! Analyzer as a library: everything behind the command line, for tests and other programs.
//!
//! Data flows in one direction:
//!
//! - [`load`] opens traces, [`import`] converts other tools' logs; both fill a [`model`].
//! - [`scan`] reads all segments once for all [`topics`], one folder each. Topics return plain results and [`findings`].
//! - [`render`] turns results into text.
//!
//! [`session`] opens the inputs at the start of every command. [`page`] and [`serve`] show all topics in a browser. [`tools`] and
//! [`export`] work on the trace file itself, `frames` provides tables for other programs, and [`live`] watches running programs.

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "helpers of what this build is made without"))]

pub mod cli;
#[cfg(feature = "parquet")]
mod columnar;
pub mod cube;
pub mod effects;
pub mod export;
pub mod findings;
#[cfg(feature = "parquet")]
pub mod frames;
mod hypotheses;
pub mod import;
pub mod layouts;
pub mod limits;
#[cfg(not(feature = "live"))]
#[path = "without_live.rs"]
pub mod live;
pub mod load;
pub mod model;
pub mod page;
pub mod pattern;
pub mod patterns;
pub mod progress;
pub mod render;
pub mod replay;
pub mod scan;
#[cfg_attr(not(feature = "serve"), path = "serve/without.rs")]
pub mod serve;
pub mod session;
pub mod shared;
pub mod sum;
pub mod symbols;
pub mod thresholds;
pub mod tools;
pub mod topics;
mod words;

#[cfg(feature = "serve")]
pub(crate) use dxt_base::web;
pub use dxt_base::{exit, text};
pub(crate) use dxt_base::{input, spools, written};
#[cfg(feature = "live")]
pub use dxt_live as live;
