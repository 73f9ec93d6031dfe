//! What stands on the page below the charts. A section is made of any [`Report`]: its view becomes headings and tables. To put a verb
//! on the page, add a line to [`all`].

use super::charts::PageData;
use super::passes::passes;
use crate::findings::Finding;
use crate::model::Run;
use crate::render::{Part, Report, View};
use crate::topics::summary::result::Summary;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Settings that sections share.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `--layout`.
    pub(crate) layout: Option<PathBuf>,
    /// `--top`.
    pub(crate) top: usize,
}

/// A section.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its anchor.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// What it says, in a sentence.
    pub(crate) about: &'static str,
    /// What it shows, without its findings.
    pub(crate) view: View,
    /// Its findings.
    pub(crate) findings: Vec<Finding>,
}

impl Section {
    fn of(id: &'static str, title: &'static str, about: &'static str, report: &impl Report) -> Self {
        let mut view = report.view();
        let mut findings = Vec::new();
        view.parts.retain_mut(|part| match part {
            Part::Findings(found) => {
                findings.append(found);
                false
            }
            _ => true,
        });
        Self { id, title, about, view, findings }
    }
}

/// The sections, and what the page needs of them beside their views.
#[derive(Debug)]
pub(crate) struct Sections {
    /// In the order of the page.
    pub(crate) list: Vec<Section>,
    /// The job.
    pub(crate) summary: Summary,
    /// What the charts draw.
    pub(crate) data: PageData,
}

/// Makes all of them.
///
/// # Errors
/// If the layouts make no sense.
pub(crate) fn all(run: &Run, settings: &Settings) -> Result<Sections> {
    let mut found = passes(run, settings, true)?;
    let (mut data, timeline) = found.drawn.take().context("nothing was drawn")?;
    let list = vec![
        Section::of("phases", "Phases", "When the job did I/O, and what each stretch of it did.", &timeline),
        Section::of("outliers", "Slow operations", "Calls far slower than their like.", &found.operations),
        Section::of("ranks", "Ranks compared", "Bandwidth of each rank against the others'.", &found.ranks),
        Section::of("nodes", "Nodes compared", "Bandwidth of each node against the others'.", &found.nodes),
        Section::of("osts", "Storage targets compared", "Bandwidth of each OST.", &found.targets),
        Section::of("stripes", "Stripes", "How accesses lie on the stripes of each file.", &found.stripes),
        Section::of(
            "layers",
            "Layers",
            "What calls of MPI-IO and HDF5 are made of; collective operations; calls in flight.",
            &found.layers,
        ),
        Section::of("checks", "Checks", "Rules of thumb, and what single operations prove.", &found.checks),
        Section::of("counters", "Counters", "Sizes, patterns, times per process, kinds of files.", &found.counters),
        Section::of("summary", "Summary", "The job, its operations and its files.", &found.summary),
    ];
    let mut summary = found.summary;
    summary.findings.clear();
    data.boxes = found.operations.result.operations;
    Ok(Sections { list, summary, data })
}
