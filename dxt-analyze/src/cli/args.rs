//! The command line: its verbs. The options of each lie beside what it does, in `args.rs`.

use super::examples;
use crate::render::ColorWhen;
use crate::{export, live, page, serve, tools, topics};
use clap::{CommandFactory, Parser, Subcommand};

/// Finds the rank, node, storage target, file or call that makes a parallel program's I/O slow.
#[derive(Debug, Parser)]
#[command(version, long_version = LONG_VERSION, after_help = EXIT_CODES)]
pub struct Cli {
    /// When to colour the output; NO_COLOR is heeded
    #[arg(long, value_enum, default_value_t, global = true)]
    pub color: ColorWhen,
    /// Say nothing on standard error but errors: no progress, no remarks
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Threads to use; 0: one per processor
    #[arg(long, default_value_t = 0, global = true, value_name = "N")]
    pub threads: usize,
    /// Access rights of files that are written, octal, as chmod has them; without it those that all traces have
    #[arg(long, global = true, value_name = "MODE", value_parser = mode)]
    pub mode: Option<u32>,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// Access rights by their octal number.
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| mode & !0o666 == 0);
    mode.ok_or_else(|| "rights to read and write, as in 0640".to_owned())
}

/// Columns of help.
const WIDTH: usize = 80;

/// The command line as it is parsed: `serve --live` needs no trace.
#[must_use]
pub fn command() -> clap::Command {
    let optional = |arg: clap::Arg| arg.required(false).required_unless_present("live");
    let with_examples = |verb: clap::Command| match examples::of(verb.get_name()) {
        Some(examples) => verb.after_help(examples),
        None => verb,
    };
    let command = Cli::command().mut_subcommand("serve", |serve| serve.mut_arg("traces", optional));
    // Where standard output is no terminal, the width would be another.
    command.max_term_width(WIDTH).term_width(WIDTH).mut_subcommands(with_examples)
}

/// Number, commit and features: build.rs knows the latter two.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit    ",
    env!("DXT_BUILD_COMMIT"),
    "\nfeatures  ",
    env!("DXT_BUILD_FEATURES")
);

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed; 2 the command line makes no sense; 3 done, but the trace is incomplete (damaged, cut, \
ranks absent, or operations folded into counters); 4 done, and a finding is at or above --fail-on (goes before 3).";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// What is asked of jobs
    #[command(flatten)]
    Topic(topics::Verb),
    /// One self-contained HTML page: what costs most, timelines, heatmaps, box plots, and every table
    Report(page::Args),
    /// The report page from a server on this machine, which shows single calls wherever the page is zoomed in
    Serve(serve::Args),
    /// Programs that still run: rates, slowest ranks and files while they come; or each call, passed on
    Live(live::Args),
    /// Every segment, as text, CSV or JSON lines; text and JSON also counters and profiles of what has no segments
    Dump(tools::dump::Args),
    /// Makes a trace of a Darshan log; every other command reads the log itself as well
    Convert(tools::convert::Args),
    /// A trace for other programs: Darshan's log, Parquet for SQL and data frames, Perfetto for a timeline, jobs of fio, CSV, JSON lines
    Export(export::Args),
    /// The reads and writes that a signature stands for, as rows or as jobs of fio
    Expand(tools::expand::Args),
    /// What to type as files: hints, parameters, commands, which `dxt-run --hints` uses; and what each saves
    Advise(tools::advise::Args),
    /// Verifies every checksum of trace files
    Check(tools::check::Args),
    /// What a finding means, how it is computed, and what to do about it
    Explain(tools::explain::Args),
    /// Makes a trace from the spools of processes that were killed, or that still run
    Recover(tools::recover::view::Args),
    /// Man pages and completions for bash, zsh and fish
    Generate(tools::generate::Args),
}
