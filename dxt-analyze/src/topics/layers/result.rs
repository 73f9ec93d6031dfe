//! The whole result, put together from what the pass found.

use super::amplification::{self, FileRow};
use super::bandwidth::{self, LayerRow};
use super::buffering::{self, BufferingRow, Collectives};
use super::concurrency::{Concurrency, Series};
use super::dissection::{self, CallRow, RankRow};
use super::parts::Inside;
use super::pass::Partial;
use crate::findings;
use crate::findings::Finding;
use crate::model::Run;
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use crate::shared::totals;
use serde::Serialize;

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Layers {
    /// Bandwidth of each layer.
    pub layers: Vec<LayerRow>,
    /// What calls of MPI-IO and HDF5 are made of, by kind of call.
    pub calls: Vec<CallRow>,
    /// The same of all ranks together.
    pub job: RankRow,
    /// The same by rank, the slowest first.
    pub ranks: Vec<RankRow>,
    /// Files that MPI-IO accessed, those with most time first.
    pub files: Vec<FileRow>,
    /// Collective calls by file, those with most time first.
    pub collective_files: Vec<BufferingRow>,
    /// Collective operations.
    pub collectives: Collectives,
    /// Calls in flight over time.
    pub concurrency: Vec<Concurrency>,
    /// The bins of `concurrency.series`.
    pub series: Series,
    /// System calls inside a call that is not on record, or is none of MPI-IO's data or file calls (`MPI_Init`).
    pub elsewhere: Inside,
    /// System calls of which it is not sure which call they were made inside.
    pub unsure: u64,
    /// Number of nodes, if any is known.
    pub nodes: Option<u64>,
    /// What is missing.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}

impl Layers {
    /// Puts the result together; `top` collective operations and late ranks are listed.
    #[must_use]
    pub fn of(run: &Run, mut partial: Partial, totals: totals::Partial, lost: &Lost, top: usize) -> Self {
        let totals = totals::with_missing(run, totals);
        let followed = std::mem::take(&mut partial.followed);
        let mut elsewhere = Inside::default();
        partial.elsewhere.values().for_each(|inside| elsewhere.add(inside));
        let mut ranks = dissection::ranks(run, &partial);
        dissection::add_direct(run, &totals, &mut ranks);
        let mut result = Self {
            layers: bandwidth::layers(run, &totals),
            calls: dissection::calls(run, &partial),
            job: dissection::job(&ranks),
            ranks,
            files: amplification::files(run, &totals, &partial),
            collective_files: buffering::files(run, &partial),
            collectives: buffering::collectives(run, followed, top),
            concurrency: Vec::new(),
            series: Series::default(),
            elsewhere,
            unsure: partial.unsure,
            nodes: run.node_count(),
            missing: Completeness::of(run, lost),
            findings: Vec::new(),
        };
        (result.series, result.concurrency) = partial.in_flight.result();
        result.findings = super::advice::findings(&result, &run.thresholds);
        result.findings.extend(result.missing.findings());
        findings::sort(&mut result.findings);
        result
    }
}
