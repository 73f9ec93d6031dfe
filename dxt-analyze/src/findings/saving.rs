//! Value of a finding: the run time that the job would save without the finding's cause.

use super::Severity;
use crate::thresholds::Thresholds;
use serde::Serialize;

/// Run time that the job would save without the finding's cause (counterfactual), from a replay of the job's phases (parts of the run up to
/// a synchronization point or a time without I/O) with shorter calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Run time that the job would save, ns.
    pub saves_ns: u64,
    /// Lower bound of the run time saved, ns; `None` if the saving is a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_low_ns: Option<u64>,
    /// Upper bound of the run time saved, ns; `None` if the saving is a single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_high_ns: Option<u64>,
    /// Time in calls that the finding explains, and its share of the time in all calls.
    pub explains: Explains,
}

impl Saving {
    /// Returns the saving with all run times at most `most_ns`.
    #[must_use]
    pub fn at_most(self, most_ns: u64) -> Self {
        let bounded = |ns: Option<u64>| ns.map(|ns| ns.min(most_ns));
        Self {
            saves_ns: self.saves_ns.min(most_ns),
            saves_low_ns: bounded(self.saves_low_ns),
            saves_high_ns: bounded(self.saves_high_ns),
            ..self
        }
    }
}

/// Time in the calls that a finding explains, and its share of the time in all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Explains {
    /// Time in the explained calls that would be saved, ns summed over processes; all of their time for findings on work inside MPI-IO and HDF5.
    pub time_ns: u64,
    /// Share of `time_ns` in the time in all calls, in millionths: an integer, so that equal findings compare equal.
    #[serde(rename = "share", serialize_with = "as_share")]
    pub millionths: u64,
}

impl Eq for Explains {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn as_share<S: serde::Serializer>(millionths: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*millionths as f64 / 1e6)
}

impl Severity {
    /// Returns the severity of a finding by the share of its saving in the run time `run_ns`; `Info` below the threshold `least_saving_ns`.
    #[must_use]
    pub fn of_saving(saves_ns: u64, run_ns: u64, thresholds: &Thresholds) -> Self {
        if saves_ns < thresholds.least_saving_ns {
            return Self::Info;
        }
        Self::of_share(saves_ns, run_ns, thresholds.warn_run_share, thresholds.high_run_share)
    }
}
