//! The verdict in a sentence.

use super::result::Verdict;
use super::weigh::is_contrast;
use crate::findings::{Code, Finding, Severity};
use crate::text::units;

/// Per cent of the run time below which a saving is nothing to begin a report with.
const NOTHING: f64 = 0.5;

/// Share of the run time that asynchronous operations are in flight from which they may matter.
const BACKGROUND: f64 = 0.05;

/// `I/O is not the bottleneck`, or what costs most. Of `mapped` files, and of single calls that are not `calls_on_record`, it says so; and of a file of
/// `one_stripe`, where nothing else is odd.
pub(crate) fn sentence(
    verdict: &Verdict,
    mapped: Option<Mapped>,
    calls_on_record: bool,
    one_stripe: Option<String>,
) -> String {
    let percent = |ns: u64| crate::shared::ratio::share(ns, verdict.run_ns) * 100.0;
    if verdict.untimed {
        return "What I/O costs cannot be told without times: findings are of counts and bytes alone.".into();
    }
    if !verdict.io_matters {
        let most = verdict.io_share * 100.0;
        // Page faults of mapped files are no calls.
        let (what, it) = if mapped.is_some() { ("Calls of I/O are", "them") } else { ("I/O is", "it") };
        let sentence = if verdict.background_share >= BACKGROUND {
            format!(
                "The program is in calls of I/O for {most:.1} % of the run time only; asynchronous operations are in flight for {:.0} % of it, and whether it \
                 waits for them is not on record.",
                (verdict.background_share * 100.0).min(100.0)
            )
        } else if verdict.lower_bounds {
            format!(
                "What I/O costs cannot be told: at least {most:.1} % of the run time is in it, and calls are on no record."
            )
        } else if most < 0.1 {
            format!("{what} not the bottleneck: less than 0.1 % of the run time is in {it}.")
        } else {
            format!("{what} not the bottleneck: at most {most:.1} % of the run time is in {it}.")
        };
        return sentence + &waiting(verdict) + &mapped.map_or_else(String::new, unseen);
    }
    let worth = |finding: &Finding| {
        finding.saving.is_some_and(|saving| percent(saving.saves_ns) >= NOTHING) || finding.severity > Severity::Info
    };
    // What is worth knowing at most says less than what takes the time. Above what is worth more, nobody reads that nothing stands out.
    let large = verdict.findings.iter().any(|weighed| weighed.finding.code == Code::UNCOVERED);
    let small = |finding: &Finding| {
        let tells = is_contrast(finding.code) || finding.code == Code::BY_TURNS;
        large && !tells && finding.severity == Severity::Info
    };
    // That the trace is damaged is said beside.
    let first = verdict.findings.iter().find(|weighed| weighed.finding.code != Code::DAMAGED);
    match first.filter(|first| worth(&first.finding) && !small(&first.finding)) {
        Some(first) => {
            let saves = first.finding.saving.map_or(0, |saving| saving.saves_ns);
            let title = first.finding.title.trim_end_matches('.');
            let beside = one_stripe.filter(|_| first.finding.code == Code::BY_TURNS).unwrap_or_default();
            format!("{}: {} of the run time ({:.1} %).{beside}", capital(title), units::duration(saves), percent(saves))
        }
        None => nothing(verdict, calls_on_record) + &one_stripe.unwrap_or_default(),
    }
}

/// That nothing stands out, and what takes the time.
fn nothing(verdict: &Verdict, calls_on_record: bool) -> String {
    let largest = verdict.rest.as_ref().filter(|rest| rest.largest_share >= LARGE);
    let what = largest.map_or_else(
        || "I/O takes its time".to_owned(),
        |rest| format!("{} take {:.0} % of the time in I/O", rest.largest, rest.largest_share * 100.0),
    );
    if calls_on_record {
        format!("Nothing stands out: {what}, and no rank, node, target, file or kind of call is to blame.")
    } else {
        format!(
            "Nothing stands out in the counters: {what}, and no rank, file or kind of call is to blame; single calls, and with them slow targets and slow \
             whiles, are not on record."
        )
    }
}

/// Share of the time in calls from which the largest part is named.
const LARGE: f64 = 0.5;

/// Share of the run time from which what ranks wait for each other is told beside.
const MUCH: f64 = 0.05;

/// Who is waited for, where that is no matter of I/O.
fn waiting(verdict: &Verdict) -> String {
    let late = verdict.findings.iter().map(|weighed| &weighed.finding).find(|one| one.code == Code::LATE_TO_MEET);
    let saves = |finding: &Finding| finding.saving.map_or(0, |saving| saving.saves_ns);
    match late.filter(|late| saves(late) as f64 >= verdict.run_ns as f64 * MUCH) {
        Some(late) => format!(" Ranks wait for each other: {}.", late.title),
        None => String::new(),
    }
}

/// Files that are mapped, and their bytes: what is read and written there is not on record.
pub(crate) type Mapped = (u64, u64);

fn unseen((files, bytes): Mapped) -> String {
    format!(
        " What is read and written through {} ({}) is not on record.",
        units::counted(files, "mapped file"),
        units::bytes(bytes)
    )
}

/// With a capital in front.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
