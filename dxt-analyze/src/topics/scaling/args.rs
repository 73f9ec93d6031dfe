//! The options of `scaling`.

use crate::render::Format;
use crate::session::{Output, PageOutput};
use std::path::PathBuf;

/// `scaling`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces and Darshan logs of the runs, or directories with them, however deep; all traces of one job are one run
    #[arg(required = true, value_name = "RUN")]
    pub places: Vec<PathBuf>,
    /// Keys that make runs repeats of each other, one or several with commas between (program,ranks,nodes): ranks, nodes, program, mpi,
    /// folder (that they lie in), run (each for itself), a number (the argument at that place of the command line), or an option of the
    /// program such as -t or --transfer, or the name in name=value: its value. Runs of different programs are never repeats
    #[arg(long, value_name = "WHAT", default_value = "ranks", allow_hyphen_values = true)]
    pub group_by: String,
    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Which of the tables to write as CSV (default: groups, with every number)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Page
    #[command(flatten)]
    pub page: PageOutput,
}

impl Args {
    /// How to write the result.
    #[must_use]
    pub fn output(&self) -> Output {
        Output { format: self.format, table: self.table.clone(), fail_on: None }
    }

    /// Where a page of it goes.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        Some(&self.page)
    }
}
