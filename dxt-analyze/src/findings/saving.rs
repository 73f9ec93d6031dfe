//! What a finding is worth: run time of the job.

use super::Severity;
use crate::thresholds::Thresholds;
use serde::Serialize;

/// Run time that the job would save, by replay of its phases with the calls that a finding explains shortened. In ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Time saved.
    pub saves_ns: u64,
    /// At least that, where it is a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_low_ns: Option<u64>,
    /// At most that, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_high_ns: Option<u64>,
    /// The calls that it explains.
    pub explains: Explains,
}

/// Calls that a finding explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explains {
    /// Time in them that would be saved, ns, summed over processes; of findings on what MPI-IO and HDF5 do themselves all of that.
    pub time_ns: u64,
    /// Share of all time in calls, in millionths, so that equal findings are equal.
    #[serde(rename = "share", serialize_with = "as_share")]
    pub millionths: u64,
}

impl Eq for Explains {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn as_share<S: serde::Serializer>(millionths: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*millionths as f64 / 1e6)
}

impl Severity {
    /// By the share of a run of `run_ns` that `saves_ns` is, if that is a time worth a word.
    #[must_use]
    pub fn of_saving(saves_ns: u64, run_ns: u64, thresholds: &Thresholds) -> Self {
        if saves_ns < thresholds.least_saving_ns {
            return Self::Info;
        }
        Self::of_share(saves_ns, run_ns, thresholds.warn_run_share, thresholds.high_run_share)
    }
}
