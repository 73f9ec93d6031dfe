//! Value of a finding: run time of the job that could be saved.

use super::Severity;
use crate::thresholds::Thresholds;
use serde::Serialize;

/// Run time in ns that the job would save without the cause (counterfactual), from a replay of its phases with the savings applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Time saved.
    pub saves_ns: u64,
    /// Lower bound, if there is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_low_ns: Option<u64>,
    /// Upper bound, if there is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_high_ns: Option<u64>,
    /// Calls that the finding explains.
    pub explains: Explains,
}

/// Calls that a finding explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explains {
    /// Time in these calls that would be saved, ns summed over processes; all of it for findings on the inner work of MPI-IO and HDF5.
    pub time_ns: u64,
    /// Share of all time in calls, in millionths: an integer, so that equal findings compare equal.
    #[serde(rename = "share", serialize_with = "as_share")]
    pub millionths: u64,
}

impl Eq for Explains {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn as_share<S: serde::Serializer>(millionths: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*millionths as f64 / 1e6)
}

impl Severity {
    /// Rates a saving by its share of `run_ns`, if the saving is large enough to matter.
    #[must_use]
    pub fn of_saving(saves_ns: u64, run_ns: u64, thresholds: &Thresholds) -> Self {
        if saves_ns < thresholds.least_saving_ns {
            return Self::Info;
        }
        Self::of_share(saves_ns, run_ns, thresholds.warn_run_share, thresholds.high_run_share)
    }
}
