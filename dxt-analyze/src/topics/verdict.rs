//! The first screen: what costs most, in words, and what to do about it.

use crate::findings::{Code, Finding};
use crate::text::units;
use crate::topics::summary::result::Summary;
use std::cmp::Reverse;

/// Findings on the first screen.
const SHOWN: usize = 3;
/// Two times are all but equal if they differ by less than one part in so many.
const NEARLY_ALL: u64 = 50;

/// The codes of the findings that stand on the first screen of a page.
pub(crate) fn top_codes(findings: &[Finding], summary: &Summary) -> Vec<Code> {
    verdict(findings, summary).top.into_iter().map(|costly| costly.finding.code).collect()
}

/// What the first screen says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The job in a line.
    pub(crate) job: String,
    /// The sentence above the findings.
    pub(crate) lead: String,
    /// The findings that cost most.
    pub(crate) top: Vec<Costly>,
    /// How many more there are.
    pub(crate) more: usize,
    /// What the trace lacks, in sentences.
    pub(crate) missing: Vec<String>,
}

/// A finding with its price in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Costly {
    /// The finding.
    pub(crate) finding: Finding,
    /// Its time.
    pub(crate) cost: Option<String>,
    /// That time's share of all time in calls, in words.
    pub(crate) share: Option<String>,
    /// Other findings that say the same of the same calls.
    pub(crate) also: Vec<Finding>,
}

/// Codes that say the same from two sides: the first names the cause, and stands for both.
const SAME_CAUSE: [(Code, Code); 6] = [
    (Code::SIEVING, Code::UNASKED),
    (Code::SERIAL, Code::SERIALISED),
    (Code::INDEPENDENT, Code::NO_COLLECTIVE_READS),
    (Code::INDEPENDENT, Code::NO_COLLECTIVE_WRITES),
    (Code::NO_MPIIO, Code::SHARED_INDEPENDENT),
    (Code::ONE_RANK, Code::BYTE_IMBALANCE),
];

/// Of all findings of the page.
pub(crate) fn verdict(findings: &[Finding], summary: &Summary) -> Verdict {
    let all_ns = summary.read_ns.saturating_add(summary.write_ns).saturating_add(summary.other_ns);
    let price = |(finding, also): &(&Finding, Vec<&Finding>)| {
        let cost = finding.cost_ns.filter(|&ns| ns > 0);
        let share = cost.filter(|_| all_ns > 0).map(|ns| {
            let percent = ns as f64 * 100.0 / all_ns as f64;
            format!("{percent:.1} % of the time in I/O calls")
        });
        let also = also.iter().map(|&other| other.clone()).collect();
        Costly { finding: (*finding).clone(), cost: cost.map(units::duration), share, also }
    };
    let groups = together(&ranked(findings));
    let top: Vec<Costly> = groups.iter().take(SHOWN).map(price).collect();
    let told: usize = top.iter().map(|costly| 1 + costly.also.len()).sum();
    let spent = format!(
        "{} on {} spent {} in I/O calls, summed over all processes; they read {} and wrote {}.",
        if summary.ranks > 0 { units::counted(summary.ranks, "rank") } else { units::processes(summary.processes) },
        units::nodes(summary.nodes),
        units::duration(all_ns),
        units::bytes(summary.bytes_read),
        units::bytes(summary.bytes_written)
    );
    let lead = if top.is_empty() { format!("Nothing stands out. {spent}") } else { spent };
    Verdict {
        job: job(summary),
        lead,
        more: findings.len().saturating_sub(told),
        top,
        missing: summary.missing.scope_lines().into_iter().chain(summary.missing.sentences()).collect(),
    }
}

/// By cost alone, but that a damaged trace makes all else doubtful and goes first. Of those without a cost the most severe come
/// first: they fill the places that are left.
fn ranked(findings: &[Finding]) -> Vec<&Finding> {
    let mut out: Vec<&Finding> = findings.iter().collect();
    let doubtful = |finding: &Finding| finding.code == Code::DAMAGED;
    out.sort_by_key(|finding| {
        (!doubtful(finding), Reverse(finding.cost_ns), is_symptom(finding), Reverse(finding.severity))
    });
    out
}

/// Whether it says that calls are slow, which others find a reason for.
fn is_symptom(finding: &Finding) -> bool {
    finding.code == Code::SLOW_OPERATIONS
}

/// Each finding with those behind it that say the same: their codes do, or their times are equal to the ns, which are then those of
/// the same calls, or all but equal, and one of them only says that calls are slow.
fn together<'a>(ranked: &[&'a Finding]) -> Vec<(&'a Finding, Vec<&'a Finding>)> {
    let by_code = |a: &Finding, b: &Finding| SAME_CAUSE.contains(&(a.code, b.code));
    let same_time = |a: &Finding, b: &Finding| match (a.cost_ns, b.cost_ns) {
        (Some(a_ns), Some(b_ns)) if a_ns > 0 && b_ns > 0 => {
            let near = a_ns.abs_diff(b_ns) <= a_ns.max(b_ns) / NEARLY_ALL;
            a_ns == b_ns || near && is_symptom(a) != is_symptom(b)
        }
        _ => false,
    };
    // Calls of one layer are slow because those of the layer below are.
    let both_symptoms = |a: &Finding, b: &Finding| is_symptom(a) && is_symptom(b);
    let same = |a: &Finding, b: &Finding| by_code(a, b) || by_code(b, a) || same_time(a, b) || both_symptoms(a, b);
    let mut groups: Vec<(&Finding, Vec<&Finding>)> = Vec::new();
    for &finding in ranked {
        match groups.iter_mut().find(|(first, _)| same(first, finding)) {
            // A reason stands before what it explains.
            Some((first, others)) if is_symptom(first) && same_time(first, finding) => {
                others.push(std::mem::replace(first, finding));
            }
            Some((_, others)) => others.push(finding),
            None => groups.push((finding, Vec::new())),
        }
    }
    groups
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
        Finding { code, severity, title: format!("{cost_ns:?}"), evidence: Vec::new(), cost_ns, saving: None, hint: String::new() }
    }

    #[test]
    fn what_costs_most_comes_first_behind_a_damaged_trace() {
        let all = [
            finding(Code::UNALIGNED, Severity::High, None),
            finding(Code::SLOW_RANK, Severity::Info, Some(5)),
            finding(Code::SLOW_TARGET, Severity::Warn, Some(50)),
            finding(Code::DAMAGED, Severity::High, None),
            finding(Code::CROSSING, Severity::Warn, None),
        ];
        let codes = |count| ranked(&all).into_iter().take(count).map(|finding| finding.code).collect::<Vec<Code>>();
        assert_eq!(codes(4), [Code::DAMAGED, Code::SLOW_TARGET, Code::SLOW_RANK, Code::UNALIGNED]);
    }

    #[test]
    fn what_says_the_same_is_told_once() {
        let all = [
            finding(Code::SLOW_OPERATIONS, Severity::High, Some(701)),
            finding(Code::LOCAL_SHARING, Severity::Warn, Some(700)),
            finding(Code::SLOW_RANK, Severity::Warn, Some(690)),
            finding(Code::UNASKED, Severity::Warn, Some(3)),
            finding(Code::SIEVING, Severity::Warn, Some(5)),
            finding(Code::UNALIGNED, Severity::Warn, None),
            finding(Code::CROSSING, Severity::Warn, None),
        ];
        let groups = together(&ranked(&all));
        let codes = |(first, others): &(&Finding, Vec<&Finding>)| {
            std::iter::once(first.code).chain(others.iter().map(|other| other.code)).collect::<Vec<Code>>()
        };
        let codes: Vec<Vec<Code>> = groups.iter().map(codes).collect();
        let slow = vec![Code::LOCAL_SHARING, Code::SLOW_OPERATIONS];
        let rank = vec![Code::SLOW_RANK];
        assert_eq!(
            codes,
            [slow, rank, vec![Code::SIEVING, Code::UNASKED], vec![Code::UNALIGNED], vec![Code::CROSSING]]
        );
    }
}
