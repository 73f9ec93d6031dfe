//! The options of `outliers`.

use crate::session::{Inputs, Output};
use crate::topics::outliers::distribution::Metric;
use clap::ValueEnum;
use std::path::PathBuf;

/// What to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Single operations, by the box-plot rule: beyond 1.5 interquartile ranges
    #[default]
    Op,
    /// Ranks, by modified z-scores (median and MAD)
    Rank,
    /// Nodes, likewise
    Node,
    /// Storage targets (OSTs), likewise
    Ost,
    /// Files, likewise
    File,
}

/// `outliers` on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Inputs
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output
    #[command(flatten)]
    pub output: Output,
    /// Options
    #[command(flatten)]
    pub options: Options,
}

/// What can be asked of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// What to compare
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// Compare bytes per second or seconds
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Compare ranks, nodes, OSTs or files apart in each of N equal spans of time, or in each I/O phase
    #[arg(long, value_name = "N|phases", value_parser = spans)]
    pub windows: Option<Spans>,
    /// Outliers to list per group, the slowest; all are counted
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Show times as nanoseconds since 1970 (table: wall clock) instead of since the job's start
    #[arg(long)]
    pub absolute: bool,
}

impl Default for Options {
    /// As on the command line.
    fn default() -> Self {
        Self { by: By::Op, metric: Metric::Bandwidth, layout: None, windows: None, top: 50, absolute: false }
    }
}

/// How `outliers --windows` cuts the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// Into so many equal parts.
    Equal(u32),
    /// At the starts of I/O phases.
    Phases,
}

fn spans(text: &str) -> Result<Spans, String> {
    if text == "phases" {
        return Ok(Spans::Phases);
    }
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.map(Spans::Equal).ok_or_else(|| "neither a number from 1 to 1000 nor `phases`".into())
}
