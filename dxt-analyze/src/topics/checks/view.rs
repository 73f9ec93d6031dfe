//! Command `checks`: one pass over the trace in call order, all checks, and the output of their results.

use super::args::{Args, Options};
use crate::findings::{self, Finding};
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View, table};
use crate::scan::{Lost, scan};
use crate::shared::completeness::Completeness;
use crate::shared::memory;
use crate::shared::profiles;
use crate::shared::totals::{StreamTotal, Totals, with_missing};
use crate::sum::Sum;
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::checks::gaps::{Gap, Slots, Timeline, phases};
use crate::topics::checks::result::{Amount, Checks, Condition, Verdict};
use crate::topics::checks::walk::{self, Walk};
use crate::topics::checks::{Measured, calls, counted, judge};
use crate::topics::verdict;
use anyhow::Result;
use serde::Serialize;

/// Maximum number of gaps without I/O listed in JSON and CSV.
const LISTED_GAPS: usize = 100;
/// Maximum number of gaps without I/O in the terminal's table.
const SHOWN_GAPS: usize = 5;

/// Result of `checks`, with the choice of rows to display.
#[derive(Debug, Serialize)]
pub struct ChecksReport {
    /// Result of the checks.
    #[serde(flatten)]
    pub result: Checks,
    /// True to display checks that were not applicable as well.
    #[serde(skip)]
    pub all: bool,
}

/// Loads a run and runs all checks on it.
///
/// # Errors
/// Returns an error if the inputs cannot be loaded.
pub fn checks(args: &Args) -> Result<ChecksReport> {
    let run = crate::session::open(&args.inputs)?;
    if !args.output.needs_findings() {
        return Ok(checks_of(&run, &args.options));
    }
    let report = verdict::with_prices(&run, None, |whole| whole.checks, |report| &mut report.result.findings)?;
    Ok(ChecksReport { all: args.options.all, ..report })
}

/// Runs all checks on a loaded run.
#[must_use]
pub fn checks_of(run: &Run, args: &Options) -> ChecksReport {
    let timeline = Timeline::new(run);
    let bar = Bar::new(run.segments(), "checks");
    let analysis = (Totals, (Walk::new(run), timeline));
    let ((totals, (walked, slots)), lost) = scan(run, &analysis, &bar);
    drop(bar);
    checks_from(run, args.all, &with_missing(run, totals), walked, (&timeline, &slots), &lost)
}

/// Runs all checks on the results of a finished pass over the trace, and returns their result.
pub(crate) fn checks_from(
    run: &Run,
    all: bool,
    totals: &[StreamTotal],
    mut walked: walk::Partial,
    (timeline, slots): (&Timeline, &Slots),
    lost: &Lost,
) -> ChecksReport {
    let least = &run.thresholds;
    walked.finish(least);
    counted::add_counters(run, &mut walked.files, least);
    let counted = profiles::counted(run);
    let [known, unaligned] = memory::of_run(run);
    let memory = counted.values().fold((known, unaligned), |sum, profile| {
        (sum.0.saturating_add(profile.memory_known), sum.1.saturating_add(profile.memory_unaligned))
    });
    let measured = Measured {
        run,
        least,
        calls: calls::sum(run, totals),
        files: walked.files.into_iter().collect(),
        common: walked.cells.common(),
        writers: walked.writers,
        phases: phases(timeline, slots),
        memory,
    };
    let verdicts = judge(&measured);
    let missing = Completeness::of(run, lost);
    let mut found = verdicts.findings;
    found.extend(missing.findings());
    findings::sort(&mut found);
    let mut gaps = measured.phases.gaps;
    gaps.truncate(LISTED_GAPS);
    let forgotten = measured.files.values().map(|file| file.forgotten).sum::<Sum>().get();
    let result = Checks {
        checks: verdicts.rows,
        gaps,
        cells_followed_one_in: walked.cells.followed_one_in(),
        forgotten_bytes: forgotten,
        missing,
        findings: found,
    };
    ChecksReport { result, all }
}

impl Outcome for ChecksReport {
    fn findings(&self) -> &[Finding] {
        &self.result.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.missing]
    }
}

impl Report for ChecksReport {
    fn view(&self) -> View {
        let result = &self.result;
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        let skipped = result.checks.iter().filter(|row| row.verdict == Verdict::NotApplicable).count();
        parts.push(Part::Table(self.table()));
        if skipped > 0 && !self.all {
            let checks = units::agree(skipped as u64, "check does", "checks do");
            parts.push(Part::Lines(vec![format!("{skipped} {checks} not apply to this run: --all shows why")]));
        }
        parts.push(Part::Table(gap_table(&result.gaps)));
        if let Some(line) = sampled(result) {
            parts.push(Part::Lines(vec![line]));
        }
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

impl ChecksReport {
    fn table(&self) -> Table {
        let shown = |verdict| self.all || verdict != Verdict::NotApplicable;
        Table::of("checks", "Checks", self.result.checks.iter().filter(|row| shown(row.verdict)))
            .column("Check", "check", |row| Cell::text(row.check))
            .column("Finding", "code", |row| Cell::text(row.code.name()))
            .column("Value", "value", |row| Cell::maybe(row.measured, cell))
            .column("Threshold", "threshold", |row| cell(row.threshold))
            .column("Also required", "also", |row| Cell::text(row.also.as_ref().map_or_else(String::new, both)))
            .csv("unit", |row| Cell::text(unit(row.threshold)))
            .csv("also_value", |row| Cell::maybe(row.also.as_ref(), |also| cell(also.measured)))
            .csv("also_threshold", |row| Cell::maybe(row.also.as_ref(), |also| cell(also.least)))
            .csv("also_unit", |row| Cell::maybe(row.also.as_ref(), |also| Cell::text(unit(also.least))))
            .column("Verdict", "verdict", |row| Cell::text(row.verdict.name()))
            .column("Data examined", "looked_at", |row| Cell::text(&row.looked_at))
            .done()
    }
}

/// Formats the second condition of a check (minimum amount, measured amount), such as `1,000 small calls, here 465`.
fn both(also: &Condition) -> String {
    let words = |amount| table::human(&cell(amount));
    format!("{} {}, here {}", words(also.least), also.what, words(also.measured))
}

/// Returns the name of an amount's unit for CSV.
fn unit(amount: Amount) -> &'static str {
    match amount {
        Amount::Ratio(_) => "ratio",
        Amount::Count(_) => "count",
        Amount::Bytes(_) => "bytes",
        Amount::Ns(_) => "s",
        Amount::PerSecond(_) => "per s",
    }
}

fn cell(amount: Amount) -> Cell {
    match amount {
        // Ratios of counts can exceed 1 and are displayed as a multiple; shares cannot exceed 1.
        Amount::Ratio(value) if value > 1.0 => Cell::Times(value),
        Amount::Ratio(value) => Cell::Share(value),
        Amount::Count(value) => Cell::Count(value),
        Amount::Bytes(value) => Cell::Bytes(value),
        Amount::Ns(value) => Cell::Duration(value),
        Amount::PerSecond(value) => Cell::Count(value as u64),
    }
}

fn gap_table(gaps: &[Gap]) -> Table {
    Table::of("gaps", "Longest gaps with no process in an I/O call", gaps)
        .column("From", "start_s", |gap| Cell::Moment(gap.start_ns))
        .column("To", "end_s", |gap| Cell::Moment(gap.end_ns))
        .column("Length", "length_s", |gap| Cell::Duration(gap.ns()))
        .most(SHOWN_GAPS)
        .done()
}

fn sampled(result: &Checks) -> Option<String> {
    let mut words = Vec::new();
    if result.cells_followed_one_in > 1 {
        words.push(format!(
            "bytes read by several ranks are estimated from 1 in {} parts of the files (chosen by hash)",
            result.cells_followed_one_in
        ));
    }
    if result.forgotten_bytes > 0 {
        words.push(format!(
            "the offsets of {} were dropped to limit memory: reread, read-back and overwritten bytes are lower bounds",
            units::bytes(result.forgotten_bytes)
        ));
    }
    (!words.is_empty()).then(|| words.join("; "))
}
