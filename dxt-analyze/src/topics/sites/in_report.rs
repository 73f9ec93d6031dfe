//! Call sites as a part of the report.

use super::args::Options;
use super::result::{OfStreams, Sites};
use super::sums::{BySite, Partial};
use crate::findings::Finding;
use crate::scan::Nothing;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Call sites as a part of the report; implements [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
}

/// Result of `sites` in a report.
#[derive(Debug)]
pub(crate) struct InWhole {
    result: Sites,
    /// Call sites of the calls that findings explain.
    pub(crate) of_streams: OfStreams,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = BySite;
    type Read = InWhole;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = InWhole;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job }
    }

    fn first(&self) -> &BySite {
        &BySite
    }

    fn read(&self, partial: Partial, sums: &Sums) -> Result<InWhole> {
        let (run, symbols) = (self.job.run, &self.job.symbols);
        let options = Options { top: self.job.options.top, draw: self.job.options.draw, ..Options::default() };
        let result = Sites::of(run, &partial, symbols, &options, &sums.lost);
        Ok(InWhole { result, of_streams: OfStreams::of(run, &partial, symbols) })
    }

    fn found(self, read: InWhole, _more: Option<()>, _sums: &Sums) -> InWhole {
        read
    }
}

impl Found for InWhole {
    fn sections(&self) -> Vec<Section> {
        if self.result.none_recorded {
            return Vec::new();
        }
        vec![Section::of(
            "sites",
            "Call sites",
            "Functions and lines of the program that make the calls.",
            &self.result,
        )]
    }

    fn findings(&self) -> Vec<&Finding> {
        Vec::new()
    }
}
