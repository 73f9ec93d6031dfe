//! `report`: one self-contained HTML page, and its first screen in the terminal.
//!
//! * `words`, `names`: texts of the first screen; `terminal`: its form in the terminal, `first`: its form on the page.
//! * `html`: sections of the page, made from views; `document`: the complete file; `open`: opens the page in a browser.
//! * `several`: page of the commands that read several runs.

mod args;
mod document;
mod first;
mod html;
mod names;
mod open;
mod several;
mod terminal;
mod words;

pub use args::Args;
pub(crate) use dxt_base::built_in;
pub use several::of_view;

use crate::exit::Exit;
use crate::findings::{Code, Finding};
use crate::model::Run;
use crate::patterns::{self, Pattern};
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

const PAGE: &str = "report.html";

/// Codes of findings on the trace itself, which the page shows at its end.
const OF_THE_TRACE: [Code; 2] = [Code::DAMAGED, Code::FOLDED];

/// Report page, and the data that decides the exit code.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Complete HTML text of the page; empty if no page is requested.
    #[serde(skip)]
    pub html: String,
    pub(crate) verdict: Verdict,
    /// Findings of all sections, most severe first.
    pub findings: Vec<Finding>,
    /// Facts about the job's I/O, whether they cost time or not.
    pub patterns: Vec<Pattern>,
    #[serde(skip)]
    names: Names,
    /// True if nothing is missing from the trace.
    pub complete: bool,
}

/// Loads the job, and writes the report to `out` and its page to a file.
///
/// # Errors
/// Fails if nothing can be loaded, the layouts are invalid, or the page cannot be written.
pub fn report(args: &Args, style: &Style, out: &mut dyn Write) -> Result<Exit> {
    // With JSON or CSV output, a page is written only if `--output` or `--open` is given.
    let output = match &args.output {
        None if args.open || args.format == Format::Table => Some(Path::new(PAGE)),
        output => output.as_deref(),
    };
    let target = output.map(|output| Target::new(output, Ours::Page, args.force));
    if let Some(target) = &target {
        target.check_early()?;
    }
    let run = crate::session::open(&args.inputs)?;
    // Drawing takes much of the time, so it is skipped if no page is written.
    let options = Options {
        layout: args.layout.clone(),
        top: args.top,
        draw: target.is_some(),
        debug_dirs: Some(args.debug.dirs.clone()),
    };
    let page = make(&run, &options, false)?;
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
    /// Returns the codes of the findings on the first screen.
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
        terminal::view(&self.verdict, &self.patterns, &self.names)
    }
}

/// Creates the page of a loaded run, for opening as a file. `layout` is a file of stripe layouts; `top` is the maximum rows of lists.
///
/// # Errors
/// Fails if the layouts are invalid.
pub fn page_of(run: &Run, layout: Option<&Path>, top: usize) -> Result<Page> {
    let layout = layout.map(Path::to_path_buf);
    make(run, &Options { layout, top, draw: true, debug_dirs: Some(Vec::new()) }, false)
}

struct Parts<'a> {
    exe: &'a str,
    verdict: &'a Verdict,
    names: &'a Names,
    ledger: &'a Ledger,
    sections: &'a [Section],
    data: &'a PageData,
}

/// Creates the page; its HTML is empty if `options.draw` is false. `tiles` is true if a server will provide finer grids for the charts.
pub(crate) fn make(run: &Run, options: &Options, tiles: bool) -> Result<Page> {
    let job = Job::new(run, options)?;
    let found = topics::whole(&job)?;
    let (verdict, mut sections) =
        rayon::join(|| verdict::verdict(&found), || if options.draw { found.sections() } else { Vec::new() });
    let patterns = patterns::of(&job, &found, &verdict);
    if options.draw && !patterns.is_empty() {
        sections.insert(0, patterns::section(&patterns));
    }
    let findings = verdict::findings(&found, &verdict);
    let (names, complete) = (Names::of(run), found.summary.missing.complete);
    let html = if options.draw { drawn(found, sections, &verdict, &names, tiles)? } else { String::new() };
    Ok(Page { html, verdict, findings, patterns, names, complete })
}

fn drawn(
    found: topics::Whole<'_>,
    mut sections: Vec<Section>,
    verdict: &Verdict,
    names: &Names,
    tiles: bool,
) -> Result<String> {
    // Missing data is reported once, at the end of the page.
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
