//! Command `compare`: loads two runs of the same program and displays their differences.

use super::args::Args;
use crate::findings::{self, Finding};
use crate::model::{FileId, Run};
use crate::progress::Bar;
use crate::render::{Cell, Figure, Part, Report, Table, View};
use crate::session::Inputs;
use crate::shared::completeness::Completeness;
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::compare::files::{How, matched};
use crate::topics::compare::repeats::Job;
use crate::topics::compare::result::{
    Changed, Comparison, OperationRow, Over, PlaceRow, RunPart, Totalled, UnitRow, Units,
};
use crate::topics::compare::side::{FileSum, Side, measure};
use crate::topics::compare::{operations, overlay, places, setup, units as by_unit, verdict};
use crate::topics::corpus::Read;
use crate::topics::scaling::{self, measure::RunRow};
use anyhow::{Context, Result};
use serde::Serialize;
use std::path::PathBuf;

/// Result of `compare`, and how many rows to display.
#[derive(Debug, Serialize)]
pub struct CompareReport {
    /// Comparison, including findings.
    #[serde(flatten)]
    pub result: Comparison,
    /// Maximum number of ranks, files and places in a table.
    #[serde(skip)]
    pub top: usize,
    /// Paths of the two runs compared in detail: of each side, the run with the median run time. `None` without repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed: Option<[String; 2]>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// Loads both runs (or sides of repeated runs) and compares them.
///
/// # Errors
/// Returns an error if a run cannot be loaded, or if neither run has anything that the options select.
pub fn compare(args: &Args) -> Result<CompareReport> {
    let (before, after) = args.ways()?;
    let inputs = |path: &PathBuf| Inputs {
        traces: vec![path.clone()],
        job: None,
        ranks: args.ranks.clone(),
        files: args.files.clone(),
        layer: args.layer.clone(),
        time: None,
        thresholds: args.thresholds.clone(),
    };
    // The figures of an HTML page need one more pass over each run.
    let draw = args.page.output.is_some();
    let ([one], [two]) = (before, after) else { return repeats(before, after, inputs, args) };
    let [before, after] = crate::session::open_both([&inputs(one), &inputs(two)])?;
    let measured = (measured(&before), measured(&after));
    let mut report = detailed([&before, &after], measured, args.top, &args.debug.dirs);
    if draw {
        report.figures = overlay::figures([&before, &after], &report.result.job);
    }
    Ok(report)
}

/// Compares repeated runs: statistics over all of them, and details of each side's run with the median run time.
fn repeats(
    before: &[PathBuf],
    after: &[PathBuf],
    inputs: impl Fn(&PathBuf) -> Inputs,
    args: &Args,
) -> Result<CompareReport> {
    let measured = |paths: &[PathBuf]| -> Result<Vec<RunRow>> {
        let one = |path: &PathBuf| {
            let run =
                crate::session::open(&inputs(path)).with_context(|| format!("failed to load {}", path.display()))?;
            Ok(scaling::measure::measure(
                &run,
                Read { source: path.display().to_string(), sources: 1, darshan: run.was_log() },
            ))
        };
        paths.iter().map(one).collect()
    };
    let (ours, theirs) = (measured(before)?, measured(after)?);
    let typical = |paths: &[PathBuf], rows: &[RunRow]| {
        let mut order: Vec<(u64, usize)> = rows.iter().map(|row| row.job.runtime_ns).zip(0..).collect();
        order.sort_unstable();
        let place = order.get(order.len().saturating_sub(1) / 2).map_or(0, |(_, place)| *place);
        paths.get(place).cloned().unwrap_or_default()
    };
    let (one, two) = (typical(before, &ours), typical(after, &theirs));
    let [first, second] = crate::session::open_both([&inputs(&one), &inputs(&two)])?;
    let mut report = detailed([&first, &second], (ours, theirs), args.top, &args.debug.dirs);
    if args.page.output.is_some() {
        report.figures = overlay::figures([&first, &second], &report.result.job);
    }
    report.detailed = Some([one, two].map(|path| path.display().to_string()));
    Ok(report)
}

/// Compares two loaded runs; the thresholds of `before` apply to both. Tables show at most `top` rows.
#[must_use]
pub fn compare_of(before: &Run, after: &Run, top: usize) -> CompareReport {
    detailed([before, after], (measured(before), measured(after)), top, &[])
}

fn measured(run: &Run) -> Vec<RunRow> {
    vec![scaling::measure::measure(run, Read { darshan: run.was_log(), ..Read::default() })]
}

/// Compares the two given runs in detail. At job level, compares all repeated runs of both sides (`measured`), which the two given runs
/// represent. `dirs`: directories with debug information.
fn detailed(
    [before, after]: [&Run; 2],
    measured: (Vec<RunRow>, Vec<RunRow>),
    top: usize,
    dirs: &[PathBuf],
) -> CompareReport {
    let least = &before.thresholds;
    let read = |run: &Run, what| measure(run, &Bar::new(run.segments(), what));
    let (one, two) = (read(before, "first run"), read(after, "second run"));
    let (ours, theirs): (Vec<FileId>, Vec<FileId>) =
        (one.files.keys().copied().collect(), two.files.keys().copied().collect());
    let mut found = matched(&names(before, &ours), &names(after, &theirs));
    let bytes = |side: &Side, kept: &[FileId], place: usize| {
        kept.get(place).and_then(|file| side.files.get(file)).map_or(0, FileSum::bytes)
    };
    found.find_set(|place| bytes(&one, &ours, place), |place| bytes(&two, &theirs, place));
    let kept = (ours.as_slice(), theirs.as_slice());
    let mut setup = setup::setup(before, after);
    setup.extend(setup::aggregators(&one.aggregators, &two.aggregators));
    let mut result = Comparison {
        job: Job::of(&measured.0, &measured.1, least),
        setup,
        hints: setup::hints(before, after, kept, &found),
        layouts: setup::layouts(before, after, kept, &found),
        operations: operations::rows(&one, &two, least),
        ranks: by_unit::ranks(&one, &two, least),
        files: by_unit::files((before, after), (&one, &two), kept, &found, least),
        places: places::rows(before, after, dirs),
        tests: 0,
        before: run_part(before, &one),
        after: run_part(after, &two),
        findings: Vec::new(),
    };
    verdict::judge(&mut result, least);
    let missing = [&result.before, &result.after].map(|part| part.missing.findings());
    result.findings.extend(missing.into_iter().flatten());
    findings::sort(&mut result.findings);
    CompareReport { result, top, detailed: None, figures: Vec::new() }
}

fn names<'a>(run: &'a Run, files: &[FileId]) -> Vec<&'a str> {
    files.iter().map(|file| run.file_name(*file)).collect()
}

fn run_part(run: &Run, side: &Side) -> RunPart {
    RunPart {
        key: run.info.key.clone(),
        ranks: run.ranks(),
        processes: run.process_count(),
        nodes: run.node_count(),
        time_ns: side.time_ns,
        missing: Completeness::of(run, &side.lost),
    }
}

impl Outcome for CompareReport {
    fn findings(&self) -> &[Finding] {
        &self.result.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.before.missing, &self.result.after.missing]
    }
}

impl Report for CompareReport {
    fn view(&self) -> View {
        let result = &self.result;
        let mut parts: Vec<Part> = result.before.missing.scope_part().into_iter().collect();
        let run = |part: &RunPart| {
            format!(
                "{}: {} {}, {} {} on {}, {} in calls",
                part.key,
                part.ranks,
                units::agree(part.ranks, "rank", "ranks"),
                part.processes,
                units::agree(part.processes, "process", "processes"),
                units::nodes(part.nodes),
                units::duration(part.time_ns)
            )
        };
        parts.push(Part::Pairs(vec![("Before", run(&result.before)), ("After", run(&result.after))]));
        parts.extend(super::job_view::parts(&result.job, self.detailed.as_ref()));
        parts.extend(self.figures.iter().cloned().map(|figure| Part::Figure(Box::new(figure))));
        parts.push(Part::Table(operation_table(&result.operations)));
        parts.push(Part::Table(unit_table(&result.ranks, "ranks", "Ranks: reads and writes", self.top)));
        parts.push(Part::Table(unit_table(&result.files, "files", "Files", self.top)));
        parts.push(Part::Table(place_table(&result.places, self.top)));
        parts.push(Part::Table(changed_table(&result.setup, "setup", "Other differences")));
        parts.push(Part::Table(changed_table(&result.hints, "hints", "Hints that differ")));
        parts.push(Part::Table(changed_table(&result.layouts, "layouts", "Stripe layouts that differ")));
        parts.push(Part::Lines(vec![format!(
            "{} {}; q is the false discovery rate over all tests (Benjamini & Hochberg). A small q means that these two traces \
             differ; it does not predict a third run.",
            result.tests,
            units::agree(result.tests, "test", "tests")
        )]));
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.before.missing.parts());
        parts.extend(result.after.missing.parts());
        View { parts, max_width: None }
    }
}

fn operation_table(rows: &[OperationRow]) -> Table {
    let mean = |sum: &Totalled| Cell::maybe(sum.time_ns.checked_div(sum.calls), Cell::Duration);
    let rate = |row: &OperationRow, sum: &Totalled| Cell::maybe(sum.bandwidth().filter(|_| row.is_data), Cell::Rate);
    let slower = |over: Option<Over>| Cell::maybe(over, |over| Cell::Times(over.slower));
    let chance = |over: Option<Over>| Cell::maybe(over, |over| Cell::Text(units::chance(over.q)));
    let title =
        "Operations: how many times slower now, by the median over calls (Slower) and over the ranks' means (Ranks)";
    Table::of("operations", title, rows)
        .column("Operation", "operation", |row| Cell::Text(row.group.title()))
        .column("Calls", "calls_before", |row| Cell::Count(row.before.calls))
        .csv("bytes_before", |row| Cell::Bytes(row.before.bytes))
        .column("Time", "time_before_s", |row| Cell::Duration(row.before.time_ns))
        .column("Mean", "mean_before_s", |row| mean(&row.before))
        .csv("bandwidth_before_bytes_per_s", |row| rate(row, &row.before))
        .column("Calls now", "calls_after", |row| Cell::Count(row.after.calls))
        .csv("bytes_after", |row| Cell::Bytes(row.after.bytes))
        .column("Time now", "time_after_s", |row| Cell::Duration(row.after.time_ns))
        .column("Mean now", "mean_after_s", |row| mean(&row.after))
        .csv("bandwidth_after_bytes_per_s", |row| rate(row, &row.after))
        .column("Slower", "slower_calls", |row| slower(row.calls))
        .column("q", "q_calls", |row| chance(row.calls))
        .column("Ranks", "slower_ranks", |row| slower(row.ranks))
        .column("q", "q_ranks", |row| chance(row.ranks))
        .column("Verdict", "verdict", |row| Cell::text(row.verdict.name()))
        .done()
}

fn unit_table(all: &Units, name: &'static str, title: &str, top: usize) -> Table {
    let (who, unit, matched_by) = if name == "files" { ("File", "file", "Matched by") } else { ("Rank", "rank", "") };
    let test = all.test.map_or(String::new(), |over| {
        let (slower, pairs, q) = (over.slower, over.sample.0, units::chance(over.q));
        let of = units::agree(pairs, "pair", "pairs");
        format!(", {slower:.2} times slower than before in the median of {pairs} {of}, signed-rank test: q-value {q}")
    });
    let count = |of: Option<Totalled>| Cell::maybe(of, |sum| Cell::Count(sum.calls));
    let bytes = |of: Option<Totalled>| Cell::maybe(of, |sum| Cell::Bytes(sum.bytes));
    let time = |of: Option<Totalled>| Cell::maybe(of, |sum| Cell::Duration(sum.time_ns));
    Table::of(name, format!("{title}{test}"), &all.rows)
        .column(who, unit, |row| Cell::path(&row.unit))
        .column(matched_by, "matched_by", |row| Cell::text(how(row)))
        .csv("file_after", |row| Cell::maybe(row.other.as_ref(), Cell::path))
        .column("Calls", "calls_before", |row| count(row.before))
        .column("Bytes", "bytes_before", |row| bytes(row.before))
        .column("Time", "time_before_s", |row| time(row.before))
        .column("Calls now", "calls_after", |row| count(row.after))
        .column("Bytes now", "bytes_after", |row| bytes(row.after))
        .column("Time now", "time_after_s", |row| time(row.after))
        .column("Slower", "slower", |row| Cell::maybe(row.slower, Cell::Times))
        .csv("verdict", |row| Cell::text(if row.outlier { "slower than the rest" } else { "" }))
        .most(top)
        .done()
}

fn place_table(rows: &[PlaceRow], top: usize) -> Table {
    let of = |sum: Option<Totalled>| sum.unwrap_or_default();
    Table::of("places", "Places in the program: calls of each operation, largest difference of time first", rows)
        .column("Place", "place", |row| Cell::Text(row.place.shown()))
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Operation", "operation", |row| Cell::text(&row.operation))
        .column("Calls", "calls_before", move |row| Cell::Count(of(row.before).calls))
        .column("Bytes", "bytes_before", move |row| Cell::Bytes(of(row.before).bytes))
        .column("Time", "time_before_s", move |row| Cell::Duration(of(row.before).time_ns))
        .column("Calls now", "calls_after", move |row| Cell::Count(of(row.after).calls))
        .column("Bytes now", "bytes_after", move |row| Cell::Bytes(of(row.after).bytes))
        .column("Time now", "time_after_s", move |row| Cell::Duration(of(row.after).time_ns))
        .column("Through", "through", |row| Cell::text(row.through.as_deref().unwrap_or_default()))
        .column("Called by", "callers", |row| Cell::Text(row.callers.join(" < ")))
        .most(top)
        .done()
}

fn how(row: &UnitRow) -> &'static str {
    match (row.matched_by, row.before, row.after) {
        (Some(how), ..) => How::name(how),
        (None, None, _) => "new",
        (None, _, None) => "gone",
        _ => "",
    }
}

fn changed_table(all: &[Changed], name: &'static str, title: &str) -> Table {
    Table::of(name, title, all)
        .column("What", "what", |one| Cell::text(&one.what))
        .column("Before", "before", |one| Cell::text(&one.before))
        .column("After", "after", |one| Cell::text(&one.after))
        .done()
}
