//! Signatures in the HTML report, in a short form that hardly slows the report down. Includes figures if the report is a page.

use super::args::Options;
use super::figures::choice::{Choice, choose};
use super::figures::drawing::figures;
use super::figures::pass::{Drawing, Partial};
use super::pass::Signing;
use super::result::Signatures;
use super::view::SignaturesReport;
use crate::findings::Finding;
use crate::scan::Analysis;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;
use iosig::Limits;

/// Maximum number of items (patterns, and stretches without a pattern) per signature in a report; all later accesses count as having no
/// pattern.
const ITEMS: usize = 256;
/// Maximum number of rows per table of the section.
const LINES: usize = 10;

/// Section of the HTML report with signatures; implements [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    signing: Signing,
}

/// Result of the report's first pass over the trace: signatures, and the data to draw.
#[derive(Debug)]
pub(crate) struct Read {
    report: SignaturesReport,
    drawn: Option<Choice>,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = Signing;
    type Read = Read;
    type Second<'b>
        = Drawing<'b>
    where
        Self: 'b;
    type More = Partial;
    type Found = SignaturesReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, signing: Signing { limits: Limits { items: ITEMS, ..Limits::default() } } }
    }

    fn first(&self) -> &Signing {
        &self.signing
    }

    fn read(&self, partial: <Signing as Analysis>::Partial, sums: &Sums) -> Result<Read> {
        let (signed, apart) = partial.signatures();
        let options = Options { top: LINES, ..Options::default() };
        let result = Signatures::of(self.job.run, &signed, apart, &sums.lost, &options);
        let report = SignaturesReport::of(result, &options);
        Ok(Read { report, drawn: self.job.options.draw.then(|| choose(self.job.run, &sums.all)).flatten() })
    }

    fn second<'b>(&'b self, read: &'b Read, _sums: &'b Sums) -> Option<Drawing<'b>> {
        read.drawn.as_ref().map(Drawing)
    }

    fn found(self, mut read: Read, more: Option<Partial>, _sums: &Sums) -> SignaturesReport {
        if let (Some(choice), Some(drawing)) = (&read.drawn, more) {
            read.report.figures = figures(self.job.run, choice, drawing);
        }
        read.report
    }
}

impl Found for SignaturesReport {
    fn sections(&self) -> Vec<Section> {
        let about = "Access patterns of reads and writes, as loops that reproduce the calls.";
        vec![Section::of("signatures", "Signatures", about, self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
