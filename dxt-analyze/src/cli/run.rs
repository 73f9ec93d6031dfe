//! What the command line says is done: a verb runs, its report is written, and what it found decides the exit code.

use crate::cli::args::{Cli, Output, Verb};
use crate::exit::Exit;
use crate::findings::Finding;
use crate::render::{self, Format, Report, Style};
use crate::{export, page, serve, tools, topics};
use anyhow::{Context, Result};
use std::io::{BufWriter, IsTerminal, Write};

/// Runs what the command line says, with results on standard output.
///
/// # Errors
/// What went wrong, with a [`UsageError`] inside if the command line did.
pub fn run(cli: &Cli) -> Result<Exit> {
    // Fails only if the pool exists already, in a test: then that one is used.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(cli.threads).build_global();
    if let Verb::Corpus(args) = &cli.verb
        && args.worker
    {
        // Its threads write by themselves.
        return topics::corpus::work(args);
    }
    let color = cli.color.decide();
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    let exit = match &cli.verb {
        Verb::Summary(args) => {
            let report = topics::summary::view::summary(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Outliers(args) => {
            let report = topics::outliers::view::outliers(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Stripes(args) => {
            let report = topics::stripes::view::stripes(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Counters(args) => {
            let report = topics::counters::view::counters(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Layers(args) => {
            let report = topics::layers::view::layers(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Checks(args) => {
            let report = topics::checks::view::checks(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Compare(args) => {
            let report = topics::compare::view::compare(args)?;
            finish(&report, &args.output, color, &mut out, &report.result.findings, report.complete())
        }
        Verb::Timeline(args) => {
            let report = topics::timeline::view::timeline(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Report(args) => page::report(args, &style(Format::Table, None, color), &mut out),
        Verb::Serve(args) => serve::serve(args),
        Verb::Convert(args) => tools::convert::convert(args),
        Verb::Dump(args) => tools::dump::dump(args, &mut out),
        Verb::Export(args) => export::export(args, &mut out),
        Verb::Explain(args) => {
            let style = style(args.format, None, color);
            render::write(&tools::explain::explain(args)?, &style, &mut out).map(|()| Exit::Fine)
        }
        Verb::Corpus(args) => {
            let report = topics::corpus::view::corpus(args)?;
            let style = style(args.format, args.table.clone(), color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Verb::Check(args) => {
            let report = tools::check::check(args)?;
            let style = style(args.format, args.table.clone(), color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Verb::Recover(args) => {
            let report = tools::recover::view::recover(args)?;
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
