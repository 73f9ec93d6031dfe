//! Options of `sites`.

use crate::session::{Inputs, Output};
use crate::symbols::DebugDirs;
use clap::ValueEnum;

/// Command line of `sites`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces to read, and the part of them to select
    #[command(flatten)]
    pub inputs: Inputs,
    /// Output format and destination
    #[command(flatten)]
    pub output: Output,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
    /// Options of `sites`
    #[command(flatten)]
    pub options: Options,
}

/// Options of `sites`
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Number of places to list
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
    /// Order of the list
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// Write call stacks with their time instead (collapsed: one line each, as flame graph tools read them; flame: a flame graph as SVG)
    #[arg(long, value_enum, value_name = "FORM")]
    pub stacks: Option<Stacks>,
    /// True if the flame graph of a page is wanted.
    #[arg(skip)]
    pub draw: bool,
}

impl Default for Options {
    /// Returns the defaults of the command line.
    fn default() -> Self {
        Self { top: 20, by: By::default(), stacks: None, draw: false }
    }
}

/// Order of places
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Most time in calls first
    #[default]
    Time,
    /// Most bytes first
    Bytes,
    /// Most calls first
    Calls,
}

/// Form of call stacks
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stacks {
    /// `main;write_all;write 1234`: functions from the outermost, then the operation, and its time in microseconds
    Collapsed,
    /// Flame graph, as the text of an SVG file
    Flame,
}
