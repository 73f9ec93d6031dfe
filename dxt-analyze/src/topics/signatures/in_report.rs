//! The signatures on the page: in short, since a report may not take longer for them.

use super::args::Options;
use super::engine::Limits;
use super::pass::Signing;
use super::view::SignaturesReport;
use crate::findings::Finding;
use crate::scan::{Analysis, Nothing};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Items of a signature in a report: what comes beyond is counted as without a pattern.
const ITEMS: usize = 256;
/// Lines.
const LINES: usize = 10;

/// See [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    signing: Signing,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = Signing;
    type Read = SignaturesReport;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = SignaturesReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, signing: Signing { limits: Limits { items: ITEMS, ..Limits::default() } } }
    }

    fn first(&self) -> &Signing {
        &self.signing
    }

    fn read(&self, partial: <Signing as Analysis>::Partial, sums: &Sums) -> Result<SignaturesReport> {
        let (signed, apart) = partial.signatures();
        let options = Options { top: LINES, ..Options::default() };
        Ok(SignaturesReport::of(self.job.run, &signed, apart, &sums.lost, &options))
    }

    fn found(self, read: SignaturesReport, _more: Option<()>, _sums: &Sums) -> SignaturesReport {
        read
    }
}

impl Found for SignaturesReport {
    fn sections(&self) -> Vec<Section> {
        let about = "What the reads and writes do, as loops that make them again.";
        vec![Section::of("signatures", "Signatures", about, self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
