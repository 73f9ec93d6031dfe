//! Ledger (division of the run time by activity) as a section of the page.

use super::arrivals::Arrivals;
use super::busy::Busy;
use super::result::Ledger;
use super::view::LedgerReport;
use crate::findings::Finding;
use crate::scan::{Analysis, Nothing, together};
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

together!(
    /// Analyses that the ledger needs in the first pass.
    First, Partial { busy, arrivals }
);

/// Ledger (run time by activity) as a part of the report; implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: First<Busy, Arrivals>,
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = First<Busy, Arrivals>;
    type Read = LedgerReport;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = LedgerReport;

    fn new(job: &'a Job<'a>) -> Self {
        Self { job, first: First { busy: Busy::new(job.run), arrivals: Arrivals::new(job.run) } }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<LedgerReport> {
        let (busy, waits) = (partial.busy.times(), partial.arrivals.waits());
        let result = Ledger::of(self.job.run, &sums.all, &busy, &waits, &sums.lost);
        Ok(LedgerReport::of(result, busy, self.job.options.top))
    }

    fn found(self, read: LedgerReport, _more: Option<()>, _sums: &Sums) -> LedgerReport {
        read
    }
}

impl Found for LedgerReport {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("ledger", "Ledger", "Where the run time went, process by process.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
