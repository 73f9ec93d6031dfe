//! `report`: one self-contained HTML page, and its first screen in the terminal.
//!
//! * `words`, `names`: what the first screen says; `terminal`: how the terminal shows it, `first`: how the page does.
//! * `html`: sections of the page, made of views; `document`: all that as one file; `open`: the page in a browser.
//! * `several`: a page for the verbs that look at several runs.

mod args;
pub(crate) mod built_in;
mod document;
mod first;
mod html;
mod names;
mod open;
mod several;
mod terminal;
mod words;

pub use args::Args;
pub use several::of_view;

use crate::exit::Exit;
use crate::findings::{Code, Finding};
use crate::model::Run;
use crate::progress::say;
use crate::render::{self, Format, Part, Report, Style, Untimed, View, untimed};
use crate::text::units;
use crate::topics::ledger::result::Ledger;
use crate::topics::report::{Job, Options, Section};
use crate::topics::timeline::charts::PageData;
use crate::topics::verdict::{self, Verdict};
use crate::topics::{self, Outcome};
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use names::Names;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// Where the page goes unless it is told.
const PAGE: &str = "report.html";

/// What is said of the trace itself, at the end of the page.
const OF_THE_TRACE: [Code; 2] = [Code::DAMAGED, Code::FOLDED];

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
    #[serde(skip)]
    names: Names,
    /// Whether nothing is missing from the trace.
    pub complete: bool,
}

/// Loads, and writes the page.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or the page cannot be written.
pub fn report(args: &Args, style: &Style, out: &mut dyn Write) -> Result<Exit> {
    // Who asks for JSON gets no page besides, unless it is asked for too.
    let output = match &args.output {
        None if args.open || args.format == Format::Table => Some(Path::new(PAGE)),
        output => output.as_deref(),
    };
    let target = output.map(|output| Target::new(output, Ours::Page, args.force));
    if let Some(target) = &target {
        target.check_early()?;
    }
    let run = crate::session::open(&args.inputs)?;
    // What is only drawn on a page takes a good part of the time.
    let page = make(&run, &Options { layout: args.layout.clone(), top: args.top, draw: target.is_some() }, false)?;
    if let (Some(target), Some(output)) = (&target, output) {
        target.stream(|out| Ok(out.write_all(page.html.as_bytes())?))?;
        say!("wrote {} ({})", output.display(), units::bytes(page.html.len() as u64));
    }
    let style = Style { format: args.format, ..style.clone() };
    if page.untimed() {
        render::write(&Untimed(&page), &style, out)?;
    } else {
        render::write(&page, &style, out)?;
    }
    if let Some(output) = output.filter(|_| args.open) {
        open::open(output);
    }
    Ok(page.exit(args.fail_on))
}

impl Page {
    /// Codes of the findings on its first screen.
    #[must_use]
    pub fn top_codes(&self) -> Vec<Code> {
        verdict::top_codes(&self.verdict)
    }
}

impl Outcome for Page {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn complete(&self) -> bool {
        self.complete
    }

    fn untimed(&self) -> bool {
        self.verdict.untimed
    }
}

impl Report for Page {
    fn view(&self) -> View {
        terminal::view(&self.verdict, &self.names)
    }
}

/// The page of a run that is loaded, as it is opened from disk.
///
/// # Errors
/// If the layouts make no sense.
pub fn page_of(run: &Run, layout: Option<&Path>, top: usize) -> Result<Page> {
    make(run, &Options { layout: layout.map(Path::to_path_buf), top, draw: true }, false)
}

/// What the page is put together from.
struct Parts<'a> {
    exe: &'a str,
    verdict: &'a Verdict,
    names: &'a Names,
    ledger: &'a Ledger,
    sections: &'a [Section],
    data: &'a PageData,
}

/// The page, without its HTML if nothing is drawn; `tiles` if a server will give finer grids.
pub(crate) fn make(run: &Run, options: &Options, tiles: bool) -> Result<Page> {
    let job = Job::new(run, options)?;
    let found = topics::whole(&job)?;
    let (verdict, sections) =
        rayon::join(|| verdict::verdict(&found), || if options.draw { found.sections() } else { Vec::new() });
    let findings = verdict::findings(&found, &verdict);
    let (names, complete) = (Names::of(run), found.summary.missing.complete);
    let html = if options.draw { drawn(found, sections, &verdict, &names, tiles)? } else { String::new() };
    Ok(Page { html, verdict, findings, names, complete })
}

/// The page's HTML.
fn drawn(
    found: topics::Whole<'_>,
    mut sections: Vec<Section>,
    verdict: &Verdict,
    names: &Names,
    tiles: bool,
) -> Result<String> {
    // What is missing is said once, at the end.
    let missing = &found.summary.missing;
    let said: Vec<Part> = missing.parts().into_iter().chain(missing.scope_part()).collect();
    for section in &mut sections {
        section.view.parts.retain(|part| !said.contains(part));
        if missing.untimed {
            section.view = untimed::without_times(std::mem::take(&mut section.view));
        }
        section.findings.retain(|finding| !OF_THE_TRACE.contains(&finding.code));
        section.findings.iter_mut().for_each(|finding| verdict::give_weight(finding, verdict));
    }
    let (mut data, _) = found.timeline.0.context("nothing was drawn")?;
    data.tiles = tiles;
    data.boxes = found.outliers.operations.result.operations;
    document::assemble(&Parts {
        exe: &found.summary.job.exe,
        verdict,
        names,
        ledger: &found.ledger.result,
        sections: &sections,
        data: &data,
    })
}
