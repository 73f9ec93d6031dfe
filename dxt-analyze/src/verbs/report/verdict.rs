//! The first screen: what costs most, in words, and what to do about it.

use crate::analyses::summary::Summary;
use crate::findings::{Code, Finding};
use crate::render::units;
use std::cmp::Reverse;

/// Findings on the first screen.
const SHOWN: usize = 3;

/// What the first screen says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// The job in a line.
    pub(super) job: String,
    /// The sentence above the findings.
    pub(super) lead: String,
    /// The findings that cost most.
    pub(super) top: Vec<Costly>,
    /// How many more there are.
    pub(super) more: usize,
    /// What the trace lacks, in sentences.
    pub(super) missing: Vec<String>,
}

/// A finding with its price in words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Costly {
    /// The finding.
    pub(super) finding: Finding,
    /// Its time.
    pub(super) cost: Option<String>,
    /// That time's share of all time in calls, in words.
    pub(super) share: Option<String>,
}

/// Of all findings of the page.
pub(super) fn verdict(findings: &[Finding], summary: &Summary) -> Verdict {
    let all_ns = summary.read_ns.saturating_add(summary.write_ns).saturating_add(summary.other_ns);
    let price = |finding: &&Finding| {
        let cost = finding.cost_ns.filter(|&ns| ns > 0);
        let share = cost.filter(|_| all_ns > 0).map(|ns| {
            let percent = ns as f64 * 100.0 / all_ns as f64;
            format!("{percent:.1} % of the time in I/O calls")
        });
        Costly { finding: (*finding).clone(), cost: cost.map(units::duration), share }
    };
    let top: Vec<Costly> = ranked(findings).iter().take(SHOWN).map(price).collect();
    let spent = format!(
        "{} ranks on {} nodes spent {} in I/O calls, summed over all processes; they read {} and wrote {}.",
        units::count(summary.ranks.max(summary.processes)),
        units::count(summary.nodes),
        units::duration(all_ns),
        units::bytes(summary.bytes_read),
        units::bytes(summary.bytes_written)
    );
    let lead = if top.is_empty() { format!("Nothing stands out. {spent}") } else { spent };
    Verdict {
        job: job(summary),
        lead,
        more: findings.len().saturating_sub(top.len()),
        top,
        missing: summary.missing.scope_lines().into_iter().chain(summary.missing.sentences()).collect(),
    }
}

/// By cost alone, but that a damaged trace makes all else doubtful and goes first. Of those without a cost the most severe come
/// first: they fill the places that are left.
fn ranked(findings: &[Finding]) -> Vec<&Finding> {
    let mut out: Vec<&Finding> = findings.iter().collect();
    let doubtful = |finding: &Finding| finding.code == Code::Damaged;
    out.sort_by_key(|finding| (!doubtful(finding), Reverse(finding.cost_ns), Reverse(finding.severity)));
    out
}

fn job(summary: &Summary) -> String {
    let job = &summary.job;
    let mut words = vec![format!("started {}", job.start), format!("ran {}", units::duration(job.runtime_ns))];
    if !job.scheduler.is_empty() {
        words.insert(0, format!("job {}", job.scheduler));
    }
    if !job.mpi.is_empty() {
        words.push(job.mpi.clone());
    }
    words.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    fn finding(code: Code, severity: Severity, cost_ns: Option<u64>) -> Finding {
        Finding { code, severity, title: format!("{cost_ns:?}"), evidence: Vec::new(), cost_ns, hint: String::new() }
    }

    #[test]
    fn what_costs_most_comes_first_behind_a_damaged_trace() {
        let all = [
            finding(Code::Unaligned, Severity::High, None),
            finding(Code::SlowRank, Severity::Info, Some(5)),
            finding(Code::SlowTarget, Severity::Warn, Some(50)),
            finding(Code::Damaged, Severity::High, None),
            finding(Code::Crossing, Severity::Warn, None),
        ];
        let codes = |count| ranked(&all).into_iter().take(count).map(|finding| finding.code).collect::<Vec<Code>>();
        assert_eq!(codes(4), [Code::Damaged, Code::SlowTarget, Code::SlowRank, Code::Unaligned]);
    }
}
