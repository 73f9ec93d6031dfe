//! Causes in a report. They have no section of their own: the verdict, the report's first screen, shows them.

use super::shape::aliasing::{self, Aliasing};
use super::view::{CausesReport, Frame, ReadsFirst};
use crate::cube::reading::cells::{self, Cells};
use crate::findings::Finding;
use crate::scan::Analysis;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Causes of slow I/O as a part of the report: the analyses of both passes over the trace. Implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: ReadsFirst,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = ReadsFirst;
    type Read = Frame;
    type Second<'b>
        = (Cells<'b>, Aliasing<'b>)
    where
        Self: 'b;
    type More = (cells::Partial, aliasing::Partial);
    type Found = CausesReport<'a>;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: ReadsFirst::new(job.run) }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, _sums: &Sums) -> Result<Frame> {
        Ok(Frame::of(self.job.run, partial, &self.first.questions))
    }

    fn second<'b>(&'b self, read: &'b Frame, _sums: &'b Sums) -> Option<Self::Second<'b>> {
        let (run, layouts) = (self.job.run, &self.job.certain);
        Some((Cells::new(run, &read.slots, &read.usual, layouts), Aliasing::new(run, &read.usual, layouts)))
    }

    fn found(self, read: Frame, more: Option<Self::More>, sums: &Sums) -> CausesReport<'a> {
        let (run, layouts) = (self.job.run, &self.job.certain);
        let (cells, moments) = more.unwrap_or_default();
        let begun = Aliasing::new(run, &read.usual, layouts).found(&moments);
        CausesReport::of(run, read, layouts, (cells, begun), &sums.lost)
    }
}

impl Found for CausesReport<'_> {
    fn sections(&self) -> Vec<Section> {
        Vec::new()
    }

    fn findings(&self) -> Vec<&Finding> {
        self.result.findings.iter().collect()
    }
}
