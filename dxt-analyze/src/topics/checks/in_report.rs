//! Result of `checks` as a section of the HTML report.

use super::gaps::Timeline;
use super::view::{ChecksReport, checks_from};
use super::walk::Walk;
use crate::findings::Finding;
use crate::scan::{Analysis, Nothing, together};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

together!(
    /// Analyses that share the report's first pass over the trace.
    First, Partial { walk, timeline }
);

/// Section of the HTML report with the result of `checks`; implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: First<Walk<'a>, Timeline>,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = First<Walk<'a>, Timeline>;
    type Read = ChecksReport;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = ChecksReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: First { walk: Walk::new(job.run), timeline: Timeline::new(job.run) } }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<ChecksReport> {
        let job = self.job;
        let slots = (&self.first.timeline, &partial.timeline);
        Ok(checks_from(job.run, false, &sums.all, partial.walk, slots, &sums.lost))
    }

    fn found(self, read: ChecksReport, _more: Option<()>, _sums: &Sums) -> ChecksReport {
        read
    }
}

impl Found for ChecksReport {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("checks", "Checks", "Rules of thumb, and findings that individual operations prove.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.result.findings.iter().collect()
    }
}
