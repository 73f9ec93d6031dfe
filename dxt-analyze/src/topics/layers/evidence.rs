//! Severity of this topic's findings.

use super::result::Layers;
use crate::findings::Severity;
use crate::thresholds::Thresholds;

/// Returns the severity of a finding that costs `cost_ns`, by the cost's share of the time in MPI-IO.
pub(super) fn severity(found: &Layers, cost_ns: u64, least: &Thresholds) -> Severity {
    Severity::of_cost(cost_ns, found.job.mpiio.of.time_ns, least)
}
