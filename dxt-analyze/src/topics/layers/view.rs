//! Command `layers`: one pass over the trace, and the output of its result.

use super::args::{Args, Options};
use super::{figure, tables, tables_locks, tables_together as together};
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Part, Report, View};
use crate::scan::scan;
use crate::shared::bandwidth::table;
use crate::shared::completeness::Completeness;
use crate::shared::totals::{Totals, with_missing};
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::layers::pass::Pass;
use crate::topics::layers::result::Layers;
use crate::topics::verdict;
use anyhow::Result;
use serde::Serialize;

/// Result of `layers`, with the number of rows to display.
#[derive(Debug, Serialize)]
pub struct LayersReport {
    /// Result of the command `layers`, with findings.
    #[serde(flatten)]
    pub result: Layers,
    /// Maximum number of rows per table.
    #[serde(skip)]
    pub top: usize,
}

/// Loads a run, and breaks its MPI-IO and HDF5 calls down into the calls made inside them.
///
/// # Errors
/// Returns an error if the inputs or the layouts cannot be loaded.
pub fn layers(args: &Args) -> Result<LayersReport> {
    let run = crate::session::open(&args.inputs)?;
    let mut report = layers_of(&run, &args.options)?;
    verdict::price(&run, args.options.layout.as_deref(), &args.output, &mut report.result.findings)?;
    Ok(report)
}

/// Breaks the MPI-IO and HDF5 calls of a loaded run down into the calls made inside them.
///
/// # Errors
/// Returns an error if the file with stripe layouts cannot be read.
pub fn layers_of(run: &Run, options: &Options) -> Result<LayersReport> {
    let (layouts, top) = (crate::session::layouts(run, options.layout.as_deref())?, options.top);
    let bar = Bar::new(run.segments(), "layers");
    let ((partial, totals), lost) = scan(run, &(Pass::new(run), Totals), &bar);
    drop(bar);
    let mut result = Layers::of(run, &layouts, partial, &with_missing(run, totals), &lost, top);
    result.layers.iter_mut().for_each(|row| row.bandwidth.measure(options.peak));
    Ok(LayersReport { result, top })
}

impl Outcome for LayersReport {
    fn findings(&self) -> &[Finding] {
        &self.result.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.missing]
    }
}

impl Report for LayersReport {
    fn view(&self) -> View {
        let (result, top) = (&self.result, self.top);
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(table::whole(&result.layers)));
        let all = [
            tables::calls(&result.calls),
            tables_locks::locks(result),
            tables::ranks(&result.ranks, &result.job, top),
            tables::files(&result.files, top),
            together::collective_files(&result.collective_files, top),
            together::means(&result.collective_files, top),
            together::aggregators(&result.collective_files, top),
            together::collectives(&result.collectives),
            together::late(&result.collectives),
            together::concurrency(&result.concurrency),
        ];
        parts.extend(all.map(Part::Table));
        parts.extend(collectives_line(result));
        parts.extend(figure::lines(&result.series, &result.concurrency).map(Part::Pairs));
        parts.extend(figure::figure(&result.series, &result.concurrency).map(|figure| Part::Figure(Box::new(figure))));
        parts.push(Part::Table(together::series(&result.series, &result.concurrency)));
        let remarks = remarks(result);
        parts.extend((!remarks.is_empty()).then_some(Part::Lines(remarks)));
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

fn collectives_line(result: &Layers) -> Option<Part> {
    let all = &result.collectives;
    let line = format!(
        "{} took {} of wall-clock time: {} until the last rank arrived, {} in system calls of the busiest \
         rank, {} outside POSIX (communication, locks, copies). All ranks together waited {} for the last rank.",
        units::counted(all.followed, "collective operation"),
        units::duration(all.wall_ns),
        units::duration(all.skew_ns),
        units::duration(all.storage_ns),
        units::duration(all.rest_ns),
        units::duration(all.wait_ns)
    );
    (all.followed > 0).then(|| Part::Lines(vec![line]))
}

fn remarks(result: &Layers) -> Vec<String> {
    let mut out = Vec::new();
    if result.ranks.is_empty() {
        out.push("no calls of MPI-IO or HDF5: there is nothing to break down".into());
    }
    if result.job.folded > 0 {
        out.push(format!(
            "{} {} only counters: the table of ranks includes their time, the table of calls does not; system calls that \
             have only counters are assumed to be inside MPI-IO reads and writes",
            units::counted(result.job.folded, "MPI-IO call"),
            units::agree(result.job.folded, "has", "have")
        ));
    }
    let elsewhere = result.elsewhere.system_calls();
    if elsewhere > 0 {
        out.push(format!(
            "{} ({}) {} made inside other MPI calls (such as MPI_Init) or inside calls that are not recorded",
            units::counted(elsewhere, "system call"),
            units::duration(result.elsewhere.system_ns()),
            units::agree(elsewhere, "was", "were")
        ));
    }
    if result.unsure > 0 {
        out.push(format!(
            "{} {} taken as made inside an MPI-IO or HDF5 call that may have begun later",
            units::counted(result.unsure, "system call"),
            units::agree(result.unsure, "is", "are")
        ));
    }
    if let Some(why) = &result.collectives.not_matched {
        out.push(format!("some collective operations are not matched across ranks: {why}"));
    }
    if result.collectives.followed_one_in > 1 {
        out.push(format!(
            "too many collective operations to track all: sums and slowest operations are those of 1 in {} operations (chosen by hash)",
            result.collectives.followed_one_in
        ));
    }
    if result.concurrency.iter().any(|row| !row.exact) {
        out.push(
            "numbers of calls in flight are estimates from means over short time bins; the maximum is a lower bound"
                .into(),
        );
    }
    out
}
