//! The analyzer as a library: everything behind the command line, so that tests and other programs can call it.
//!
//! Data flows one way: [`load`] opens traces, [`import`] makes traces of other tools' logs, and both fill a [`model`]; [`scan`] reads all
//! segments once and serves the [`topics`], a folder each; these return plain results and [`findings`], and [`render`] turns results
//! into text. [`session`] is what a verb begins with; [`page`] and [`serve`] show all topics in a browser; [`tools`] and [`export`] are
//! about the file itself. `frames` gives all that to other programs as tables. [`live`] watches programs that still run.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "parquet"),
    expect(dead_code, unused_imports, reason = "helpers of what this build is made without")
)]

pub mod cli;
#[cfg(feature = "parquet")]
mod columnar;
pub mod exit;
pub mod export;
pub mod findings;
#[cfg(feature = "parquet")]
pub mod frames;
pub mod import;
mod input;
pub mod layouts;
pub mod limits;
pub mod live;
pub mod load;
pub mod model;
pub mod page;
pub mod pattern;
pub mod progress;
pub mod render;
pub mod scan;
#[cfg_attr(not(feature = "serve"), path = "serve/without.rs")]
pub mod serve;
pub mod session;
pub mod shared;
mod spools;
pub mod sum;
pub mod text;
pub mod thresholds;
pub mod tools;
pub mod topics;
#[cfg(feature = "serve")]
mod web;
mod written;
