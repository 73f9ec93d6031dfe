//! Upper bound of a finding's severity, regardless of its topic.

use super::remedy::facts::Facts;
use super::remedy::of_card;
use super::result::Weighed;
use super::weigh::{Card, is_sum};
use crate::findings::{Code, Finding, Saving, Severity};
use crate::shared::ratio::share;
use crate::thresholds::Thresholds;

/// Returns the saving of a finding, ns.
pub(super) fn saves(finding: &Finding) -> u64 {
    finding.saving.map_or(0, |saving: Saving| saving.saves_ns)
}

/// True if the saving is a guess: a sum of time that cannot be saved as a whole, or calls that each process makes once, whose share falls with
/// the length of the run.
pub(super) fn is_a_guess(finding: &Finding, run_ns: u64, processes: u64, least: &Thresholds) -> bool {
    let share = share(saves(finding), run_ns);
    is_sum(finding) && share < least.io_matters_share
        || share < least.high_run_share
            && (is_of_the_beginning(finding, processes, least) || is_as_ever(finding, processes, least))
}

/// True if the finding is about metadata calls that are neither many nor slow, as in any run.
fn is_as_ever(finding: &Finding, processes: u64, least: &Thresholds) -> bool {
    let calls = finding.about.calls.unwrap_or(0);
    let each_ns = finding.cost_ns.unwrap_or(0) / calls.max(1);
    finding.code == Code::METADATA_SHARE
        && calls < processes.saturating_mul(least.hundred_calls_min)
        && each_ns < least.slow_call_ns
}

/// True if the finding is about calls that each process makes once, at its start.
fn is_of_the_beginning(finding: &Finding, processes: u64, least: &Thresholds) -> bool {
    let few = || finding.about.calls.is_some_and(|calls| calls <= processes.saturating_mul(least.repeated_min));
    finding.code == Code::FIRST_CALLS || finding.code == Code::METADATA_SHARE && few()
}

/// Completes a finding with its remedies. Its severity becomes `Info` if it saves nothing or is not `reported`, unless it is about damage
/// of the trace.
pub(super) fn weighed(card: Card, reported: bool, facts: &Facts<'_, '_>) -> Weighed {
    let Card { mut finding, mut also, savings: _ } = card;
    let damaged = finding.code == Code::DAMAGED;
    if !damaged && (!reported || saves(&finding) == 0) {
        finding.severity = Severity::Info;
    }
    also.iter_mut().for_each(|other| other.severity = other.severity.min(finding.severity));
    let commands = of_card(facts, &finding, &also);
    for finding in also.iter_mut().chain([&mut finding]) {
        finding.about = finding.accused();
    }
    Weighed { finding, also, commands, sites: Vec::new() }
}
