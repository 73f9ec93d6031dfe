//! The verbs, one file each. A verb loads, scans, calls analyses and renders; what it found decides the exit code.

mod check;
mod checks;
mod columnar;
mod compare;
mod convert;
mod corpus;
mod counters;
mod darshan_text;
mod dump;
mod dump_counters;
mod explain;
mod export;
mod layers;
mod layers_tables;
mod layers_together;
mod outliers;
mod recover;
mod report;
mod serve;
mod spark;
mod stripes;
mod stripes_tables;
mod stripes_trials;
mod summary;
mod summary_details;
mod timeline;

pub use check::{CheckReport, FileCheck, State, check, check_sources};
pub use checks::{ChecksReport, checks, checks_of};
pub use compare::{CompareReport, compare, compare_of};
pub use convert::convert;
pub use corpus::{CorpusReport, corpus};
pub use counters::{counters, counters_of};
pub use dump::{CSV_HEADER, dump, dump_run};
pub use explain::{Explained, explain};
pub use export::export;
pub use layers::{LayersReport, layers, layers_of};
pub use outliers::{OutliersReport, outliers, outliers_of};
pub use recover::recover;
pub use report::{Page, page_of, report};
pub use serve::serve;
pub use stripes::{StripesReport, stripes, stripes_of};
pub use summary::{summary, summary_of};
pub use timeline::{TimelineReport, timeline, timeline_of};

use crate::cli::{Cli, Inputs, Output, Verb};
use crate::exit::{Exit, UsageError};
use crate::findings::Finding;
use crate::layouts::Rules;
use crate::limits::TEXT_BYTES;
use crate::load::select::{self, Selection};
use crate::load::{self, FileLayout, Run};
use crate::pattern::Pattern;
use crate::render::{self, Format, Report, Style};
use crate::thresholds::Thresholds;
use anyhow::{Context, Result, ensure};
use std::io::{BufWriter, IsTerminal, Read as _, Write};
use std::path::Path;
use trace_format::op::Layer;

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
        Verb::Counters(args) => {
            let report = counters(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Layers(args) => {
            let report = layers(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Checks(args) => {
            let report = checks(args)?;
            let result = &report.result;
            finish(&report, &args.output, color, &mut out, &result.findings, result.missing.complete)
        }
        Verb::Compare(args) => {
            let report = compare(args)?;
            finish(&report, &args.output, color, &mut out, &report.result.findings, report.complete())
        }
        Verb::Timeline(args) => {
            let report = timeline(args)?;
            finish(&report, &args.output, color, &mut out, &report.findings, report.missing.complete)
        }
        Verb::Report(args) => report(args, &style(Format::Table, None, color), &mut out),
        Verb::Serve(args) => serve(args),
        Verb::Convert(args) => convert(args),
        Verb::Dump(args) => dump(args, &mut out),
        Verb::Export(args) => export(args, &mut out),
        Verb::Explain(args) => {
            let style = style(args.format, None, color);
            render::write(&explain(args)?, &style, &mut out).map(|()| Exit::Fine)
        }
        Verb::Corpus(args) => {
            let report = corpus(args)?;
            let style = style(args.format, args.table.clone(), color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
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

/// Loads the job that the options name and narrows it down to what they choose.
fn open(inputs: &Inputs) -> Result<Run> {
    let thresholds = thresholds(inputs.thresholds.as_deref())?;
    let chosen = selection(inputs)?;
    let mut run = load::load_paths(&inputs.traces, inputs.job.as_deref())?;
    run.thresholds = thresholds;
    run.select(chosen);
    Ok(run)
}

fn thresholds(path: Option<&Path>) -> Result<Thresholds> {
    let Some(path) = path else { return Ok(Thresholds::default()) };
    let place = || format!("failed to read the thresholds in {}", path.display());
    Thresholds::parse(&text(path).with_context(place)?).with_context(place)
}

/// The text of a file that the user named, if it is no longer than such a text can be.
fn text(path: &Path) -> Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(TEXT_BYTES + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= TEXT_BYTES, "it is longer than {} MiB", TEXT_BYTES >> 20);
    Ok(text)
}

fn selection(inputs: &Inputs) -> Result<Selection> {
    let pattern = |glob: &String| Pattern::new(glob).map_err(|error| UsageError(format!("--files {glob}: {error}")));
    let mut words = Vec::new();
    let mut said = |option, values: &[String]| words.extend((!values.is_empty()).then(|| (option, values.join(" "))));
    said("--ranks", inputs.ranks.as_slice());
    said("--files", &inputs.files);
    let layers: Vec<Layer> = inputs.layer.iter().map(|name| Layer::from(*name)).collect();
    said("--layer", &layers.iter().map(|layer| layer.name().to_owned()).collect::<Vec<String>>());
    said("--time", inputs.time.as_slice());
    Ok(Selection {
        ranks: inputs.ranks.as_deref().map(select::ranks).transpose()?.unwrap_or_default(),
        files: inputs.files.iter().map(pattern).collect::<Result<_, _>>()?,
        layers,
        window: inputs.time.as_deref().map(select::window).transpose()?,
        words,
    })
}

/// Reads `--layout` and settles which layout counts for each file of the run.
fn layouts(run: &Run, path: Option<&Path>) -> Result<Vec<Option<FileLayout>>> {
    let rules =
        match path {
            None => None,
            Some(path) => {
                let text = text(path).with_context(|| format!("failed to read the layouts in {}", path.display()))?;
                let parsed = Rules::parse(&text);
                Some(parsed.map_err(|error| {
                    UsageError(format!("failed to read the layouts in {}: {error:#}", path.display()))
                })?)
            }
        };
    Ok(run.files.iter().map(|file| crate::layouts::effective(file, rules.as_ref())).collect())
}
