//! `report`: one self-contained HTML page. `sections` lists what stands on it, `verdict` its first screen, `data` what its charts
//! draw, `html` how views become tables, `page` how all that becomes one file.

pub(crate) mod charts;
mod document;
mod html;
mod passes;
pub(crate) mod sections;
mod verdict;

use crate::cli::args::ReportArgs;
use crate::exit::Exit;
use crate::findings::{Code, Finding};
use crate::model::Run;
use crate::render::{self, Part, Report, Style, View};
use crate::text::units;
use crate::topics::summary::result::Summary;
use crate::written::{Ours, Target};
use anyhow::Result;
use passes::Found;
use sections::Settings;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Rows listed by the analyses that findings without a page come from: what the page lists unless it is told otherwise.
const TOP: usize = 50;

/// A page, and what decides the exit code.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The HTML.
    #[serde(skip)]
    pub html: String,
    /// What its first screen says of the job.
    pub lead: String,
    /// The findings that cost most.
    pub verdict: Vec<Finding>,
    /// Findings of all sections, the most severe first.
    pub findings: Vec<Finding>,
    /// Whether nothing is missing from the trace.
    pub complete: bool,
}

/// Loads, and writes the page.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or the page cannot be written.
pub fn report(args: &ReportArgs, style: &Style, out: &mut dyn Write) -> Result<Exit> {
    let target = Target::new(&args.output, Ours::Page, args.force);
    target.check_early()?;
    let run = crate::session::open(&args.inputs)?;
    let page = page_of(&run, args.layout.as_deref(), args.top)?;
    let place = args.output.display();
    target.stream(|out| Ok(out.write_all(page.html.as_bytes())?))?;
    eprintln!("wrote {place} ({})", units::bytes(page.html.len() as u64));
    render::write(&page, style, out)?;
    let fails = args.fail_on.is_some_and(|least| page.findings.iter().any(|finding| finding.severity >= least));
    Ok(match (fails, page.complete) {
        (true, _) => Exit::Findings,
        (false, false) => Exit::Incomplete,
        (false, true) => Exit::Fine,
    })
}

impl Report for Page {
    fn view(&self) -> View {
        let mut parts = vec![Part::Lines(vec![self.lead.clone()])];
        if !self.verdict.is_empty() {
            parts.push(Part::Findings(self.verdict.clone()));
        }
        if self.findings.len() > self.verdict.len() {
            let more = self.findings.len() - self.verdict.len();
            parts.push(Part::Lines(vec![format!("{more} more on the page")]));
        }
        View { parts, max_width: None }
    }
}

/// The page of a run that is loaded, as it is opened from disk.
///
/// # Errors
/// If the layouts make no sense.
pub fn page_of(run: &Run, layout: Option<&Path>, top: usize) -> Result<Page> {
    make(run, layout, top, false)
}

/// The page; `tiles` if a server will give finer grids.
pub(crate) fn make(run: &Run, layout: Option<&Path>, top: usize, tiles: bool) -> Result<Page> {
    let mut sections = sections::all(run, &Settings { layout: layout.map(Path::to_path_buf), top })?;
    sections.data.tiles = tiles;
    let findings = passes::each_once(sections.list.iter().flat_map(|section| &section.findings));
    let verdict = verdict::verdict(&findings, &sections.summary);
    let html = document::assemble(&verdict, &sections)?;
    let complete = sections.summary.missing.complete;
    let top = verdict.top.into_iter().map(|costly| costly.finding).collect();
    Ok(Page { html, lead: verdict.lead, verdict: top, findings, complete })
}

/// The findings of a page, without the page.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn findings_of(run: &Run, layout: Option<&Path>) -> Result<Vec<Finding>> {
    Ok(found_of(run, layout)?.findings())
}

/// What the findings of a page come from.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn found_of(run: &Run, layout: Option<&Path>) -> Result<Found> {
    passes::passes(run, &Settings { layout: layout.map(Path::to_path_buf), top: TOP }, false)
}

/// The codes of the findings that stand on the first screen of a page.
pub(crate) fn top_codes(findings: &[Finding], summary: &Summary) -> Vec<Code> {
    verdict::verdict(findings, summary).top.into_iter().map(|costly| costly.finding.code).collect()
}
