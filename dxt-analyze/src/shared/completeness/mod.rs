//! What the trace lacks and why. Every report carries this: a number from half a trace must not look like one from a whole.

mod codes;

pub use codes::CODES;

use crate::findings::{About, Code, Evidence, Finding, Severity};
use crate::model::filters::{self, Filters};
use crate::model::{FileId, Origin, Problem, Process, Run};
use crate::render::Part;
use crate::scan::Lost;
use crate::text::layers::layer;
use crate::text::units;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::op::Layer;
use trace_format::spool;

/// Problems that a report lists; more are counted.
const LISTED: usize = 100;

/// Something that was seen and not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What.
    pub what: String,
    /// How often; 0 of what is a property of all the trace.
    pub count: u64,
}

/// What the trace lacks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Completeness {
    /// Whether every operation that the tracer recorded is here as a segment.
    pub complete: bool,
    /// True if calls are on no record, so that sums and shares are lower bounds.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lower_bounds: bool,
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
    /// Files that were named and of which nothing could be read.
    pub unread_files: u64,
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
    /// Whether calls were not timed: all times in calls are unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// Filters that were set when the trace was made: variable and value.
    pub filters: Filters,
    /// What of the job is looked at, as the user wrote it: option and value; empty for everything.
    pub selection: BTreeMap<String, String>,
    /// When the first process that goes on reading or writing has its last segment, ns since the job's start: from there on timelines
    /// have bytes of heat maps, if there are any, and no calls.
    pub segments_end_ns: Option<u64>,
    /// Files of which a rank has segments of some reads and writes and then none, those first that lack most.
    pub cut: Vec<Cut>,
    /// How many there are.
    pub cut_count: u64,
    #[serde(skip)]
    has_heat: bool,
    /// In whose words it is told.
    #[serde(skip)]
    pub origin: Origin,
}

/// Rows of [`Cut`] that are listed; more are counted.
const CUT_LISTED: usize = 5;

/// Reads or writes of which the first have segments and the rest have none: DXT ran out of memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cut {
    /// Rank, or -1.
    pub rank: i32,
    /// File.
    pub file: String,
    /// Layer's name.
    pub layer: &'static str,
    /// Reads and writes that were counted.
    pub calls: u64,
    /// Those of them that have segments.
    pub segments: u64,
    /// When the last segment of the process ended, ns since the job's start.
    pub last_segment_ns: u64,
}

/// Where segments end before the reads and writes do.
#[derive(Default)]
struct Cuts {
    first_end_ns: Option<u64>,
    /// The largest.
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

    /// Adds those of a process whose last segment ended at `end`; whether there are any.
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

/// Files (indices into [`Run::files`]) of a Darshan log of which a process has segments until `end`, and then calls without any.
pub(crate) fn cut_files(run: &Run, process: &Process, end: u64) -> Vec<(FileId, Cut)> {
    // Calls without segments, and when the last of them ended.
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
        // Without any segment, the file was not to have any.
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

/// Whether bytes over time go on behind the last segment of a Darshan log.
pub(crate) fn heat_goes_on(run: &Run, process: &Process) -> bool {
    !process.heat.is_empty() && run.notes.iter().any(|(note, _)| *note == crate::model::Note::EndsEarly)
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

    /// What makes numbers of a trace that was made of a spool inexact.
    fn of_spool(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| [spool::CUT_SHORT, spool::MAY_BE_TWICE].contains(&note.what.as_str()))
    }

    /// What is lost, in a line: each thing that is, and only what is.
    fn damage(&self) -> String {
        let lost = [
            (self.lost_segments, "segment", "lost"),
            (self.lost_processes, "process", "lost"),
            (self.absent_ranks, "rank", "absent"),
            (self.segments_without_stream, "segment", "of no known file"),
        ];
        let lost = lost.into_iter().filter(|(count, ..)| *count > 0).map(|(count, what, how)| {
            let things = if what == "process" { units::processes(count) } else { units::counted(count, what) };
            format!("{things} {} {how}", if count == 1 { "is" } else { "are" })
        });
        let lost: Vec<String> = lost.collect();
        let noun = self.origin.noun();
        if !lost.is_empty() {
            return format!("the {noun} is incomplete: {}", lost.join(", "));
        }
        if self.unread_files > 0 && self.unread_files == self.problem_count {
            let (files, are) =
                (units::counted(self.unread_files, "file"), if self.unread_files == 1 { "is" } else { "are" });
            return format!("{files} of those named {are} left out: nothing in them could be read");
        }
        if let Some(note) = self.of_spool().next().filter(|_| self.problem_count == 0 && self.lost_blocks == 0) {
            return format!("the {noun} is not exact: {} {}", units::count(note.count), note.what);
        }
        let places = units::counted(self.problem_count.max(self.lost_blocks), "place");
        format!("the {noun} is damaged in {places}; no segment is known to be lost")
    }

    /// What stands in front of a sum or share: `at least `, or nothing.
    #[must_use]
    pub fn at_least(&self) -> &'static str {
        if self.lower_bounds { "at least " } else { "" }
    }

    /// What is missing, in sentences.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let folded = self.origin.missing(filters::count_operations(&self.filters));
        let mut out = Vec::new();
        let mut say = |count: u64, text: &str| {
            if count > 0 {
                out.push(format!("{} {text}", units::count(count)));
            }
        };
        say(self.missing_segments, folded);
        // By number: of one, and of several.
        let mut each = |count: u64, one: &str, several: &str| say(count, if count == 1 { one } else { several });
        each(
            self.lost_segments,
            "segment cannot be read: the file is cut or damaged there.",
            "segments cannot be read: the file is cut or damaged there.",
        );
        each(
            self.lost_processes,
            "process is left out: its description cannot be read.",
            "processes are left out: their description cannot be read.",
        );
        each(
            self.absent_ranks,
            "rank of the job is not in these inputs: name all its files.",
            "ranks of the job are not in these inputs: name all its files.",
        );
        each(
            self.segments_without_stream,
            "segment belongs to no known file or operation and is left out.",
            "segments belong to no known file or operation and are left out.",
        );
        for note in &self.notes {
            out.push(match note.count {
                0 => format!("{}.", note.what),
                count => format!("{}: {}", note.what, units::count(count)),
            });
        }
        if let Some(end) = self.segments_end_ns {
            let behind = match self.has_heat {
                true => "timelines behind that are of heat maps, which have bytes and no calls",
                false => "timelines and lists have nothing of what came behind that",
            };
            out.push(format!("Segments end {} s after the start: {behind}.", units::seconds(end)));
        }
        out.extend(self.cut.iter().map(|cut| {
            format!(
                "rank {} has segments of {} of {} {} calls on {}, the last segment until {} s",
                cut.rank,
                units::count(cut.segments),
                units::count(cut.calls),
                layer(cut.layer),
                cut.file,
                units::seconds(cut.last_segment_ns)
            )
        }));
        let more = self.cut_count.saturating_sub(self.cut.len() as u64);
        if more > 0 {
            out.push(format!("and so on for {} more files of ranks", units::count(more)));
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

    /// The filters that were set, whether calls were not timed, and what is looked at, a line each.
    #[must_use]
    pub fn scope_lines(&self) -> Vec<String> {
        let filters = filters::line(&self.filters).map(|line| format!("filters: {line}"));
        let untimed = self.untimed.then(|| crate::render::untimed::WHY.to_owned());
        filters.into_iter().chain(untimed).chain(self.selection_line().map(|line| format!("only: {line}"))).collect()
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
        let mut all = vec![format!("Missing from the {}:", self.origin.noun())];
        all.extend(lines.into_iter().map(|line| format!("  {line}")));
        vec![Part::Lines(all)]
    }

    /// The same as findings.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut out = Vec::new();
        if self.damaged() {
            out.push(Finding {
                code: Code::DAMAGED,
                severity: Severity::High,
                title: self.damage(),
                evidence: self
                    .problems
                    .iter()
                    .take(3)
                    .map(|p| {
                        let about = About { file: Some(p.file.clone()), offset: Some(p.offset), ..About::default() };
                        Evidence::of(format!("{} at byte {}: {}", p.file, p.offset, p.what), about)
                    })
                    .collect(),
                cost_ns: None,
                saving: None,
                hint: "`dxt-analyze check` says what can be read; take the numbers here as a lower bound".into(),
            });
        }
        if self.missing_segments > 0 {
            out.push(Finding {
                code: Code::FOLDED,
                severity: Severity::Info,
                title: format!("{} {}", units::count(self.missing_segments), self.origin.missing_title()),
                evidence: Vec::new(),
                cost_ns: None,
                saving: None,
                hint: self.origin.missing_hint(filters::count_operations(&self.filters)).into(),
            });
        }
        out
    }
}
