//! A topic's part in a report on a whole run. The trace is read twice, for all topics at once: what a topic wants of the first reading
//! it says before anything is known, what it wants of the second by what the first found. Few need the second.

use crate::findings::Finding;
use crate::layouts::certain;
use crate::model::{FileLayout, Run};
use crate::render::{Part, Report, View};
use crate::scan::{Analysis, Lost};
use crate::shared::groups::{Group, data_groups};
use crate::shared::totals::{self, StreamTotal};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Rows listed by the analyses that findings without a page come from: what the page lists unless it is told otherwise.
pub(crate) const TOP: usize = 50;

/// What a report is asked to be.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// File of stripe layouts.
    pub(crate) layout: Option<PathBuf>,
    /// Rows of lists.
    pub(crate) top: usize,
    /// Whether there will be a page: without one, charts and trials of other layouts are left out, which findings do not need.
    pub(crate) draw: bool,
}

impl Options {
    /// Of findings without a page.
    pub(crate) fn findings_only(layout: Option<&Path>) -> Self {
        Self { layout: layout.map(Path::to_path_buf), top: TOP, draw: false }
    }
}

/// What every topic begins with.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) run: &'a Run,
    pub(crate) options: &'a Options,
    /// Per file.
    pub(crate) layouts: Vec<Option<FileLayout>>,
    /// Those that are no guess.
    pub(crate) certain: Vec<Option<FileLayout>>,
    /// Per operation.
    pub(crate) groups: Vec<Option<Group>>,
}

impl<'a> Job<'a> {
    /// # Errors
    /// If the layouts make no sense.
    pub(crate) fn new(run: &'a Run, options: &'a Options) -> Result<Self> {
        let layouts = crate::session::layouts(run, options.layout.as_deref())?;
        Ok(Self { run, options, certain: certain(layouts.clone()), layouts, groups: data_groups(run) })
    }

    /// File of stripe layouts.
    pub(crate) fn layout(&self) -> Option<&Path> {
        self.options.layout.as_deref()
    }
}

/// What the first reading found for all.
#[derive(Debug)]
pub(crate) struct Sums {
    /// As they were read.
    pub(crate) totals: totals::Partial,
    /// With those of calls that have no segments.
    pub(crate) all: Vec<StreamTotal>,
    /// What could not be read.
    pub(crate) lost: Lost,
}

/// A topic in a report.
pub(crate) trait Reported<'a>: Sized + Send + Sync {
    /// What it wants of the first reading.
    type First: Analysis;
    /// What it keeps of that.
    type Read: Send;
    /// What it wants of the second reading; [`crate::scan::Nothing`] if that is never anything.
    type Second<'b>: Analysis<Partial = Self::More>
    where
        Self: 'b;
    /// What the second reading gives.
    type More: Send;
    /// What it found.
    type Found: Found + Send;

    fn new(job: &'a Job<'a>) -> Self;
    fn first(&self) -> &Self::First;
    /// Takes what the first reading gave.
    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<Self::Read>;
    /// What is to be found out by a second reading, if anything.
    fn second<'b>(&'b self, _read: &'b Self::Read, _sums: &'b Sums) -> Option<Self::Second<'b>> {
        None
    }
    /// What all that comes to.
    fn found(self, read: Self::Read, more: Option<Self::More>, sums: &Sums) -> Self::Found;
}

/// What a topic found, as the page shows it.
pub(crate) trait Found {
    /// Its sections on the page, in order.
    fn sections(&self) -> Vec<Section>;
    /// Its findings.
    fn findings(&self) -> Vec<&Finding>;
}

/// A section of the page.
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
    /// Made of any report: its view becomes headings and tables.
    pub(crate) fn of(id: &'static str, title: &'static str, about: &'static str, report: &impl Report) -> Self {
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

/// Findings, each once, the most severe first.
pub(crate) fn each_once<'f>(all: impl IntoIterator<Item = &'f Finding>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for finding in all {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    crate::findings::sort(&mut findings);
    findings
}
