//! How much a finding is worth at most, whatever its topic said.

use super::remedy::facts::Facts;
use super::remedy::of_card;
use super::result::Weighed;
use super::weigh::{Card, is_sum};
use crate::findings::{Code, Finding, Saving, Severity};
use crate::shared::ratio::share;
use crate::thresholds::Thresholds;
use crate::topics::causes::shape::slow_metadata::MANY_METADATA;

/// What a finding saves, ns.
pub(super) fn saves(finding: &Finding) -> u64 {
    finding.saving.map_or(0, |saving: Saving| saving.saves_ns)
}

/// Whether it is a guess how much could be saved: of a sum that nobody can do without altogether; and of what each process does once, it is the
/// less the longer a run is.
pub(super) fn is_a_guess(finding: &Finding, run_ns: u64, processes: u64, least: &Thresholds) -> bool {
    let share = share(saves(finding), run_ns);
    is_sum(finding) && share < least.io_matters_share
        || share < least.high_run_share && (is_of_the_beginning(finding, processes) || is_as_ever(finding, processes))
}

/// Slow metadata calls of a process up to which it makes them once: it opens a file and closes it.
const ONCE: u64 = 2;

/// What a metadata call takes at least to be slow, where there are not many, ns.
const SLOW_NS: u64 = 5_000_000;

/// Whether a finding is of metadata calls that are neither many nor slow.
fn is_as_ever(finding: &Finding, processes: u64) -> bool {
    let calls = finding.about.calls.unwrap_or(0);
    let each_ns = finding.cost_ns.unwrap_or(0) / calls.max(1);
    finding.code == Code::METADATA_SHARE && calls < processes.saturating_mul(MANY_METADATA) && each_ns < SLOW_NS
}

/// Whether a finding is of what each process does but once, as it begins.
fn is_of_the_beginning(finding: &Finding, processes: u64) -> bool {
    let few = || finding.about.calls.is_some_and(|calls| calls <= processes.saturating_mul(ONCE));
    finding.code == Code::FIRST_CALLS || finding.code == Code::METADATA_SHARE && few()
}

/// What saves nothing is worth knowing at most, and what is not to be reported; where I/O does not matter, that is everything.
pub(super) fn weighed(card: Card, reported: bool, facts: &Facts<'_, '_>) -> Weighed {
    let Card { mut finding, mut also } = card;
    let damaged = finding.code == Code::DAMAGED;
    if !damaged && (!reported || saves(&finding) == 0) {
        finding.severity = Severity::Info;
    }
    let commands = of_card(facts, &finding, &also);
    for finding in also.iter_mut().chain([&mut finding]) {
        finding.about = finding.accused();
    }
    Weighed { finding, also, commands }
}
