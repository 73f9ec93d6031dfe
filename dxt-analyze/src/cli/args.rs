//! Command line: global options and commands. The options of each command are in the command's `args.rs`.

use super::examples;
use crate::render::ColorWhen;
use crate::{export, live, page, serve, tools, topics};
use clap::{CommandFactory, Parser, Subcommand};

/// Finds the rank, node, storage target, file or call that makes a parallel program's I/O slow.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, after_help = EXIT_CODES)]
pub struct Cli {
    /// When to use colors in the output; the environment variable NO_COLOR turns `auto` off
    #[arg(long, value_enum, default_value_t, global = true)]
    pub color: ColorWhen,
    /// Print only errors on standard error: no progress bars, no notes on the input
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Number of threads; 0: one per processor
    #[arg(long, default_value_t = 0, global = true, value_name = "N")]
    pub threads: usize,
    /// Permissions of the files that dxt-analyze writes, in octal as for chmod, such as 0640 (default: only those permissions that all traces
    /// read have)
    #[arg(long, global = true, value_name = "MODE", value_parser = mode)]
    pub mode: Option<u32>,
    /// Command to run
    #[command(subcommand)]
    pub subcommand: Command,
}

/// Parses file permissions in octal; only read and write bits are valid.
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| mode & !0o666 == 0);
    mode.ok_or_else(|| "expected read and write permissions in octal, such as 0640".to_owned())
}

/// Width of help texts, in columns.
const WIDTH: usize = 80;

/// Returns the command line parser: the derived parser, changed so that `serve --live` needs no trace.
#[must_use]
pub fn command() -> clap::Command {
    let optional = |arg: clap::Arg| arg.required(false).required_unless_present("live");
    let with_examples = |subcommand: clap::Command| match examples::of(subcommand.get_name()) {
        Some(examples) => subcommand.after_help(examples),
        None => subcommand,
    };
    let command = Cli::command().mut_subcommand("serve", |serve| serve.mut_arg("traces", optional));
    // A fixed width: otherwise the width would depend on whether standard output is a terminal.
    command.max_term_width(WIDTH).term_width(WIDTH).mut_subcommands(with_examples)
}

/// Text of `--version`: version, commit and features; the build script sets commit and features.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit    ",
    env!("DXT_BUILD_COMMIT"),
    "\nfeatures  ",
    env!("DXT_BUILD_FEATURES")
);

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 the command line is invalid; 3 done, but the trace is incomplete (damaged, truncated, \
ranks missing, or operations with only counters); 4 done, and a finding is at or above --fail-on (takes precedence over 3).";

/// Commands of `dxt-analyze`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Analyses of jobs
    #[command(flatten)]
    Topic(topics::Command),
    /// One self-contained HTML page: largest costs, timelines, heatmaps, box plots, and every table
    Report(page::Args),
    /// Serve the report page on this machine; zooming in shows single calls
    Serve(serve::Args),
    /// Live view of running programs: rates, slowest ranks and files; or a stream of all calls
    Live(live::Args),
    /// All recorded calls (segments), as text, CSV or JSON lines; text and JSON also have the sums of calls not recorded singly
    Dump(tools::dump::Args),
    /// Convert a Darshan log to a trace; the analyses also read the log itself
    Convert(tools::convert::Args),
    /// Export for other programs: Darshan log, Parquet for SQL and data frames, Perfetto timeline, fio jobs, CSV, JSON lines
    Export(export::Args),
    /// Expand an access pattern that `signatures` prints into its reads and writes, as rows or as fio jobs
    Expand(tools::expand::Args),
    /// Write advice as files for `dxt-run --hints`: MPI-IO hints, parameters and commands, each with the time that it would save
    Advise(tools::advise::Args),
    /// Size, order, sharing and interface of requests, metadata, balance: facts about the I/O, each with the finding that prices it
    Patterns(tools::patterns::Args),
    /// Verify every checksum of trace files
    Check(tools::check::Args),
    /// Explain a finding: its meaning, its computation, and what to do about it
    Explain(tools::explain::Args),
    /// Make a trace of processes that were killed or still run, from their spools (files with the calls recorded so far)
    Recover(tools::recover::view::Args),
    /// Man pages and completions for bash, zsh and fish
    Generate(tools::generate::Args),
}
