//! Helpers that the analyzer and its live view share. They know trace format and operating system, but no analysis.
//!
//! - [`input`] opens files, [`written`] writes them, and [`spools`] finds the spools of this machine.
//! - [`progress`] prints messages, [`exit`] has the exit codes, and [`text`] formats values for people.
//! - [`built_in`] has the parts of every page; `web` (feature `web`) serves pages.
//! - [`connector`] has the columns of the LDMS-Darshan connector's rows; `columnar` (feature `parquet`) writes Parquet.

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
