//! The first screen: what costs most, in words, and what to do about it.

use crate::analyses::summary::Summary;
use crate::findings::{Finding, Severity};
use crate::render::units;

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
    let mut costly: Vec<&Finding> = findings.iter().collect();
    // By cost alone; what has none, such as a damaged trace, goes first only if it makes all else doubtful.
    let doubtful = |finding: &Finding| finding.cost_ns.is_none() && finding.severity == Severity::High;
    costly.sort_by_key(|finding| (!doubtful(finding), std::cmp::Reverse(finding.cost_ns)));
    let price = |finding: &&Finding| {
        let cost = finding.cost_ns.filter(|&ns| ns > 0);
        let share = cost.filter(|_| all_ns > 0).map(|ns| {
            let percent = ns as f64 * 100.0 / all_ns as f64;
            format!("{percent:.1} % of the time in I/O calls")
        });
        Costly { finding: (*finding).clone(), cost: cost.map(units::duration), share }
    };
    let top: Vec<Costly> = costly.iter().take(SHOWN).map(price).collect();
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
