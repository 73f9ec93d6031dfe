//! The verbs, one file each. A verb loads, scans, calls analyses and renders; what it found decides the exit code.

mod check;
mod dump;
mod dump_counters;
mod outliers;
mod recover;
mod stripes;
mod summary;
mod summary_details;

pub use check::{CheckReport, FileCheck, State, check, check_sources};
pub use dump::{CSV_HEADER, dump, dump_run};
pub use outliers::{OutliersReport, outliers, outliers_of};
pub use recover::recover;
pub use stripes::{StripesReport, stripes, stripes_of};
pub use summary::{summary, summary_of};

use crate::cli::{Cli, Output, Verb};
use crate::exit::{Exit, UsageError};
use crate::findings::Finding;
use crate::layouts::Rules;
use crate::load::{FileLayout, Run};
use crate::render::{self, Format, Report, Style};
use anyhow::{Context, Result};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

/// Runs what the command line says, with results on standard output.
///
/// # Errors
/// What went wrong, with a [`UsageError`] inside if the command line did.
pub fn run(cli: &Cli) -> Result<Exit> {
    // Fails only if the pool exists already, in a test: then that one is used.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(cli.threads).build_global();
    let color = cli.color.decide();
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    let exit = match &cli.verb {
        Verb::Summary(args) => {
            let report = summary(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Outliers(args) => {
            let report = outliers(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Stripes(args) => {
            let report = stripes(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Dump(args) => dump(args, &mut out),
        Verb::Check(args) => {
            let report = check(args)?;
            let style = style(args.format, args.table.clone(), color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Verb::Recover(args) => {
            let report = recover(args)?;
            let style = style(args.format, None, color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
    }?;
    out.flush().context("failed to write to standard output")?;
    Ok(exit)
}

fn style(format: Format, table: Option<String>, color: bool) -> Style {
    Style { format, color, width: terminal_width(), table }
}

/// Columns of the terminal that standard output is, if it is one.
fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    comfy_table::Table::new().width().map(usize::from).filter(|&width| width > 0)
}

fn finish(
    report: &impl Report,
    output: &Output,
    color: bool,
    out: &mut dyn Write,
    findings: &[Finding],
    complete: bool,
) -> Result<Exit> {
    render::write(report, &style(output.format, output.table.clone(), color), out)?;
    let fails = output.fail_on.is_some_and(|least| findings.iter().any(|finding| finding.severity >= least));
    Ok(match (fails, complete) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Fine,
    })
}

/// Reads `--layout` and settles which layout counts for each file of the run.
fn layouts(run: &Run, path: Option<&Path>) -> Result<Vec<Option<FileLayout>>> {
    let rules =
        match path {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read the layouts in {}", path.display()))?;
                let parsed = Rules::parse(&text);
                Some(parsed.map_err(|error| {
                    UsageError(format!("failed to read the layouts in {}: {error:#}", path.display()))
                })?)
            }
        };
    Ok(run.files.iter().map(|file| crate::layouts::effective(file, rules.as_ref())).collect())
}
