//! Completeness of a trace: what is missing, and why. Every report contains this list, so that nobody takes partial numbers for complete ones.

mod codes;

pub use codes::CODES;

use crate::findings::{About, Code, Finding, Severity};
use crate::model::filters::{self, Filters};
use crate::model::{FileId, Origin, Problem, Process, Run};
use crate::render::Part;
use crate::scan::Lost;
use crate::text::layers::layer;
use crate::text::units;
use crate::words::completeness::{Damage, Inexact, damaged, folded};
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::op::Layer;
use trace_format::spool;

/// Maximum number of problems that a report lists; further problems are only counted.
const LISTED: usize = 100;

/// Event that the recorder noticed but did not record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Description of the event, as stored in the trace.
    pub what: String,
    /// Number of times that the event occurred; 0 for a property of the whole trace.
    pub count: u64,
}

/// Missing parts of a job's trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Completeness {
    /// True if nothing is damaged or lost, and every operation that should be recorded as a single call (segment) is.
    pub complete: bool,
    /// True if some calls were not recorded at all or are lost, so that sums and shares are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lower_bounds: bool,
    /// Number of operations that have only counters because the tracer lacked room: sums are exact, but single operations are lost.
    pub missing_segments: u64,
    /// Number of operations that have only counters by design: nothing is missing.
    pub counted_operations: u64,
    /// Number of segments that the files should contain but that cannot be read.
    pub lost_segments: u64,
    /// Number of segment blocks that cannot be decoded.
    pub lost_blocks: u64,
    /// Number of processes whose metadata (process block of the trace) is lost.
    pub lost_processes: u64,
    /// Number of input files of which nothing could be read.
    pub unread_files: u64,
    /// Number of ranks of the job that no input contains.
    pub absent_ranks: u64,
    /// Number of recorded calls (segments) whose file and operation are unknown, as their stream id is not in the tables of their process.
    pub segments_without_stream: u64,
    /// Number of all problems found while reading, including those not in `problems`.
    pub problem_count: u64,
    /// Descriptions of the first problems, at most 100.
    pub problems: Vec<Problem>,
    /// Events that the recorder noticed but did not record.
    pub notes: Vec<Note>,
    /// Remarks on the inputs for the user.
    pub remarks: Vec<String>,
    /// True if calls were not timed (`DXT_TIMING=off`): all times in calls are unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// Filters that were set while recording: environment variable and value.
    pub filters: Filters,
    /// Options that select a part of the job, as the user wrote them: option and value; empty for the whole job.
    pub selection: BTreeMap<String, String>,
    /// Time from which on segments are incomplete, ns since the job's start: end of the last segment of the first process whose reads or
    /// writes continue without segments. Later parts of timelines have bytes from heat maps, if any, and no calls.
    pub segments_end_ns: Option<u64>,
    /// Files on which a rank's segments stop before its reads or writes do: at most five, sorted by number of calls without segments, largest first.
    pub cut: Vec<Cut>,
    /// Number of all files on which a rank's segments stop before its reads or writes do, including those not in `cut`.
    pub cut_count: u64,
    #[serde(skip)]
    has_heat: bool,
    /// Tool that recorded the run; determines the wording of sentences.
    #[serde(skip)]
    pub origin: Origin,
}

/// Maximum number of [`Cut`] rows in a report; further ones are only counted.
const CUT_LISTED: usize = 5;

/// Reads or writes of one rank on one file, of which only the first are recorded as single calls (segments), because DXT ran out of memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cut {
    /// MPI rank, or -1 for a process without a rank.
    pub rank: i32,
    /// Path of the file on which segments stop early.
    pub file: String,
    /// Name of the I/O layer of the reads or writes.
    pub layer: &'static str,
    /// Number of the rank's reads and writes on the file, from Darshan's counters.
    pub calls: u64,
    /// Number of the rank's reads and writes on the file that have segments.
    pub segments: u64,
    /// End of the process's last segment, ns since the job's start.
    pub last_segment_ns: u64,
}

#[derive(Default)]
struct Cuts {
    first_end_ns: Option<u64>,
    /// Files on which a rank's segments stop before its calls do: those with the most calls without segments, at most [`CUT_LISTED`].
    listed: Vec<Cut>,
    count: u64,
}

impl Cuts {
    fn of(run: &Run) -> Self {
        let mut out = Self::default();
        for process in run.processes.iter().filter(|process| process.data_only) {
            let ends = process.blocks.iter().map(|block| block.head.max_end.saturating_add(process.shift_ns));
            let Some(end) = ends.max() else { continue };
            let goes_on = out.add(run, process, end) || heat_goes_on(run, process);
            if goes_on {
                out.first_end_ns = Some(out.first_end_ns.map_or(end, |first| first.min(end)));
            }
        }
        out
    }

    /// Adds the files on which `process` has calls without segments after `end`, the end of its last segment. Returns true if there are any.
    fn add(&mut self, run: &Run, process: &Process, end: u64) -> bool {
        let found = cut_files(run, process, end);
        let any = !found.is_empty();
        self.count += found.len() as u64;
        self.listed.extend(found.into_iter().map(|(_, cut)| cut));
        self.listed.sort_by(|a, b| (b.calls - b.segments).cmp(&(a.calls - a.segments)).then_with(|| a.cmp(b)));
        self.listed.truncate(CUT_LISTED);
        any
    }
}

/// Returns the files of a Darshan log on which `process` has calls without segments after `end`, the end of the process's last segment.
pub(crate) fn cut_files(run: &Run, process: &Process, end: u64) -> Vec<(FileId, Cut)> {
    // Number of calls without segments, and the end of the last of these calls, per file and layer.
    let mut without: BTreeMap<(FileId, Layer), (u64, u64)> = BTreeMap::new();
    for (stream, counters) in run.missing_of(process) {
        let Some(layer) = run.op(stream).layer else { continue };
        let (calls, last) = without.entry((stream.file, layer)).or_default();
        *calls = calls.saturating_add(counters.segments);
        *last = (*last).max(counters.last_end.saturating_add(process.shift_ns));
    }
    let mut found = Vec::new();
    for whole in process.whole.iter().filter(|_| !without.is_empty()) {
        let Some((missing, last)) = without.get(&(FileId(whole.file), whole.layer)) else { continue };
        let calls = whole.profile.accesses;
        // A file without any segment was excluded from tracing, not cut.
        if calls <= *missing || *last <= end {
            continue;
        }
        let cut = Cut {
            rank: process.rank,
            file: run.file_name(FileId(whole.file)).to_owned(),
            layer: whole.layer.name(),
            calls,
            segments: calls - missing,
            last_segment_ns: end,
        };
        found.push((FileId(whole.file), cut));
    }
    found
}

/// Returns true if a Darshan log's heat maps (bytes over time) contain bytes that `process` moved after its last segment.
pub(crate) fn heat_goes_on(run: &Run, process: &Process) -> bool {
    !process.heat.is_empty() && run.notes.iter().any(|(note, _)| *note == crate::model::Note::EndsEarly)
}

impl Completeness {
    /// Collects what is missing from `run`; `lost` counts the segments that the scan could not read.
    #[must_use]
    pub fn of(run: &Run, lost: &Lost) -> Self {
        let mut problems: Vec<Problem> = run.health.problems.iter().chain(&lost.problems).cloned().collect();
        problems.sort();
        problems.dedup();
        let problem_count = problems.len() as u64;
        problems.truncate(LISTED);
        let cuts = Cuts::of(run);
        let mut out = Self {
            complete: false,
            lower_bounds: false,
            missing_segments: run.missing_segments(),
            counted_operations: run.counted_operations(),
            lost_segments: run.health.lost_segments.saturating_add(lost.segments),
            lost_blocks: lost.blocks,
            lost_processes: run.health.lost_processes,
            unread_files: run.health.unread_files,
            absent_ranks: run.health.absent_ranks,
            segments_without_stream: lost.without_stream,
            problem_count,
            problems,
            notes: run
                .notes
                .iter()
                .map(|(note, count)| Note { what: note.words().to_owned(), count: *count })
                .collect(),
            remarks: run.remarks.clone(),
            untimed: run.untimed(),
            filters: run.filters.clone(),
            selection: run.selection.iter().map(|(option, value)| ((*option).into(), value.clone())).collect(),
            segments_end_ns: cuts.first_end_ns,
            cut: cuts.listed,
            cut_count: cuts.count,
            has_heat: run.processes.iter().any(|process| !process.heat.is_empty()),
            origin: run.origin(),
        };
        out.complete = out.missing_segments == 0 && !out.damaged();
        out.lower_bounds = !run.is_whole() || out.damaged();
        out
    }

    fn damaged(&self) -> bool {
        self.lost_segments > 0
            || self.lost_blocks > 0
            || self.lost_processes > 0
            || self.absent_ranks > 0
            || self.segments_without_stream > 0
            || self.problem_count > 0
            || self.of_spool().next().is_some()
    }

    /// Returns the notes of a recovered trace on incomplete or possibly duplicated calls.
    fn of_spool(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| [spool::CUT_SHORT, spool::MAY_BE_TWICE].contains(&note.what.as_str()))
    }

    /// Collects the damage of the trace as facts for the sentences of a finding.
    fn damage(&self) -> Damage<'_> {
        Damage {
            origin: self.origin,
            lost_segments: self.lost_segments,
            lost_processes: self.lost_processes,
            absent_ranks: self.absent_ranks,
            segments_without_stream: self.segments_without_stream,
            lost_blocks: self.lost_blocks,
            unread_files: self.unread_files,
            problem_count: self.problem_count,
            problems: &self.problems,
            inexact: self.of_spool().next().map(|note| {
                let twice = note.what == spool::MAY_BE_TWICE;
                if twice { Inexact::Twice(note.count) } else { Inexact::CutShort(note.count) }
            }),
        }
    }

    /// Returns `at least ` as a prefix for sums and shares that are lower bounds, else an empty string.
    #[must_use]
    pub fn at_least(&self) -> &'static str {
        if self.lower_bounds { "at least " } else { "" }
    }

    /// Describes the missing parts, one sentence per kind of loss.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.missing_segments > 0 {
            out.push(self.origin.missing(self.missing_segments, filters::count_operations(&self.filters)));
        }
        let mut each = |count: u64, one: &str, several: &str| {
            if count > 0 {
                out.push(format!("{} {}", units::count(count), units::agree(count, one, several)));
            }
        };
        each(
            self.lost_segments,
            "recorded call cannot be read: its input file is truncated or damaged.",
            "recorded calls cannot be read: their input file is truncated or damaged.",
        );
        each(
            self.lost_processes,
            "process is missing in this report with all its calls: the part of the input that names its rank and files is damaged.",
            "processes are missing in this report with all their calls: the parts of the input that name their ranks and files are damaged.",
        );
        each(
            self.absent_ranks,
            "rank of the job is not in these inputs: give all files of the job.",
            "ranks of the job are not in these inputs: give all files of the job.",
        );
        each(
            self.segments_without_stream,
            "recorded call is missing in all numbers, since its file and operation are not named in the trace.",
            "recorded calls are missing in all numbers, since their files and operations are not named in the trace.",
        );
        for note in &self.notes {
            out.push(match note.count {
                0 => format!("{}.", note.what),
                // A count after a second colon would be hard to read.
                count if note.what.contains(": ") => format!("{} {}", units::count(count), note.what),
                count => format!("{}: {}", note.what, units::count(count)),
            });
        }
        if let Some(end) = self.segments_end_ns {
            let behind = match self.has_heat {
                true => {
                    "later parts of timelines are from the log's heat maps (Darshan module HEATMAP), which have bytes and no calls"
                }
                false => "timelines and lists lack later calls",
            };
            out.push(format!(
                "Segments (records of single calls) end {} s after the job's start: {behind}.",
                units::seconds(end)
            ));
        }
        out.extend(self.cut.iter().map(|cut| {
            format!(
                "rank {} has segments (records of single calls) for {} of {} {} {} on {}; the rank's last segment ends {} s after the job's start",
                cut.rank,
                units::count(cut.segments),
                units::count(cut.calls),
                layer(cut.layer),
                units::agree(cut.calls, "call", "calls"),
                cut.file,
                units::seconds(cut.last_segment_ns)
            )
        }));
        let more = self.cut_count.saturating_sub(self.cut.len() as u64);
        if more > 0 {
            out.push(format!(
                "segments (records of single calls) also end before the last call on {} (a file counts once per rank and I/O layer)",
                units::counted(more, "more file")
            ));
        }
        let problems = self.problems.iter().take(5);
        out.extend(problems.map(|problem| format!("{} at byte {}: {}", problem.file, problem.offset, problem.what)));
        let more = self.problem_count.saturating_sub(5);
        if more > 0 {
            let (problems, them) = (units::counted(more, "more problem"), units::agree(more, "it", "them"));
            out.push(format!("and {problems}: `dxt-analyze check` lists {them}"));
        }
        out.extend(self.remarks.iter().cloned());
        out
    }

    /// Formats the selection options as one line; `None` if the whole job is selected.
    #[must_use]
    pub fn selection_line(&self) -> Option<String> {
        let words = self.selection.iter().map(|(option, value)| format!("{option} {}", value.escape_debug()));
        (!self.selection.is_empty()).then(|| words.collect::<Vec<String>>().join("  "))
    }

    /// Returns the lines on the scope of the trace: filters, missing call times, and the selection.
    #[must_use]
    pub fn scope_lines(&self) -> Vec<String> {
        let filters = filters::line(&self.filters).map(|line| format!("filters: {line}"));
        let untimed = self.untimed.then(|| crate::render::untimed::WHY.to_owned());
        filters.into_iter().chain(untimed).chain(self.selection_line().map(|line| format!("only: {line}"))).collect()
    }

    /// Returns the lines on the scope of the trace as a part of a view; `None` if there are none.
    #[must_use]
    pub fn scope_part(&self) -> Option<Part> {
        Some(self.scope_lines()).filter(|lines| !lines.is_empty()).map(Part::Lines)
    }

    /// Describes the missing parts as parts of a view; empty if nothing is missing.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let lines = self.sentences();
        if lines.is_empty() {
            return Vec::new();
        }
        let mut all = vec![format!("Missing from the {}:", self.origin.noun())];
        all.extend(lines.into_iter().map(|line| format!("  {line}")));
        vec![Part::Lines(all)]
    }

    /// Returns findings on missing and damaged parts of the trace.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut out = Vec::new();
        if self.damaged() {
            out.push(Finding { severity: Severity::High, ..Finding::new(Code::DAMAGED, damaged(&self.damage())) });
        }
        if self.missing_segments > 0 {
            let words = folded(self.origin, self.missing_segments, filters::count_operations(&self.filters));
            let about = About { calls: Some(self.missing_segments), ..About::default() };
            out.push(Finding::new(Code::FOLDED, words).with(about));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(count: u64, origin: Origin) -> Completeness {
        Completeness {
            missing_segments: count,
            lost_segments: count,
            lost_processes: count,
            absent_ranks: count,
            problem_count: 5 + count,
            origin,
            ..Completeness::default()
        }
    }

    #[test]
    fn sentences_agree_with_their_counts() {
        for (count, origin, damage, title, about, more) in [
            (
                1,
                Origin::Trace,
                "the trace is incomplete: 1 call lost, 1 process lost, 1 rank absent",
                "1 operation is recorded only in sums, not as single calls",
                "1 operation has no segment (only counters, because a buffer was full): sums include its count, bytes and time, \
                 but no distribution or list includes this operation. Set",
                "and 1 more problem: `dxt-analyze check` lists it",
            ),
            (
                2,
                Origin::Darshan,
                "the log is incomplete: 2 calls lost, 2 processes lost, 2 ranks absent",
                "2 operations have no DXT segment (record of a single call)",
                "2 operations have no segment (DXT's memory was full, or its configuration excludes them): sums include their \
                 counts, bytes and times, but no distribution or list includes these operations.",
                "and 2 more problems: `dxt-analyze check` lists them",
            ),
        ] {
            let missing = missing(count, origin);
            assert_eq!(damaged(&missing.damage()).title.to_string(), damage);
            assert_eq!(folded(origin, count, false).title.to_string(), title);
            let sentences = missing.sentences();
            assert!(sentences.first().is_some_and(|first| first.starts_with(about)), "{sentences:?}");
            assert_eq!(sentences.last().map(String::as_str), Some(more));
        }
    }
}
