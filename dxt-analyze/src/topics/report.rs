//! Parts of the report on a whole run, by topic. The trace is read twice, for all topics at once.
//!
//! What a topic needs of the first reading is fixed in advance; what it needs of the second depends on the first. Few need the second.

use crate::findings::Finding;
use crate::layouts::certain;
use crate::model::{FileLayout, Run};
use crate::render::{Part, Report, View};
use crate::scan::{Analysis, Lost};
use crate::shared::groups::{Group, data_groups};
use crate::shared::totals::{self, StreamTotal};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Maximum rows of the analyses behind findings without a page; the default of the page.
pub(crate) const TOP: usize = 50;

/// Options of a report.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// File of stripe layouts.
    pub(crate) layout: Option<PathBuf>,
    /// Maximum rows of lists.
    pub(crate) top: usize,
    /// True if there will be a page. Otherwise charts and trials of other layouts are left out, which findings do not need.
    pub(crate) draw: bool,
}

impl Options {
    /// Returns the options for findings without a page.
    pub(crate) fn findings_only(layout: Option<&Path>) -> Self {
        Self { layout: layout.map(Path::to_path_buf), top: TOP, draw: false }
    }
}

/// Input of every topic.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) run: &'a Run,
    pub(crate) options: &'a Options,
    /// Layouts by file.
    pub(crate) layouts: Vec<Option<FileLayout>>,
    /// Layouts by file, except guesses.
    pub(crate) certain: Vec<Option<FileLayout>>,
    /// Groups by operation.
    pub(crate) groups: Vec<Option<Group>>,
}

impl<'a> Job<'a> {
    /// Creates the input of the topics.
    ///
    /// # Errors
    /// Returns an error if the layouts are invalid.
    pub(crate) fn new(run: &'a Run, options: &'a Options) -> Result<Self> {
        let layouts = crate::session::layouts(run, options.layout.as_deref())?;
        Ok(Self { run, options, certain: certain(layouts.clone()), layouts, groups: data_groups(run) })
    }

    pub(crate) fn layout(&self) -> Option<&Path> {
        self.options.layout.as_deref()
    }
}

/// Sums of the first reading, shared by all topics.
#[derive(Debug)]
pub(crate) struct Sums {
    /// Totals as read.
    pub(crate) totals: totals::Partial,
    /// Totals including calls without segments.
    pub(crate) all: Vec<StreamTotal>,
    /// Segments that could not be read.
    pub(crate) lost: Lost,
}

/// Topic in a report.
pub(crate) trait Reported<'a>: Sized + Send + Sync {
    /// Analysis for the first reading.
    type First: Analysis;
    /// Result of the first reading.
    type Read: Send;
    /// Analysis for the second reading; [`crate::scan::Nothing`] if there never is one.
    type Second<'b>: Analysis<Partial = Self::More>
    where
        Self: 'b;
    /// Partial result of the second reading.
    type More: Send;
    /// Final result.
    type Found: Found + Send;

    fn new(job: &'a Job<'a>) -> Self;
    fn first(&self) -> &Self::First;
    /// Processes the partial result of the first reading.
    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<Self::Read>;
    /// Returns the analysis for the second reading, if one is needed.
    fn second<'b>(&'b self, _read: &'b Self::Read, _sums: &'b Sums) -> Option<Self::Second<'b>> {
        None
    }
    /// Returns the final result.
    fn found(self, read: Self::Read, more: Option<Self::More>, sums: &Sums) -> Self::Found;
}

/// Result of a topic, as the page shows it.
pub(crate) trait Found {
    /// Returns the sections on the page, in order.
    fn sections(&self) -> Vec<Section>;
    fn findings(&self) -> Vec<&Finding>;
}

/// Section of the page.
#[derive(Debug)]
pub(crate) struct Section {
    /// Anchor.
    pub(crate) id: &'static str,
    /// Heading.
    pub(crate) title: &'static str,
    /// Description, in a sentence.
    pub(crate) about: &'static str,
    /// Contents, without the findings.
    pub(crate) view: View,
    pub(crate) findings: Vec<Finding>,
}

impl Section {
    /// Creates a section from any report.
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

/// Returns the findings without duplicates, most severe first.
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
