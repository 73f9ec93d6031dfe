//! Result of `counters` as a section of the HTML report.

use super::steps::Steps;
use super::{Characterization, Fold, characterize};
use crate::findings::Finding;
use crate::scan::{Analysis, Nothing};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Section of the HTML report with the result of `counters`; implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: (Fold, Steps),
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = (Fold, Steps);
    type Read = Characterization;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = Characterization;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: (Fold, Steps) }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<Characterization> {
        let job = self.job;
        Ok(characterize(job.run, partial, &sums.all, &sums.lost, job.options.top))
    }

    fn found(self, read: Characterization, _more: Option<()>, _sums: &Sums) -> Characterization {
        read
    }
}

impl Found for Characterization {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("counters", "Counters", "Sizes, patterns, times per process, kinds of files.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
