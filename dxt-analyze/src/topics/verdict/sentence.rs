//! The sentence that states the verdict.

use super::result::Verdict;
use crate::findings::{Code, Finding, Severity};
use crate::hypotheses::{Hypothesis, Says};
use crate::text::units;
use crate::thresholds::Thresholds;

/// Returns a time as a percentage of the run time.
fn percent(verdict: &Verdict, ns: u64) -> f64 {
    crate::shared::ratio::share(ns, verdict.run_ns) * 100.0
}

/// True for findings that save time also where I/O is no bottleneck: waits for a processor, starts of processes, and repeated computing.
pub(super) fn is_beside_io(code: Code) -> bool {
    [Code::CPU_WAIT, Code::LAUNCHED, Code::PROCESSED_AGAIN].contains(&code)
}

/// Returns the finding that the sentence states; `None` if nothing stands out, I/O does not matter, or calls have no times. A saving below
/// `least.least_run_share` is not stated. `is_sequential`: see [`Run::is_sequential`](crate::model::Run::is_sequential).
pub(crate) fn stated<'v>(verdict: &'v Verdict, least: &Thresholds, is_sequential: bool) -> Option<&'v Finding> {
    if verdict.untimed {
        return None;
    }
    if !verdict.io_matters {
        let others = verdict.findings.iter().map(|weighed| &weighed.finding).find(|of| is_beside_io(of.code));
        return others.filter(|of| of.severity > Severity::Info);
    }
    let worth = |finding: &Finding| {
        finding.saving.is_some_and(|saving| saving.saves_ns as f64 >= verdict.run_ns as f64 * least.least_run_share)
            || finding.severity > Severity::Info
    };
    // A finding at info is less than the largest unexplained part of the time: it is not stated if that part is large.
    let large = verdict.findings.iter().any(|weighed| weighed.finding.code == Code::UNCOVERED);
    let small = |finding: &Finding| {
        let contrasts =
            Hypothesis::of(finding.code).says == Says::Slower && !(is_sequential && finding.code == Code::COMMON_READS);
        let tells = contrasts && !is_beside_io(finding.code) || finding.code == Code::BY_TURNS;
        large && !tells && finding.severity == Severity::Info
    };
    // Damage of the trace is stated elsewhere.
    let first = verdict.findings.iter().map(|weighed| &weighed.finding).find(|finding| finding.code != Code::DAMAGED);
    // Alternating I/O and computing are stated as nothing unusual, which needs all calls.
    let unknown = |finding: &Finding| verdict.lower_bounds && finding.code == Code::BY_TURNS;
    first.filter(|first| worth(first) && !small(first) && !unknown(first))
}

/// Returns the sentence: `I/O is not the bottleneck`, or the finding that costs most. Adds mapped files, missing single calls and the hint
/// of `one_stripe`, where they matter.
pub(crate) fn sentence(
    thresholds: &Thresholds,
    verdict: &Verdict,
    stated: Option<&Finding>,
    mapped: Option<Mapped>,
    calls_on_record: bool,
    one_stripe: Option<String>,
) -> String {
    if verdict.untimed {
        return "The cost of I/O is unknown without times of calls: findings are based on counts and bytes only."
            .into();
    }
    if !verdict.io_matters && stated.is_none() {
        let most = verdict.io_share * 100.0;
        // Page faults of mapped files are no calls.
        let sentence = if verdict.lower_bounds {
            format!(
                "The cost of I/O is unknown: I/O takes at least {most:.1} % of the run time, and some calls were not recorded."
            )
        } else if verdict.beside_computing {
            "I/O is not the bottleneck: its calls are made beside a thread that is busy all the time (unless that thread only spins until they end)."
                .into()
        } else if verdict.background_share >= thresholds.minor_share {
            format!(
                "The program spends only {most:.1} % of the run time in I/O calls; asynchronous operations are in flight for {:.0} % of the run time, and \
                 whether the program waits for these operations is not recorded.",
                (verdict.background_share * 100.0).min(100.0)
            )
        } else if mapped.is_some() {
            format!("The cost of I/O is unknown: calls take {most:.1} % of the run time.")
        } else if most < 0.1 {
            "I/O is not the bottleneck: it takes less than 0.1 % of the run time.".into()
        } else {
            format!("I/O is not the bottleneck: it takes at most {most:.1} % of the run time.")
        };
        return sentence + &waiting(thresholds, verdict) + &mapped.map_or_else(String::new, unseen);
    }
    match stated {
        // An alternating run has no fault to fix.
        Some(first) if first.code == Code::BY_TURNS => {
            format!("{}.{}", capital(&first.title.to_string()), one_stripe.unwrap_or_default())
        }
        Some(first) => {
            let saves = first.saving.map_or(0, |saving| saving.saves_ns);
            format!(
                "{}. Fixing this would shorten the run by {}{} ({:.1} %).",
                capital(first.title.to_string().trim_end_matches('.')),
                if first.saving.is_some_and(|saving| saving.saves_low_ns == Some(0)) { "up to " } else { "" },
                units::duration(saves),
                percent(verdict, saves)
            )
        }
        None => {
            let whole = !verdict.lower_bounds && mapped.is_none();
            let sentence = nothing(thresholds, verdict, calls_on_record, whole);
            sentence + &mapped.map_or_else(String::new, unseen) + &one_stripe.unwrap_or_default()
        }
    }
}

/// States that nothing stands out, and the class of calls with most time. `whole`: true if all reads and writes are on record, so that a cause
/// would show.
fn nothing(thresholds: &Thresholds, verdict: &Verdict, calls_on_record: bool, whole: bool) -> String {
    let largest = verdict.rest.as_ref().filter(|rest| rest.largest_share >= thresholds.half_share);
    let what = largest.map_or_else(
        || "I/O takes time".to_owned(),
        |rest| format!("{} take {:.0} % of the time in I/O", rest.largest, rest.largest_share * 100.0),
    );
    if !whole {
        let why = if verdict.lower_bounds { ", and some calls were not recorded" } else { "" };
        format!("The recorded data show no cause; {what}{why}.")
    } else if calls_on_record {
        format!("Nothing stands out: {what}, and no rank, node, target, file or kind of call is to blame.")
    } else {
        format!(
            "Nothing stands out in the counters: {what}, and no rank, file or kind of call is to blame; single calls were not recorded, so that slow targets and \
             slow time windows cannot be found."
        )
    }
}

/// Returns the part of the sentence about a straggler (rank for which all others wait), used where I/O does not matter.
fn waiting(thresholds: &Thresholds, verdict: &Verdict) -> String {
    let late = verdict.findings.iter().map(|weighed| &weighed.finding).find(|one| one.code == Code::LATE_TO_MEET);
    let saves = |finding: &Finding| finding.saving.map_or(0, |saving| saving.saves_ns);
    match late.filter(|late| saves(late) as f64 >= verdict.run_ns as f64 * thresholds.minor_share) {
        Some(late) => format!(" Ranks wait for each other: {}.", late.title),
        None => String::new(),
    }
}

/// Number of mapped files, and their bytes: their reads and writes are not recorded.
pub(crate) type Mapped = (u64, u64);

fn unseen((files, bytes): Mapped) -> String {
    format!(
        " Reads and writes through {} ({}) are not recorded.",
        units::counted(files, "mapped file"),
        units::bytes(bytes)
    )
}

pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
