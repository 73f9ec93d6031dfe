//! Report on a whole run, topic by topic. The trace is read at most twice, each time for all topics at once.
//!
//! The analyses of the first pass are fixed in advance. Those of the second pass depend on the first; few topics need a second pass.

use crate::findings::Finding;
use crate::layouts::certain;
use crate::model::{FileLayout, Run};
use crate::render::{Part, Report, View};
use crate::scan::{Analysis, Lost};
use crate::shared::groups::{Group, data_groups};
use crate::shared::totals::StreamTotal;
use crate::symbols::Symbols;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Maximum number of rows in lists if only findings are computed and no page is made; equals the page's default.
pub(crate) const TOP: usize = 50;

/// Options of a report.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Path of a file with stripe layouts (`--layout`); `None` without one.
    pub(crate) layout: Option<PathBuf>,
    /// Maximum number of rows in each list of the report.
    pub(crate) top: usize,
    /// True if a page is made. Otherwise charts and simulations of other layouts are skipped, since findings do not need them.
    pub(crate) draw: bool,
    /// Directories with debug information; `None` if functions and lines of call sites are not looked up.
    pub(crate) debug_dirs: Option<Vec<PathBuf>>,
}

impl Options {
    /// Returns options for computing only findings, without a page.
    pub(crate) fn findings_only(layout: Option<&Path>) -> Self {
        Self { layout: layout.map(Path::to_path_buf), top: TOP, draw: false, debug_dirs: None }
    }
}

/// Input of every topic: run, options, stripe layouts and groups of operations.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) run: &'a Run,
    pub(crate) options: &'a Options,
    /// Stripe layout of each file, including guessed layouts.
    pub(crate) layouts: Vec<Option<FileLayout>>,
    /// Stripe layout of each file, without guessed layouts.
    pub(crate) certain: Vec<Option<FileLayout>>,
    /// Groups of comparable operations, indexed by [`crate::shared::groups::group_index`].
    pub(crate) groups: Vec<Option<Group>>,
    /// Functions and lines of call sites; empty if they are not looked up.
    pub(crate) symbols: Symbols,
}

impl<'a> Job<'a> {
    /// Creates the input of the topics from a loaded run.
    ///
    /// # Errors
    /// Returns an error if the layouts are invalid.
    pub(crate) fn new(run: &'a Run, options: &'a Options) -> Result<Self> {
        let layouts = crate::session::layouts(run, options.layout.as_deref())?;
        let symbols = options.debug_dirs.as_ref().map(|dirs| Symbols::of(run, dirs)).unwrap_or_default();
        Ok(Self { run, options, certain: certain(layouts.clone()), layouts, groups: data_groups(run), symbols })
    }

    pub(crate) fn layout(&self) -> Option<&Path> {
        self.options.layout.as_deref()
    }
}

/// Totals from the first pass, shared by all topics.
#[derive(Debug)]
pub(crate) struct Sums {
    /// Totals per process and stream (one operation, file and caller), including calls without segments.
    pub(crate) all: Vec<StreamTotal>,
    /// Number of segments (records of single calls) that could not be read.
    pub(crate) lost: Lost,
}

/// Topic (analysis) whose result is a part of the report.
pub(crate) trait Reported<'a>: Sized + Send + Sync {
    /// Analysis that runs in the first pass over the trace.
    type First: Analysis;
    /// Result of the topic's analysis in the first pass over the trace.
    type Read: Send;
    /// Analysis that runs in the second pass over the trace; [`crate::scan::Nothing`] if the topic never needs a second pass.
    type Second<'b>: Analysis<Partial = Self::More>
    where
        Self: 'b;
    /// Partial result of the topic's analysis in the second pass over the trace.
    type More: Send;
    /// Final result of the topic, which the page shows as sections.
    type Found: Found + Send;

    fn new(job: &'a Job<'a>) -> Self;
    fn first(&self) -> &Self::First;
    /// Computes the result of the first pass from its partial result.
    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<Self::Read>;
    /// Returns the analysis for the second pass; `None` if the topic needs none.
    fn second<'b>(&'b self, _read: &'b Self::Read, _sums: &'b Sums) -> Option<Self::Second<'b>> {
        None
    }
    /// Returns the final result of the topic from the results of both passes.
    fn found(self, read: Self::Read, more: Option<Self::More>, sums: &Sums) -> Self::Found;
}

/// Final result of a topic, which the page shows as sections.
pub(crate) trait Found {
    fn sections(&self) -> Vec<Section>;
    fn findings(&self) -> Vec<&Finding>;
}

/// Section of the page: heading, tables and findings of one topic.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Sentence that says what the section shows.
    pub(crate) about: &'static str,
    /// Contents of the section (tables and figures) without its findings.
    pub(crate) view: View,
    pub(crate) findings: Vec<Finding>,
}

impl Section {
    /// Creates a section of the page from the tables and figures of `report`.
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
