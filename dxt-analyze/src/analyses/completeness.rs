//! What the trace lacks and why. Every report carries this: a number from half a trace must not look like one from a whole.

use crate::findings::{Code, Finding, Severity};
use crate::load::filters::{self, Filters};
use crate::load::{Problem, Run};
use crate::render::{Part, units};
use crate::scan::Lost;
use serde::Serialize;
use std::collections::BTreeMap;

/// Problems that a report lists; more are counted.
const LISTED: usize = 100;

/// Something that was seen and not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// What the trace lacks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Completeness {
    /// Whether every operation that the tracer recorded is here as a segment.
    pub complete: bool,
    /// Segments that the tracer folded into counters: their sums are exact, the single operations are gone.
    pub missing_segments: u64,
    /// Operations of which counters were to be kept and no segments: nothing is missing.
    pub counted_operations: u64,
    /// Segments that should be in the files and cannot be read.
    pub lost_segments: u64,
    /// Segment blocks that cannot be decoded.
    pub lost_blocks: u64,
    /// Processes whose description is lost.
    pub lost_processes: u64,
    /// Ranks that the job had and the inputs lack.
    pub absent_ranks: u64,
    /// Segments that name a stream that their process does not have.
    pub segments_without_stream: u64,
    /// Number of problems met.
    pub problem_count: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// What was seen and not recorded.
    pub notes: Vec<Note>,
    /// Remarks on the inputs.
    pub remarks: Vec<String>,
    /// Filters that were set when the trace was made: variable and value.
    pub filters: Filters,
    /// What of the job is looked at, as the user wrote it: option and value; empty for everything.
    pub selection: BTreeMap<String, String>,
}

impl Completeness {
    /// Of a run, with what a scan of it lost.
    #[must_use]
    pub fn of(run: &Run, lost: &Lost) -> Self {
        let mut problems: Vec<Problem> = run.health.problems.iter().chain(&lost.problems).cloned().collect();
        problems.sort();
        problems.dedup();
        let problem_count = problems.len() as u64;
        problems.truncate(LISTED);
        let mut out = Self {
            complete: false,
            missing_segments: run.missing_segments(),
            counted_operations: run.counted_operations(),
            lost_segments: run.health.lost_segments.saturating_add(lost.segments),
            lost_blocks: lost.blocks,
            lost_processes: run.health.lost_processes,
            absent_ranks: run.health.absent_ranks,
            segments_without_stream: lost.without_stream,
            problem_count,
            problems,
            notes: run.notes.iter().map(|(what, count)| Note { what: what.clone(), count: *count }).collect(),
            remarks: run.remarks.clone(),
            filters: run.filters.clone(),
            selection: run.selection.iter().map(|(option, value)| ((*option).into(), value.clone())).collect(),
        };
        out.complete = out.missing_segments == 0 && !out.damaged();
        out
    }

    fn damaged(&self) -> bool {
        self.lost_segments > 0
            || self.lost_blocks > 0
            || self.lost_processes > 0
            || self.absent_ranks > 0
            || self.segments_without_stream > 0
            || self.problem_count > 0
    }

    /// What is missing, in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let folded = if filters::count_operations(&self.filters) {
            "operations have no segment (folded into counters, as a filter says or because a buffer was full): their counts, \
             bytes and times are in the sums, they are in no distribution or list."
        } else {
            "operations have no segment (folded into counters when a buffer was full): their counts, bytes and times are in \
             the sums, they are in no distribution or list. A larger DXT_BUFFER_MAX keeps them."
        };
        let mut out = Vec::new();
        let mut say = |count: u64, text: &str| {
            if count > 0 {
                out.push(format!("{} {text}", units::count(count)));
            }
        };
        say(self.missing_segments, folded);
        say(self.lost_segments, "segments cannot be read: the file is cut or damaged there.");
        say(self.lost_processes, "processes are left out: their description cannot be read.");
        say(self.absent_ranks, "ranks of the job are not in these inputs: name all its files.");
        say(self.segments_without_stream, "segments belong to no known file or operation and are left out.");
        for note in &self.notes {
            out.push(format!("{}: {}", note.what, units::count(note.count)));
        }
        let problems = self.problems.iter().take(5);
        out.extend(problems.map(|problem| format!("{} at byte {}: {}", problem.file, problem.offset, problem.what)));
        if self.problem_count > 5 {
            out.push(format!("and {} more problems: `dxt-analyze check` lists them", self.problem_count - 5));
        }
        out.extend(self.remarks.iter().cloned());
        out
    }

    /// What was chosen to be looked at, in one line; `None` if it is everything.
    #[must_use]
    pub fn selection_line(&self) -> Option<String> {
        let words = self.selection.iter().map(|(option, value)| format!("{option} {}", value.escape_debug()));
        (!self.selection.is_empty()).then(|| words.collect::<Vec<String>>().join("  "))
    }

    /// The filters that were set, and what is looked at, a line each.
    #[must_use]
    pub fn scope_lines(&self) -> Vec<String> {
        let filters = filters::line(&self.filters).map(|line| format!("filters: {line}"));
        filters.into_iter().chain(self.selection_line().map(|line| format!("only: {line}"))).collect()
    }

    /// The same as a part of a view, to stand in front of all others; `None` if there is nothing to say.
    #[must_use]
    pub fn scope_part(&self) -> Option<Part> {
        Some(self.scope_lines()).filter(|lines| !lines.is_empty()).map(Part::Lines)
    }

    /// What is missing as a part of a view; nothing if nothing is.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let lines = self.sentences();
        if lines.is_empty() {
            return Vec::new();
        }
        let mut all = vec!["Missing from the trace:".to_owned()];
        all.extend(lines.into_iter().map(|line| format!("  {line}")));
        vec![Part::Lines(all)]
    }

    /// The same as findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut out = Vec::new();
        if self.damaged() {
            out.push(Finding {
                code: Code::Damaged,
                severity: Severity::High,
                title: format!("the trace is incomplete: {} segments are lost", units::count(self.lost_segments)),
                evidence: self
                    .problems
                    .iter()
                    .take(3)
                    .map(|p| format!("{} at byte {}: {}", p.file, p.offset, p.what))
                    .collect(),
                cost_ns: None,
                hint: "`dxt-analyze check` says what can be read; take the numbers here as a lower bound".into(),
            });
        }
        if self.missing_segments > 0 {
            out.push(Finding {
                code: Code::Folded,
                severity: Severity::Info,
                title: format!("{} operations were folded into counters", units::count(self.missing_segments)),
                evidence: Vec::new(),
                cost_ns: None,
                hint: if filters::count_operations(&self.filters) {
                    "leave the filter out, and set DXT_BUFFER_MAX higher if need be, to keep every operation".into()
                } else {
                    "set DXT_BUFFER_MAX higher to keep every operation".into()
                },
            });
        }
        out
    }
}
