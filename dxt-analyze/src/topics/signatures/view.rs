//! Command `signatures`: one pass over the trace (two with verification), and the output of its result.

use super::args::{Args, Options};
use super::axes::columns;
use super::pass::{Apart, Signed, Signing};
use super::result::Signatures;
use super::words::shown;
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Figure, Part, Report, Table, View};
use crate::scan::{Lost, scan};
use crate::shared::ratio::share;
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::verdict;
use anyhow::Result;
use iosig::Limits;
use serde::Serialize;

/// Result of `signatures`, and the number of rows to display.
#[derive(Clone, Debug, Serialize)]
pub struct SignaturesReport {
    /// Result of the command: signatures and advice.
    #[serde(flatten)]
    pub result: Signatures,
    /// Maximum number of rows per table.
    #[serde(skip)]
    pub top: usize,
    /// Findings on the trace itself, and findings from the advice.
    pub findings: Vec<Finding>,
    /// Figures of one file, for the HTML page.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

impl SignaturesReport {
    pub(super) fn of(result: Signatures, options: &Options) -> Self {
        let mut findings = result.missing.findings();
        findings.extend(result.advice.findings());
        Self { findings, result, top: options.top, figures: Vec::new() }
    }
}

/// Loads a run and recognises its signatures.
///
/// # Errors
/// Returns an error if the inputs cannot be loaded, if the stripe layouts are invalid, or if an output file exists or cannot be written.
pub fn signatures(args: &Args) -> Result<SignaturesReport> {
    args.files.check()?;
    let mut run = crate::session::open(&args.inputs)?;
    if args.layout.is_some() {
        let layouts = crate::session::layouts(&run, args.layout.as_deref())?;
        for (file, layout) in run.files.iter_mut().zip(crate::layouts::certain(layouts)) {
            file.layout = layout;
        }
    }
    let (signed, apart, lost) = recognised(&run);
    args.files.write(&run, &signed, &args.options)?;
    let mut report = whole(&run, &signed, apart, &lost, &args.options);
    verdict::price(&run, args.layout.as_deref(), &args.output, &mut report.findings)?;
    Ok(report)
}

/// Builds the report. Reads the trace again for the verification, if requested, and for advice that needs a replay.
fn whole(run: &Run, signed: &[Signed], apart: Apart, lost: &Lost, options: &Options) -> SignaturesReport {
    let mut result = Signatures::of(run, signed, apart, lost, options);
    result.advice.replay(run);
    SignaturesReport::of(result, options)
}

/// Returns all signatures, the numbers of calls that signatures omit or represent inexactly, and the parts of the trace that could not be
/// read.
fn recognised(run: &Run) -> (Vec<Signed>, Apart, Lost) {
    let bar = Bar::new(run.segments(), "signatures");
    let (partial, lost) = scan(run, &Signing { limits: Limits::default() }, &bar);
    drop(bar);
    let (signed, apart) = partial.signatures();
    (signed, apart, lost)
}

/// Recognises the signatures of a loaded run.
#[must_use]
pub fn signatures_of(run: &Run, options: &Options) -> SignaturesReport {
    let (signed, apart, lost) = recognised(run);
    whole(run, &signed, apart, &lost, options)
}

impl Outcome for SignaturesReport {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn complete(&self) -> bool {
        self.result.missing.complete && self.result.verified.is_none_or(|verified| verified.wrong == 0)
    }

    fn untimed(&self) -> bool {
        self.result.missing.untimed
    }
}

impl Report for SignaturesReport {
    fn view(&self) -> View {
        let result = &self.result;
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(layers(result)));
        parts.push(Part::Table(super::merged::table(&result.global, self.top)));
        parts.push(Part::Table(local(result, self.top)));
        parts.extend(result.advice.parts(self.top));
        let lines = remarks(result);
        parts.extend((!lines.is_empty()).then_some(Part::Lines(lines)));
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(result.missing.parts());
        parts.extend(self.figures.iter().map(|figure| Part::Figure(Box::new(figure.clone()))));
        View { parts, max_width: None }
    }
}

fn layers(result: &Signatures) -> Table {
    Table::of("layers", "Reads and writes that patterns reproduce exactly", &result.layers)
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Inside another", "inside", |row| Cell::text(if row.inside { "yes" } else { "" }))
        .column("Calls", "accesses", |row| Cell::Count(row.accesses))
        .column("in patterns", "covered_share", |row| Cell::Share(share(row.covered, row.accesses)))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("in patterns", "covered_bytes_share", |row| Cell::Share(share(row.covered_bytes, row.bytes)))
        .column("Patterns", "patterns", |row| Cell::Count(row.patterns))
        .done()
}

fn local(result: &Signatures, top: usize) -> Table {
    let table = Table::of("local", "Signatures by process, file and interface, most bytes first", result.local.iter())
        .column("Process", "process", |row| Cell::text(&row.process))
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .csv("thread", |row| Cell::Count(u64::from(row.thread)))
        .csv("inside", |row| Cell::text(if row.inside { "yes" } else { "" }))
        .column("Calls", "accesses", |row| Cell::Count(row.accesses))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Begins", "start_ns", |row| Cell::Moment(row.start_ns))
        .csv("last_start_ns", |row| Cell::Moment(row.last_start_ns))
        .csv("end_ns", |row| Cell::Moment(row.end_ns));
    columns(table, |row| &row.axes)
        .column("Signature", "signature", |row| Cell::text(shown(&row.signature, &row.axes)))
        .most(top)
        .done()
}

fn remarks(result: &Signatures) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(verified) = result.verified {
        let right = if verified.wrong == 0 {
            "correct".to_owned()
        } else {
            format!("WRONG for {}", units::counted(verified.wrong, "call"))
        };
        out.push(format!(
            "verified: the signatures are {right}; they reproduce, in the recorded order, {:.2} % of {} reads and writes and {:.2} % of {}. Opens, seeks, syncs and \
             metadata calls are not part of signatures.",
            share(verified.covered, verified.accesses) * 100.0,
            units::count(verified.accesses),
            share(verified.covered_bytes, verified.bytes) * 100.0,
            units::bytes(verified.bytes)
        ));
    }
    if result.no_offset > 0 {
        out.push(format!(
            "{} have no recorded offset and are in no signature",
            units::counted(result.no_offset, "call")
        ));
    }
    if result.by_start > 0 {
        let late = match result.late {
            0 => String::new(),
            late => format!("; {} could not be sorted, because too many calls overlap", units::counted(late, "call")),
        };
        out.push(format!(
            "{} are sorted by start time before patterns are searched, since the calls may overlap in time (the log does not distinguish threads, or the \
             files have nonblocking operations){late}",
            units::counted(result.by_start, "call")
        ));
    }
    if result.view_unknown > 0 {
        out.push(format!(
            "{} were made under MPI-IO file views that are unknown, or that do not repeat blocks at a fixed distance: only the offset of the first byte and the length of these calls are known",
            units::counted(result.view_unknown, "call")
        ));
    }
    if result.too_many_files > 0 {
        out.push(format!(
            "{} are in no signature, because a thread uses more files than are tracked",
            units::counted(result.too_many_files, "call")
        ));
    }
    out
}
