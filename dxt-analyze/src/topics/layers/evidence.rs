//! Severity of the findings of layers.

use super::result::Layers;
use crate::findings::Severity;
use crate::thresholds::Thresholds;

/// Returns the severity by the cost's share of the time in MPI-IO.
pub(super) fn severity(found: &Layers, cost_ns: u64, least: &Thresholds) -> Severity {
    Severity::of_cost(cost_ns, found.job.mpiio.of.time_ns, least)
}
