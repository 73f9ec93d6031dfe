//! Helpers that the analyzer and the live view share. They depend on the trace format and the operating system, not on any analysis.
//!
//! - [`input`] opens files, [`written`] writes files, and [`spools`] finds the spools of this machine.
//! - [`progress`] prints messages, [`exit`] defines the exit codes, and [`text`] formats values for people.
//! - [`built_in`] contains the common parts of HTML pages; `web` (feature `web`) serves pages.
//! - [`connector`] defines the columns of the LDMS-Darshan connector; `columnar` (feature `parquet`) writes Parquet files.

#![forbid(unsafe_code)]

pub mod built_in;
#[cfg(feature = "parquet")]
pub mod columnar;
pub mod connector;
pub mod exit;
pub mod input;
pub mod progress;
pub mod spools;
pub mod text;
#[cfg(feature = "web")]
pub mod web;
pub mod written;
