//! Result of `layers` as a section of the HTML report.

use super::figure;
use super::pass::Pass;
use super::result::Layers;
use super::view::LayersReport;
use crate::findings::Finding;
use crate::render::Part;
use crate::scan::{Analysis, Nothing};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Section of the HTML report with the result of `layers`; implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: Pass,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = Pass;
    type Read = LayersReport;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = LayersReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: Pass::new(job.run) }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<LayersReport> {
        let job = self.job;
        let top = job.options.top;
        let result = Layers::of(job.run, &job.layouts, partial, &sums.all, &sums.lost, top);
        Ok(LayersReport { result, top })
    }

    fn found(self, read: LayersReport, _more: Option<()>, _sums: &Sums) -> LayersReport {
        read
    }
}

impl Found for LayersReport {
    fn sections(&self) -> Vec<Section> {
        let mut section = Section::of(
            "layers",
            "Layers",
            "System calls inside MPI-IO and HDF5 calls; collective operations; calls in flight.",
            self,
        );
        // The page has the figure, so block graphics for a terminal are omitted.
        let lines = figure::lines(&self.result.series, &self.result.concurrency).map(Part::Pairs);
        section.view.parts.retain(|part| Some(part) != lines.as_ref());
        vec![section]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.result.findings.iter().collect()
    }
}
