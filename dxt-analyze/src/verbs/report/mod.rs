//! `report`: one self-contained HTML page. `sections` lists what stands on it, `verdict` its first screen, `data` what its charts
//! draw, `html` how views become tables, `page` how all that becomes one file.

pub(super) mod data;
mod html;
mod page;
pub(super) mod sections;
mod verdict;

use super::TimelineReport;
use crate::cli::ReportArgs;
use crate::exit::Exit;
use crate::findings::Finding;
use crate::load::Run;
use crate::render::units;
use anyhow::{Context, Result};
use data::PageData;
use sections::Settings;
use std::path::Path;

/// A page, and what decides the exit code.
#[derive(Debug)]
pub struct Page {
    /// The HTML.
    pub html: String,
    /// Findings of all sections, the most severe first.
    pub findings: Vec<Finding>,
    /// Whether nothing is missing from the trace.
    pub complete: bool,
}

/// Loads, and writes the page.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or the page cannot be written.
pub fn report(args: &ReportArgs) -> Result<Exit> {
    let run = super::open(&args.inputs)?;
    let page = page_of(&run, args.layout.as_deref(), args.top)?;
    let place = args.output.display();
    std::fs::write(&args.output, &page.html).with_context(|| format!("failed to write {place}"))?;
    eprintln!("wrote {place} ({})", units::bytes(page.html.len() as u64));
    let fails = args.fail_on.is_some_and(|least| page.findings.iter().any(|finding| finding.severity >= least));
    Ok(match (fails, page.complete) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Fine,
    })
}

/// The page of a run that is loaded, as it is opened from disk.
///
/// # Errors
/// If the layouts make no sense.
pub fn page_of(run: &Run, layout: Option<&Path>, top: usize) -> Result<Page> {
    let (data, timeline, settings) = prepare(run, layout, top)?;
    make(run, &settings, data, &timeline)
}

/// What the charts draw, and the settings of all sections.
pub(super) fn prepare(run: &Run, layout: Option<&Path>, top: usize) -> Result<(PageData, TimelineReport, Settings)> {
    let layouts = super::layouts(run, layout)?;
    let (data, timeline) = PageData::of(run, &layouts);
    Ok((data, timeline, Settings { layout: layout.map(Path::to_path_buf), top }))
}

/// Runs the sections and puts the page together.
pub(super) fn make(run: &Run, settings: &Settings, mut data: PageData, timeline: &TimelineReport) -> Result<Page> {
    let mut sections = sections::all(run, settings, timeline)?;
    data.boxes = std::mem::take(&mut sections.boxes);
    let mut findings: Vec<Finding> = Vec::new();
    for section in &sections.list {
        for finding in &section.findings {
            if !findings.contains(finding) {
                findings.push(finding.clone());
            }
        }
    }
    crate::findings::sort(&mut findings);
    let verdict = verdict::verdict(&findings, &sections.summary);
    let html = page::assemble(&verdict, &sections, &data)?;
    Ok(Page { html, findings, complete: sections.summary.missing.complete })
}
