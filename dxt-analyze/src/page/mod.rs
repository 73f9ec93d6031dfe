//! `report`: one self-contained HTML page. `sections` lists what stands on it, `verdict` its first screen, `data` what its charts
//! draw, `html` how views become tables, `page` how all that becomes one file.

mod args;
mod document;
mod html;

pub use args::Args;

use crate::exit::Exit;
use crate::findings::Finding;
use crate::model::Run;
use crate::render::{self, Format, Part, Report, Style, View};
use crate::text::units;
use crate::topics::report::{Job, Options, Section, each_once};
use crate::topics::timeline::charts::PageData;
use crate::topics::verdict::{self, Verdict};
use crate::topics::{self, Outcome};
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Where the page goes unless it is told.
const PAGE: &str = "report.html";

/// A page, and what decides the exit code.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The HTML.
    #[serde(skip)]
    pub html: String,
    /// What its first screen says.
    pub(crate) verdict: Verdict,
    /// Findings of all sections, the most severe first.
    pub findings: Vec<Finding>,
    /// Whether nothing is missing from the trace.
    pub complete: bool,
}

/// Loads, and writes the page.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or the page cannot be written.
pub fn report(args: &Args, style: &Style, out: &mut dyn Write) -> Result<Exit> {
    // Who asks for JSON gets no page besides, unless it is asked for too.
    let output = match (&args.output, args.format) {
        (None, Format::Table) => Some(Path::new(PAGE)),
        (output, _) => output.as_deref(),
    };
    let target = output.map(|output| Target::new(output, Ours::Page, args.force));
    if let Some(target) = &target {
        target.check_early()?;
    }
    let run = crate::session::open(&args.inputs)?;
    let page = page_of(&run, args.layout.as_deref(), args.top)?;
    if let (Some(target), Some(output)) = (&target, output) {
        target.stream(|out| Ok(out.write_all(page.html.as_bytes())?))?;
        eprintln!("wrote {} ({})", output.display(), units::bytes(page.html.len() as u64));
    }
    render::write(&page, &Style { format: args.format, ..style.clone() }, out)?;
    Ok(page.exit(args.fail_on))
}

impl Outcome for Page {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn complete(&self) -> bool {
        self.complete
    }
}

impl Report for Page {
    fn view(&self) -> View {
        let verdict = &self.verdict;
        let mut parts = vec![Part::Lines(vec![verdict.lead.clone(), verdict.sentence.clone()])];
        let listed = verdict.findings.iter().filter(|weighed| weighed.finding.saving.is_some());
        parts.push(Part::Findings(listed.map(|weighed| weighed.finding.clone()).collect()));
        parts.extend(verdict::typed::parts(&verdict.findings));
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

/// What the page is put together from.
struct Parts<'a> {
    exe: &'a str,
    verdict: &'a Verdict,
    sections: &'a [Section],
    data: &'a PageData,
}

/// The page; `tiles` if a server will give finer grids.
pub(crate) fn make(run: &Run, layout: Option<&Path>, top: usize, tiles: bool) -> Result<Page> {
    let options = Options { layout: layout.map(Path::to_path_buf), top, draw: true };
    let job = Job::new(run, &options)?;
    let found = topics::whole(&job)?;
    let sections = found.sections();
    let verdict = verdict::verdict(&found);
    let (mut data, _) = found.timeline.0.context("nothing was drawn")?;
    data.tiles = tiles;
    data.boxes = found.outliers.operations.result.operations;
    let findings = each_once(sections.iter().flat_map(|section| &section.findings));
    let html = document::assemble(&Parts {
        exe: &found.summary.job.exe,
        verdict: &verdict,
        sections: &sections,
        data: &data,
    })?;
    let complete = found.summary.missing.complete;
    Ok(Page { html, verdict, findings, complete })
}
