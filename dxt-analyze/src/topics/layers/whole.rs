//! Assembles the complete result of `layers` from the data of the pass.

use super::concurrency::Series;
use super::pass::Partial;
use super::result::Layers;
use super::{amplification, buffering, dissection, rounds};
use crate::findings;
use crate::model::{FileLayout, Run};
use crate::scan::Lost;
use crate::shared::bandwidth;
use crate::shared::completeness::Completeness;
use crate::shared::layer_calls::Inside;
use crate::shared::mpiio_time::MpiioTime;
use crate::shared::totals::StreamTotal;

impl Layers {
    /// Builds the result. `layouts`: effective stripe layout of each file. `top`: number of slowest collective operations and of stragglers
    /// to list.
    #[must_use]
    pub fn of(
        run: &Run,
        layouts: &[Option<FileLayout>],
        mut partial: Partial,
        totals: &[StreamTotal],
        lost: &Lost,
        top: usize,
    ) -> Self {
        let followed = std::mem::take(&mut partial.followed);
        let mut elsewhere = Inside::default();
        partial.elsewhere.values().for_each(|inside| elsewhere.add(inside));
        let mut ranks = dissection::ranks(run, &partial);
        dissection::add_direct(run, totals, &mut ranks);
        let mut result = Self {
            layers: bandwidth::layers(run, totals),
            mpiio_time: MpiioTime::of(run, totals),
            calls: dissection::calls(run, &partial),
            job: dissection::job(&ranks),
            ranks,
            files: amplification::files(run, totals, &partial),
            collective_files: buffering::files(run, layouts, &partial),
            rounds: rounds::rows(run, &partial),
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
