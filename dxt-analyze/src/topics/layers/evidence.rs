//! Cost and severity of the findings of `layers`.

use super::result::Layers;
use crate::findings::{Finding, Severity};
use crate::thresholds::Thresholds;

/// Adds the cost to a finding, and the severity that follows from the cost's share of the time in MPI-IO.
pub(super) fn costing(
    found: &Layers,
    least: &Thresholds,
    cost_ns: impl Into<Option<u64>>,
    finding: Finding,
) -> Finding {
    let cost_ns = cost_ns.into();
    let severity = Severity::of_cost(cost_ns.unwrap_or(0), found.job.mpiio.of.time_ns, least);
    Finding { severity, cost_ns, ..finding }
}
