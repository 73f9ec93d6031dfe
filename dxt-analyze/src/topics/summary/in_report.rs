//! Summary as a section of the page, and as a part of reports on many jobs.

use super::result::Summary;
use super::view::summary_from;
use crate::findings::Finding;
use crate::scan::Nothing;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Summary as a part of the report; implements [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a>(&'a Job<'a>);

impl<'a> Reported<'a> for InReport<'a> {
    type First = Nothing;
    type Read = ();
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = Summary;

    fn new(job: &'a Job<'a>) -> Self {
        Self(job)
    }

    fn first(&self) -> &Nothing {
        &Nothing
    }

    fn read(&self, (): (), _sums: &Sums) -> Result<()> {
        Ok(())
    }

    fn found(self, (): (), _more: Option<()>, sums: &Sums) -> Summary {
        summary_from(self.0.run, &sums.all, &sums.lost, self.0.options.top, None)
    }
}

impl Found for Summary {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("summary", "Summary", "The job, its operations and its files.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
