//! A run that was slow: from when on, in what, by how much, and the same in a sentence.

use super::pace::Does;
use crate::text::units;
use serde::{Deserialize, Serialize};

/// What is slow in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowCalls {
    /// What they do.
    pub does: Does,
    /// The first of them that are slow begin so long after the run's start, ns.
    pub from_ns: u64,
    /// Their time while the run is slow, summed over processes, ns.
    pub time_ns: u64,
    /// The same of the other runs, in the median.
    pub usual_ns: u64,
    /// The former over the latter.
    pub slower: f64,
}

/// A slow run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowRun {
    /// Its key.
    pub job: String,
    /// The first of its files.
    pub source: String,
    /// Last part of the executable's path.
    pub program: String,
    /// Runs that it is compared with.
    pub others: u64,
    /// Whether it was slow all the time.
    pub all_the_time: bool,
    /// From when on it was slow, ns since its start.
    pub from_ns: u64,
    /// The same, ns since 1970-01-01 UTC.
    pub from_unix_ns: i64,
    /// Until when; `None`: to the end of its reads and writes.
    pub until_ns: Option<u64>,
    /// In what, what was slow first before others.
    pub calls: Vec<SlowCalls>,
    /// Time that its calls took more than those of the others, summed over processes, ns.
    pub longer_ns: u64,
    /// Likewise of the run from its start to its end, if it took longer.
    pub run_longer_ns: u64,
    /// All that in a sentence.
    pub sentence: String,
}

/// What the verdict says of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    /// It is asked whether this one was slow: it was read now.
    #[serde(skip)]
    pub(super) is_new: bool,
    /// It was, when it was read.
    pub(super) was_slow: bool,
    pub(super) job: String,
    pub(super) source: String,
    pub(super) program: String,
    pub(super) start_unix_ns: i64,
}

/// What is said of it.
pub(super) fn sentence(slow: &SlowRun) -> String {
    let from = units::moment(slow.from_ns);
    let when = match (slow.all_the_time, slow.until_ns) {
        (true, _) => "all the time".to_owned(),
        (false, None) => format!("from {from} on"),
        (false, Some(until)) => format!("from {from} until {}", units::moment(until)),
    };
    let times = |slower: f64| if slower < 10.0 { format!("{slower:.1}") } else { units::count(slower.round() as u64) };
    let calls = slow.calls.iter().map(|one| format!("{} took {} times as long", one.does.plural(), times(one.slower)));
    let longer = match slow.run_longer_ns {
        0 => String::new(),
        ns => format!("; the run took {} longer", units::duration(ns)),
    };
    format!(
        "Of {} runs of {} that did the same, {} was slow {when}: {}{longer}.",
        slow.others + 1,
        slow.program,
        slow.job,
        calls.collect::<Vec<String>>().join(", ")
    )
}
