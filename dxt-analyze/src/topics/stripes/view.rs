//! Command `stripes`: the passes over the trace, and the tables of the result.

use super::args::{Args, Options};
use super::tables::{file_table, load_part, moment_table, pace_table, stripe_table, target_table};
use super::trials::tables::{trial_lines, trial_table};
use crate::exit::UsageError;
use crate::findings::{self, Finding};
use crate::limits::TRIAL_FILES;
use crate::model::{FileId, FileLayout, LayoutOrigin, Origin, Run};
use crate::progress::Bar;
use crate::render::{Part, Report, View};
use crate::scan::{Lost, scan};
use crate::shared::completeness::Completeness;
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::stripes::audit::{self, Audit, FileAudit};
use crate::topics::stripes::load::Rows;
use crate::topics::stripes::result::{Found, Stripes, files};
use crate::topics::stripes::trials::plan::{self, Candidate, Plan};
use crate::topics::stripes::trials::replay::{Replay, Wanted};
use crate::topics::stripes::trials::result::{FileTrials, results};
use crate::topics::stripes::{advice, conflicts, overlap};
use crate::topics::verdict;
use anyhow::Result;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Result of `stripes`, and the number of files to display.
#[derive(Debug, Serialize)]
pub struct StripesReport {
    /// Result of the stripe audit.
    #[serde(flatten)]
    pub result: Stripes,
    /// Maximum number of files shown in a table.
    #[serde(skip)]
    pub top: usize,
}

/// Loads a run and audits the stripes of its files.
///
/// # Errors
/// Fails if nothing can be loaded or the layouts are invalid.
pub fn stripes(args: &Args) -> Result<StripesReport> {
    let run = crate::session::open(&args.inputs)?;
    let mut report = stripes_of(&run, &args.options)?;
    verdict::price(&run, args.options.layout.as_deref(), &args.output, &mut report.result.findings)?;
    Ok(report)
}

/// Audits the stripes of a loaded run's files.
///
/// # Errors
/// Fails if the layouts are invalid.
pub fn stripes_of(run: &Run, args: &Options) -> Result<StripesReport> {
    let layouts = crate::session::layouts(run, args.layout.as_deref())?;
    let bar = Bar::new(run.segments(), "stripes");
    let audit = Audit { layouts: &layouts, rows: Rows::new(run, &layouts) };
    let (partial, lost) = scan(run, &audit, &bar);
    drop(bar);
    stripes_from(run, args, &audit, partial, &lost)
}

/// Completes the audit after the first scan: scans the trace again for contested stripes (several processes wrote a part of them) and, if
/// requested, to simulate other layouts.
pub(crate) fn stripes_from(
    run: &Run,
    args: &Options,
    audit: &Audit<'_>,
    mut partial: audit::Partial,
    lost: &Lost,
) -> Result<StripesReport> {
    let layouts = audit.layouts;
    partial.followed.settle();
    let ost_load = partial.load.part(&audit.rows);
    let mut found = Found {
        files: partial.files,
        contested: partial.followed.contested(),
        followed_one_in: partial.followed.one_in(),
        ..Found::default()
    };
    let followed_one_in = found.followed_one_in;
    drop(partial.followed);
    let nodes: Vec<u32> = run.processes.iter().map(|process| process.node).collect();
    let plan = overlap::plan(&found.contested);
    for batch in &plan.batches {
        let bar = Bar::new(run.segments(), "shared stripes");
        let (writes, _) = scan(run, &overlap::Collect::new(layouts, batch), &bar);
        found.conflicts.extend(conflicts::conflicts(batch, &writes, &nodes, &mut found.handovers));
    }
    found.left_over = plan.left_over;
    let what_if = trials(run, layouts, &found.files, args)?;
    let mut with_data: Vec<FileId> = run
        .processes
        .iter()
        .flat_map(|process| &process.streams)
        .filter(|stream| stream.storage && layouts.get(stream.file.index()).is_none_or(Option::is_none))
        .map(|stream| stream.file)
        .collect();
    with_data.sort_unstable();
    with_data.dedup();
    let names = with_data.iter().filter_map(|file| run.file(*file));
    let mut result = Stripes {
        files: files(run, layouts, found, args.top),
        without_layout: names.map(|file| file.name.clone()).collect(),
        followed_one_in,
        what_if,
        ost_load,
        missing: Completeness::of(run, lost),
        findings: Vec::new(),
    };
    result.findings = advice::findings(&result, &run.thresholds);
    result.findings.extend(result.missing.findings());
    findings::sort(&mut result.findings);
    Ok(StripesReport { result, top: args.top })
}

/// Simulates other layouts for the files with most I/O time, if the user requested it.
fn trials(
    run: &Run,
    layouts: &[Option<FileLayout>],
    files: &FxHashMap<FileId, FileAudit>,
    args: &Options,
) -> Result<Vec<FileTrials>> {
    let asked = args.what_if.iter().map(|text| plan::parse(text).map_err(|error| UsageError(format!("{error:#}"))));
    let mut candidates = asked.collect::<Result<Vec<Candidate>, UsageError>>()?;
    if args.recommend {
        let mut osts = plan::known_osts(layouts);
        osts.extend(candidates.iter().flat_map(|candidate| candidate.osts.iter().copied()));
        osts.sort_unstable();
        osts.dedup();
        candidates.extend(plan::grid(&osts));
    }
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut by_time: Vec<(&FileId, &FileAudit)> = files.iter().collect();
    by_time.sort_unstable_by_key(|(file, audit)| (std::cmp::Reverse(audit.time_ns), **file));
    let chosen = by_time.into_iter().take(TRIAL_FILES);
    let wanted = |(file, audit): (&FileId, &FileAudit)| Wanted {
        file: *file,
        operations: audit.reads.saturating_add(audit.writes),
        span: None,
    };
    let chosen: Vec<Wanted> = chosen.map(wanted).collect();
    let plan = Plan::new(candidates);
    let replay = Replay::new(run, layouts, &plan, &chosen);
    let bar = Bar::new(run.segments(), "other layouts");
    let (tallies, _) = scan(run, &replay, &bar);
    Ok(results(run, layouts, &replay, tallies, args.recommend))
}

impl Outcome for StripesReport {
    fn findings(&self) -> &[Finding] {
        &self.result.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.missing]
    }
}

impl Report for StripesReport {
    fn view(&self) -> View {
        let result = &self.result;
        let shown = || result.files.iter().take(self.top);
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        parts.push(Part::Table(file_table(&result.files, self.top)));
        parts.extend([stripe_table(shown()), target_table(shown()), trial_table(&result.what_if)].map(Part::Table));
        if !result.what_if.is_empty() {
            parts.push(Part::Lines(trial_lines(&result.what_if)));
        }
        parts.push(Part::Table(moment_table(result.ost_load.as_ref())));
        parts.extend(result.ost_load.as_ref().map(load_part));
        parts.push(Part::Table(pace_table(shown())));
        let advice: Vec<String> = shown()
            .filter(|file| !file.advice.is_empty())
            .flat_map(|file| {
                std::iter::once(format!("Changes proposed for {}:", file.file))
                    .chain(file.advice.iter().map(|line| format!("  {line}")))
            })
            .collect();
        if !advice.is_empty() {
            parts.push(Part::Lines(advice));
        }
        let remarks = remarks(result, self.top);
        if !remarks.is_empty() {
            parts.push(Part::Lines(remarks));
        }
        parts.push(Part::Findings(result.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

fn remarks(result: &Stripes, top: usize) -> Vec<String> {
    let mut out = Vec::new();
    if result.missing.counted_operations > 0 {
        let (have, are) = units::agree(result.missing.counted_operations, ("has", "is"), ("have", "are"));
        out.push(format!(
            "{} {have} only counters and no offsets ({}), and {are} not in this audit. `dxt-analyze summary` shows how many accesses \
             do not begin at a stripe boundary.",
            units::counted(result.missing.counted_operations, "operation"),
            match result.missing.origin {
                Origin::Trace => "DXT_ENABLE=counters",
                Origin::Darshan => "not in DXT",
            }
        ));
    }
    if result.files.iter().any(|file| file.layout.origin == LayoutOrigin::Guess) {
        out.push(
            "guess: the layout is not known; the file's preferred I/O size (st_blksize) is used as the stripe size. Give the \
             layout with --layout FILE."
                .into(),
        );
    }
    if let Some((file, why)) = result.files.iter().find_map(|file| Some((file, file.layout_problem.as_ref()?))) {
        out.push(format!("the layout of {} in the trace cannot be used: {why}", file.file));
    }
    if let Some(file) = result.files.iter().find(|file| file.reads > 0 && file.layout.mirrors_in_use.len() > 1) {
        out.push(format!(
            "{} has {} mirrors with current data: reads may have used any mirror; this audit assigns reads to the preferred \
             mirror, or else to the first",
            file.file,
            file.layout.mirrors_in_use.len()
        ));
    }
    if result.files.len() > top {
        let more = result.files.len() - top;
        let files = units::agree(more as u64, "file", "files");
        out.push(format!("{more} more {files}: --top N, or --format json"));
    }
    if let Some(first) = result.without_layout.first() {
        let count = result.without_layout.len();
        out.push(format!(
            "not audited: {} without any layout, for example {first}",
            units::counted(count as u64, "file")
        ));
    }
    if result.followed_one_in > 1 {
        out.push(format!(
            "too many partly written stripes to track all: shared stripes were searched in 1 of {} stripes (chosen by hash), and \
             their numbers and times are estimates: {0} times those of the sample",
            result.followed_one_in
        ));
    }
    let left: u64 = result.files.iter().map(|file| file.sharing.not_examined).sum();
    if left > 0 {
        out.push(format!(
            "{left} {} not examined for overlap in time (there are too many)",
            units::agree(left, "stripe written by several processes was", "stripes written by several processes were")
        ));
    }
    out
}
