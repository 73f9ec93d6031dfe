//! Sentences on traces that are damaged or incomplete.

use super::Words;
use crate::findings::{About, Evidence};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{Origin, Problem};
use crate::text::units;

/// Damage and losses of a trace or log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage<'a> {
    pub(crate) origin: Origin,
    /// Number of recorded calls that cannot be read.
    pub(crate) lost_segments: u64,
    /// Number of processes of which no call can be read.
    pub(crate) lost_processes: u64,
    /// Number of the job's ranks that no input file contains.
    pub(crate) absent_ranks: u64,
    /// Number of recorded calls whose file and operation are unknown.
    pub(crate) segments_without_stream: u64,
    /// Number of blocks of segments that cannot be decoded.
    pub(crate) lost_blocks: u64,
    /// Number of input files of which no part can be read.
    pub(crate) unread_files: u64,
    /// Number of all problems found in the inputs.
    pub(crate) problem_count: u64,
    /// First few problems found in the inputs.
    pub(crate) problems: &'a [Problem],
    /// Reason why a recovered trace is inexact; `None` if it is exact.
    pub(crate) inexact: Option<Inexact>,
}

/// Reason why a recovered trace is inexact.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inexact {
    /// Number of calls that may be counted twice.
    Twice(u64),
    /// Number of bytes that the spool lacks.
    CutShort(u64),
}

/// Formats finding DXT-T001: a damaged or incomplete trace. Lists only kinds of loss that occurred.
pub(crate) fn damaged(facts: &Damage<'_>) -> Words {
    let evidence = facts.problems.iter().take(NAMED_EXAMPLES).map(|problem| {
        let about = About { file: Some(problem.file.clone()), offset: Some(problem.offset), ..About::default() };
        Evidence::of(format!("{} at byte {}: {}", problem.file, problem.offset, problem.what), about)
    });
    Words::of(
        damage(facts),
        evidence,
        "run `dxt-analyze check` to see what can be read; counts and sums here are lower bounds (upper bounds where calls may be counted twice)",
    )
}

fn damage(facts: &Damage<'_>) -> String {
    let lost = [
        (facts.lost_segments, "call", "lost"),
        (facts.lost_processes, "process", "lost"),
        (facts.absent_ranks, "rank", "absent"),
        (facts.segments_without_stream, "call", "on unknown files"),
    ];
    let lost = lost
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, how)| format!("{} {how}", units::counted(count, what)));
    let lost: Vec<String> = lost.collect();
    let noun = facts.origin.noun();
    if !lost.is_empty() {
        return format!("the {noun} is incomplete: {}", lost.join(", "));
    }
    if facts.unread_files > 0 && facts.unread_files == facts.problem_count {
        let (files, are) =
            (units::counted(facts.unread_files, "trace file"), units::agree(facts.unread_files, "is", "are"));
        return format!("{files} given to dxt-analyze {are} unreadable, and in no number here");
    }
    if let Some(inexact) = facts.inexact.filter(|_| facts.problem_count == 0 && facts.lost_blocks == 0) {
        let why = match inexact {
            Inexact::Twice(calls) => format!(
                "{} may be counted twice (the {noun} was recovered just when they were counted)",
                units::counted(calls, "call")
            ),
            Inexact::CutShort(bytes) => {
                format!("its file was cut short, and {} of recorded calls are missing", units::bytes(bytes))
            }
        };
        return format!("the {noun} is inexact: {why}");
    }
    let places = units::counted(facts.problem_count.max(facts.lost_blocks), "place");
    format!("the {noun} is damaged in {places}; nothing shows that a call was lost")
}

/// Formats finding DXT-T002: operations that only counters record. `filtered`: true if a filter of the tracer may be the reason.
pub(crate) fn folded(origin: Origin, operations: u64, filtered: bool) -> Words {
    let counted = units::counted(operations, "operation");
    let title = match origin {
        Origin::Trace => {
            format!("{counted} {} recorded only in sums, not as single calls", units::agree(operations, "is", "are"))
        }
        Origin::Darshan => {
            format!("{counted} {} no DXT segment (record of a single call)", units::agree(operations, "has", "have"))
        }
    };
    Words::new(title, record_all(origin, filtered))
}

/// Returns advice on how to record every operation as a single call. `filtered`: true if a filter of the tracer may be the reason why some
/// were only counted.
pub(crate) const fn record_all(origin: Origin, filtered: bool) -> &'static str {
    match (origin, filtered) {
        (Origin::Trace, true) => {
            "to record every operation, unset DXT_MIN_SIZE, DXT_TRIGGER_CONF_PATH and DXT_JOB_BYTES and, if needed, set DXT_BUFFER_MAX higher"
        }
        (Origin::Trace, false) => "set DXT_BUFFER_MAX higher to record every operation",
        (Origin::Darshan, _) => {
            "to record every operation, set DARSHAN_MODMEM higher; or record fewer files completely (DXT_TRIGGER_CONF_PATH, or Darshan's configuration file)"
        }
    }
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let problem = Problem { file: "trace.dxt".into(), offset: 4096, what: "checksum differs".into() };
    let problems = std::slice::from_ref(&problem);
    let none = Damage::default();
    let all = Damage {
        lost_segments: 2000,
        lost_processes: 1,
        absent_ranks: 3,
        segments_without_stream: 7,
        problem_count: 1,
        problems,
        ..none.clone()
    };
    let log = Damage { origin: Origin::Darshan, lost_segments: 1, ..none.clone() };
    let unread = Damage { unread_files: 2, problem_count: 2, ..none.clone() };
    let inexact = Damage { inexact: Some(Inexact::Twice(12)), ..none.clone() };
    let cut = Damage { inexact: Some(Inexact::CutShort(4096)), ..none.clone() };
    let said = |facts: &Damage<'_>| (Code::DAMAGED, damaged(facts));
    vec![
        said(&all),
        said(&log),
        said(&unread),
        said(&inexact),
        said(&cut),
        said(&Damage { problem_count: 1, problems, ..none }),
        (Code::FOLDED, folded(Origin::Trace, 2000, false)),
        (Code::FOLDED, folded(Origin::Trace, 1, true)),
        (Code::FOLDED, folded(Origin::Darshan, 2000, false)),
        (Code::FOLDED, folded(Origin::Darshan, 1, false)),
    ]
}
