//! Options of `scaling`.

use crate::render::Format;
use crate::session::{Output, PageOutput};
use std::path::PathBuf;

/// Arguments of `scaling`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Traces and Darshan logs of the runs, or directories to search recursively; all traces of one job are one run
    #[arg(required = true, value_name = "RUN")]
    pub places: Vec<PathBuf>,
    /// Runs are repeats of each other if this property is equal: ranks, nodes, program, mpi, folder (directory of the run), run (none are
    /// repeats), a number N (N-th argument of the program), or the value of a program option, by its name, such as -t, --transfer or size
    /// for size=4M. Several properties are separated by commas. Runs of different programs are never repeats
    #[arg(long, value_name = "WHAT", default_value = "ranks", allow_hyphen_values = true)]
    pub group_by: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Table of the report to write as CSV (default: groups of repeated runs, with every number)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// HTML page to write
    #[command(flatten)]
    pub page: PageOutput,
}

impl Args {
    /// Returns the output options.
    #[must_use]
    pub fn output(&self) -> Output {
        Output { format: self.format, table: self.table.clone(), fail_on: None }
    }

    /// Returns the page options.
    #[must_use]
    pub fn page(&self) -> Option<&PageOutput> {
        Some(&self.page)
    }
}
