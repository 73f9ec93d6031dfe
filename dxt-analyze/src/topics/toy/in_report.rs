//! Result of `toy` as a section of the report.

use super::view::{Reads, Toy};
use crate::findings::Finding;
use crate::scan::Nothing;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Toy topic as a part of the report; implements [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a>(&'a Job<'a>);

impl<'a> Reported<'a> for InReport<'a> {
    type First = Reads;
    type Read = Toy;
    type Second<'b>
        = Nothing
    where
        Self: 'b;
    type More = ();
    type Found = Toy;

    fn new(job: &'a Job<'a>) -> Self {
        Self(job)
    }

    fn first(&self) -> &Reads {
        &Reads
    }

    fn read(&self, reads: u64, sums: &Sums) -> Result<Toy> {
        Ok(Toy::of(self.0.run, reads, &sums.lost))
    }

    fn found(self, read: Toy, _more: Option<()>, _sums: &Sums) -> Toy {
        read
    }
}

impl Found for Toy {
    fn sections(&self) -> Vec<Section> {
        vec![Section::of("toy", "Toy", "Reads are counted.", self)]
    }

    fn findings(&self) -> Vec<&Finding> {
        self.findings.iter().collect()
    }
}
