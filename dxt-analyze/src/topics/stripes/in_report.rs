//! Stripe audit as a section of the HTML report.

use super::args::Options;
use super::audit::Audit;
use super::load::Rows;
use super::view::{StripesReport, stripes_from};
use crate::findings::Finding;
use crate::scan::{Analysis, Nothing};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Maximum number of segments in a trace for which other layouts are simulated; the simulation takes microseconds per segment.
const MOST_REPLAYED: u64 = 2_000_000;

/// Stripe audit as a section of the report, see [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: Audit<'a>,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = Audit<'a>;
    type Read = StripesReport;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = StripesReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: Audit { layouts: &job.layouts, rows: Rows::new(job.run, &job.layouts) } }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<StripesReport> {
        let job = self.job;
        let recommend = job.options.draw && job.run.segments() <= MOST_REPLAYED;
        let layout = job.layout().map(std::path::Path::to_path_buf);
        let options = Options { layout, recommend, top: job.options.top, ..Options::default() };
        stripes_from(job.run, &options, &self.first, partial, &sums.lost)
    }

    fn found(self, read: StripesReport, _more: Option<()>, _sums: &Sums) -> StripesReport {
        read
    }
}

impl Found for StripesReport {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("stripes", "Stripes", "How accesses lie on the stripes of each file.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.result.findings.iter().collect()
    }
}
