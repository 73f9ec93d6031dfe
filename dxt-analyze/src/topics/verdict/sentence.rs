//! The verdict in a sentence.

use super::result::Verdict;
use crate::findings::{Finding, Severity};
use crate::text::units;

/// Per cent of the run time below which a saving is nothing to begin a report with.
const NOTHING: f64 = 0.5;

/// Share of the run time that asynchronous operations are in flight from which they may matter.
const BACKGROUND: f64 = 0.05;

/// `I/O is not the bottleneck`, or what costs most.
pub(crate) fn sentence(verdict: &Verdict) -> String {
    let percent = |ns: u64| crate::shared::ratio::share(ns, verdict.run_ns) * 100.0;
    if verdict.untimed {
        return "What I/O costs cannot be told without times: findings are of counts and bytes alone.".into();
    }
    if !verdict.io_matters {
        let most = verdict.io_share * 100.0;
        return if verdict.background_share >= BACKGROUND {
            format!(
                "The program is in calls of I/O for {most:.1} % of the run time only; asynchronous operations are in flight for {:.0} % of it, and whether it \
                 waits for them is not on record.",
                (verdict.background_share * 100.0).min(100.0)
            )
        } else if most < 0.1 {
            "I/O is not the bottleneck: it takes less than 0.1 % of the run time.".into()
        } else {
            format!("I/O is not the bottleneck: without it the run would be at most {most:.1} % shorter.")
        };
    }
    let worth = |finding: &Finding| {
        finding.saving.is_some_and(|saving| percent(saving.saves_ns) >= NOTHING) || finding.severity > Severity::Info
    };
    match verdict.findings.first().filter(|first| worth(&first.finding)) {
        Some(first) => {
            let saves = first.finding.saving.map_or(0, |saving| saving.saves_ns);
            let title = first.finding.title.trim_end_matches('.');
            format!("{}: {} of the run time ({:.1} %).", capital(title), units::duration(saves), percent(saves))
        }
        None => "Nothing stands out: I/O takes its time, and no rank, node, target, file or kind of call is to blame."
            .into(),
    }
}

/// With a capital in front.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
