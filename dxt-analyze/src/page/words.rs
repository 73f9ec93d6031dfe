//! Texts of the first screen, shared by the page and the terminal.

use crate::findings::{Code, Finding};
use crate::shared::ratio::share;
use crate::text::units;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::result::{SHOWN, Weighed};
use std::cmp::Reverse;

/// Minimum I/O time that no finding explains, as a share of the time in all calls, for a sentence on it.
const NOTHING: f64 = 0.005;

/// Returns the run time that the job would save without the finding's cause, ns; 0 if unknown.
pub(super) fn saves(finding: &Finding) -> u64 {
    finding.saving.map_or(0, |saving| saving.saves_ns)
}

/// Returns the findings with a saving: first the finding that the verdict's sentence names, then the others by saving, largest first.
pub(super) fn listed(verdict: &Verdict) -> Vec<&Weighed> {
    let mut all: Vec<&Weighed> = verdict.findings.iter().filter(|weighed| saves(&weighed.finding) > 0).collect();
    if let Some((_, others)) = all.split_first_mut() {
        others.sort_by_key(|weighed| Reverse(saves(&weighed.finding)));
    }
    all
}

/// Returns the findings shown as cards: the first few with a saving; if I/O takes too little time to matter, only the one that the verdict states.
pub(super) fn on_cards(verdict: &Verdict) -> Vec<&Weighed> {
    let mut first = listed(verdict);
    if !verdict.io_matters {
        first.retain(|weighed| verdict.states == Some(weighed.finding.code));
    }
    first.truncate(SHOWN);
    first
}

/// Formats another cause of the same calls.
pub(super) fn other_cause(finding: &Finding, title: &str) -> String {
    format!(
        "the same calls: {title}; fixing only this would save {} ({})",
        units::duration(saves(finding)),
        finding.code.name()
    )
}

/// Returns the distinct codes of other findings that describe the same problem, without those that are `named` by their titles.
pub(super) fn also(weighed: &Weighed, named: &[&Finding]) -> Vec<Code> {
    let mut out: Vec<Code> = Vec::new();
    for other in &weighed.also {
        let is_named = named.iter().any(|named| named.code == other.code);
        if !is_named && !out.contains(&other.code) && other.code != weighed.finding.code {
            out.push(other.code);
        }
    }
    out
}

/// Formats the range of the saving, such as `1.20 s to 2.40 s`; `None` if the saving is a single value.
pub(super) fn range(finding: &Finding) -> Option<String> {
    let saving = finding.saving?;
    let (low, high) = (saving.saves_low_ns.unwrap_or(saving.saves_ns), saving.saves_high_ns.unwrap_or(saving.saves_ns));
    (low < high).then(|| format!("{} to {}", units::duration(low), units::duration(high)))
}

/// Formats the share `part` / `whole` in percent: `12.3 %`, `< 0.1 %`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match share(part, whole) * 100.0 {
        small if part > 0 && small < 0.05 => "< 0.1 %".into(),
        large if part < whole && large >= 99.95 => "> 99.9 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// Capitalizes the first letter of `text`.
pub(super) fn sentence(text: &str) -> String {
    crate::topics::verdict::sentence::capital(text)
}

/// Returns the job description as pairs of label and text: program, run time, processes, user.
pub(super) fn job(verdict: &Verdict) -> Vec<(&'static str, String)> {
    let job = &verdict.job;
    // Darshan records that the program used MPI, but not the implementation.
    let mpi = if matches!(job.mpi.as_str(), "" | "MPI") { String::new() } else { format!(", {}", job.mpi) };
    let scheduler = match job.scheduler.as_str() {
        "" => "no scheduler".to_owned(),
        named if named.contains('=') => named.to_owned(),
        number => format!("job {number}"),
    };
    let mut out = vec![
        ("Program", job.command.clone()),
        ("Run time", format!("{}, started {}", units::duration(job.run_ns), job.start)),
        ("Ran as", format!("{} on {}{mpi}", job.processes, job.nodes)),
        ("User, job", format!("uid {}, {scheduler}", job.uid)),
    ];
    if !job.file_systems.is_empty() {
        out.push(("File systems", job.file_systems.join(", ")));
    }
    out
}

/// Formats the shares of the run time by activity in one line: `writes 12.1 %, metadata 0.4 %, no I/O 87.5 %`.
pub(super) fn ledger(verdict: &Verdict) -> String {
    let total = verdict.ledger.total_ns();
    let parts = verdict.ledger.named().into_iter().filter(|(_, ns)| *ns > 0);
    parts.map(|(name, ns)| format!("{name} {}", percent(ns, total))).collect::<Vec<String>>().join(", ")
}

/// Returns a sentence on the time in I/O that no finding explains; `None` if that time is negligible.
pub(super) fn rest(verdict: &Verdict) -> Option<String> {
    let rest = verdict.rest.as_ref().filter(|rest| verdict.io_matters && rest.share >= NOTHING)?;
    Some(format!(
        "{:.0} % of the time in I/O calls is in no finding, the largest part in {} ({:.0} %).",
        rest.share * 100.0,
        rest.largest,
        rest.largest_share * 100.0
    ))
}

/// Returns a sentence on the saving of all findings together, if there are several.
pub(super) fn together(verdict: &Verdict) -> Option<String> {
    let saving = verdict.together.filter(|_| verdict.io_matters && listed(verdict).len() > 1)?;
    let most = saving.saves_high_ns.unwrap_or(saving.saves_ns);
    // Ranks that wait for each other save the same time only once.
    let sum = listed(verdict).iter().map(|weighed| saves(&weighed.finding)).fold(0, u64::saturating_add);
    let why = if sum > most { ", as some save the same time" } else { "" };
    Some(format!(
        "Fixing all findings would save at most {} ({} of the run time) in total{why}.",
        units::duration(most),
        percent(most, verdict.run_ns)
    ))
}

/// Returns the finding that one kind of calls takes much time although none is an outlier ([`Code::UNCOVERED`]); `None` if absent.
pub(super) fn uncovered(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings.iter().map(|weighed| &weighed.finding).find(|finding| finding.code == Code::UNCOVERED)
}

/// Returns the finding that the trace is damaged ([`Code::DAMAGED`]); `None` if the trace is intact.
pub(super) fn damage(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings.iter().map(|weighed| &weighed.finding).find(|finding| finding.code == Code::DAMAGED)
}

/// Returns a sentence with the number of findings without a saving (unknown or 0); `None` if there are none.
pub(super) fn observations(verdict: &Verdict) -> Option<String> {
    // Codes of findings that other parts of the screen report.
    let own = [Code::DAMAGED, Code::FOLDED, Code::UNCOVERED];
    let all = verdict.findings.iter().map(|weighed| &weighed.finding);
    match all.filter(|finding| saves(finding) == 0 && !own.contains(&finding.code)).count() {
        0 => None,
        1 => Some("1 more observation has no known saving of run time; see its section.".into()),
        more => Some(format!("{more} more observations have no known saving of run time; see their sections.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_there_is_never_nothing_and_one_that_is_not_all_never_all() {
        let shares = [percent(0, 5), percent(1, 1_000_000), percent(1, 8), percent(9999, 10_000), percent(7, 7)];
        assert_eq!(shares, ["0.0 %", "< 0.1 %", "12.5 %", "> 99.9 %", "100.0 %"]);
    }
}
