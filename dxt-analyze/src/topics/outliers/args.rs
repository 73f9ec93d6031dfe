//! Options of `outliers`.

use crate::session::{Inputs, Output};
use crate::topics::outliers::distribution::Metric;
use crate::topics::outliers::units::UnitKind;
use clap::ValueEnum;
use std::path::PathBuf;

/// Units of the comparison
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Single operations, by the box-plot rule: more than 1.5 interquartile ranges slower than the slower quartile
    #[default]
    Op,
    /// Ranks, by modified z-scores (distance from the median / median absolute deviation)
    Rank,
    /// Nodes, by modified z-scores
    Node,
    /// Storage targets (OSTs), by modified z-scores
    Ost,
    /// Files, by modified z-scores
    File,
}

impl By {
    /// Returns the kind of the units to compare; `None` if single operations are compared.
    pub(crate) fn kind(self) -> Option<UnitKind> {
        match self {
            Self::Op => None,
            Self::Rank => Some(UnitKind::Rank),
            Self::Node => Some(UnitKind::Node),
            Self::Ost => Some(UnitKind::Target),
            Self::File => Some(UnitKind::File),
        }
    }
}

/// Command line of `outliers`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces or logs to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Options of `outliers`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `outliers`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Subjects of the comparison: single operations, ranks, nodes, storage targets or files
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// Value to compare: bandwidth or duration
    #[arg(long, value_enum, default_value_t)]
    pub metric: Metric,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Compare ranks, nodes, OSTs or files separately in each of N equal time windows, or in each I/O phase
    #[arg(long, value_name = "N|phases", value_parser = spans)]
    pub windows: Option<Spans>,
    /// Number of outliers to list per kind of operation (and time window), slowest first; all are counted
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
    /// Show times as nanoseconds since 1970 (table: wall clock) instead of since the job's start
    #[arg(long)]
    pub absolute: bool,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { by: By::Op, metric: Metric::Bandwidth, layout: None, windows: None, top: 50, absolute: false }
    }
}

/// Division of the run into time windows, as given by `outliers --windows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spans {
    /// Given number of time windows of equal length.
    Equal(u32),
    /// Time windows that begin at the start of each I/O phase.
    Phases,
}

fn spans(text: &str) -> Result<Spans, String> {
    if text == "phases" {
        return Ok(Spans::Phases);
    }
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.map(Spans::Equal).ok_or_else(|| "neither a number from 1 to 1000 nor `phases`".into())
}
