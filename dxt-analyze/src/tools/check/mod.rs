//! Command `check`: verifies every checksum, file by file, and reports damage with advice. The files may belong to different jobs.

mod flush;

pub use flush::{Flushed, StageTime, Times};

use crate::exit::Exit;
use crate::load::{self, Source, find};
use crate::model::Problem;
use crate::model::filters::{self, Filters};
use crate::model::origin::{Kept, Origin};
use crate::model::run::Input;
use crate::render::Format;
use crate::render::{Cell, Part, Report, Table, View};
use crate::sum::Sum;
use crate::text::paths::shown;
use crate::text::units;
use crate::words::completeness::record_all;
use anyhow::Result;
use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use trace_format::read::{BlockRef, Columns, Decoder, RegionRef};

/// Options of `check`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Trace files, or directories with *.dxt files; of any number of jobs
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Table of the report to write as CSV (default: the first)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
}

/// Condition of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// All checksums match and the file has its regular end.
    Complete,
    /// The trace file is intact, but `missing_segments` operations that should have a segment (record) each have only counters.
    Folded,
    /// The trace file is truncated; its remaining part is intact.
    Cut,
    /// The trace file is damaged inside: checksums or contents are wrong.
    Damaged,
    /// No part of the file can be read.
    Unreadable,
}

/// Result of checking one trace file.
#[derive(Clone, Debug, Serialize)]
pub struct FileCheck {
    /// Path of the trace file that was checked.
    pub file: String,
    /// Condition of the trace file: complete, truncated, damaged, ...
    pub state: FileState,
    /// Key of the job that the file belongs to; empty if unreadable.
    pub job: String,
    /// Number of processes whose calls the trace file contains.
    pub processes: u64,
    /// Number of blocks of segments found in the trace file.
    pub blocks: u64,
    /// Number of segments (recorded calls) decoded from the trace file.
    pub segments: u64,
    /// Number of operations that should have a segment (record) each but have only counters.
    pub missing_segments: u64,
    /// Number of segments that the file should contain but that cannot be read.
    pub lost_segments: u64,
    /// Filters that were set while recording: environment variable and value.
    pub filters: Filters,
    /// Time and bytes of the flush that wrote the file, if recorded.
    pub flush: Option<Flushed>,
    /// Problems found in the trace file, such as wrong checksums.
    pub problems: Vec<Problem>,
    /// Advice on what to do about an incomplete or damaged file; `None` for a complete file.
    pub advice: Option<String>,
}

/// Result of checking all files.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Results of the check per file, in the order in which the user named the files.
    pub files: Vec<FileCheck>,
    /// Notes for the user on the files that were checked.
    pub remarks: Vec<String>,
}

impl CheckReport {
    /// Returns the exit code: 0 if all files are complete, 1 if no file can be read, 3 otherwise.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let all = |state| self.files.iter().all(|file| file.state == state);
        if all(FileState::Complete) {
            Exit::Fine
        } else if all(FileState::Unreadable) {
            Exit::Failure
        } else {
            Exit::Incomplete
        }
    }
}

/// Checks the files that the arguments name.
///
/// # Errors
/// Fails if a name matches no file.
pub fn check(args: &Args) -> Result<CheckReport> {
    let found = find::find(&args.traces)?;
    Ok(CheckReport { files: check_sources(found.paths.into_iter().map(Source::Path).collect()), remarks: found.notes })
}

/// Checks `sources`, each as one file; results are in the same order.
#[must_use]
pub fn check_sources(sources: Vec<Source>) -> Vec<FileCheck> {
    let order: Vec<String> = sources
        .iter()
        .map(|source| match source {
            Source::Path(path) | Source::Memory(path, _) => shown(path),
        })
        .collect();
    let (inputs, failures) = load::open_all(sources);
    let mut files: Vec<FileCheck> = inputs.iter().map(one).collect();
    files.extend(failures.into_iter().map(|(path, error)| unreadable(shown(&path), &error)));
    files.sort_by_key(|check| order.iter().position(|name| *name == check.file));
    files
}

fn unreadable(file: String, error: &anyhow::Error) -> FileCheck {
    let problem = Problem { file: file.clone(), offset: 0, what: error.root_cause().to_string() };
    FileCheck {
        file,
        state: FileState::Unreadable,
        job: String::new(),
        processes: 0,
        blocks: 0,
        segments: 0,
        missing_segments: 0,
        lost_segments: 0,
        filters: Filters::new(),
        flush: None,
        problems: vec![problem],
        advice: Some("no part of the file can be used; if it is a trace, copy it again from its origin".into()),
    }
}

#[derive(Default)]
struct Sums {
    segments: u64,
    missing: u64,
    lost: u64,
    blocks: u64,
    processes: u64,
    flush: Option<Flushed>,
    problems: Vec<Problem>,
}

fn one(input: &Input) -> FileCheck {
    let file = shown(&input.path);
    let problem = |problem: &trace_format::read::Problem| Problem {
        file: file.clone(),
        offset: problem.offset,
        what: problem.error.to_string(),
    };
    let regions: Vec<Sums> = input.trace.regions.par_iter().map(|region| check_region(input, &file, region)).collect();
    let mut sums = Sums { problems: input.trace.problems.iter().map(problem).collect(), ..Sums::default() };
    for region in regions {
        sums.segments += region.segments;
        sums.missing = sums.missing.saturating_add(region.missing);
        sums.lost = sums.lost.saturating_add(region.lost);
        sums.blocks += region.blocks;
        sums.processes += region.processes;
        if let Some(flush) = &region.flush {
            sums.flush.get_or_insert_default().merge(flush);
        }
        sums.problems.extend(region.problems);
    }
    sums.problems.extend(input.converted.iter().flat_map(|converted| converted.problems.iter().cloned()));
    sums.problems.sort();
    sums.problems.dedup();
    let state = match (sums.problems.len(), input.trace.complete) {
        (0, true) if sums.missing == 0 => FileState::Complete,
        (0, true) => FileState::Folded,
        // Truncated, not damaged: only the end is missing, and perhaps a part of the frame where the file was cut off.
        (_, false) if sums.problems.iter().all(is_cut) => FileState::Cut,
        _ => FileState::Damaged,
    };
    let advice = match state {
        FileState::Complete => None,
        FileState::Folded => {
            let filters = filters::active(input.trace.job.settings.iter());
            let origin = Origin::of(&input.trace.job.settings);
            Some(record_all(origin, filters::count_operations(&filters)).to_owned())
        }
        FileState::Cut => Some(
            "the file was cut short, and every command reads the part that exists; was the disk full, or the program killed while it wrote the trace?"
                .to_owned(),
        ),
        _ => Some(
            "every command reads the intact parts and reports what is lost; copy the file again if the original exists"
                .to_owned(),
        ),
    };
    FileCheck {
        file: file.clone(),
        state,
        job: input.trace.job.info.key.clone(),
        processes: sums.processes,
        blocks: sums.blocks,
        segments: sums.segments,
        missing_segments: sums.missing,
        lost_segments: sums.lost,
        filters: filters::active(input.trace.job.settings.iter()),
        flush: sums.flush,
        problems: sums.problems,
        advice,
    }
}

fn is_cut(problem: &Problem) -> bool {
    problem.what.contains("cut short") || problem.what.contains("ends before")
}

fn check_region(input: &Input, file: &str, place: &RegionRef) -> Sums {
    let region = input.trace.region(place);
    let flush = Flushed::of(place, &region);
    let mut sums = Sums { blocks: region.blocks.len() as u64, processes: 1, flush, ..Sums::default() };
    let mut say = |offset: u64, what: String| sums.problems.push(Problem { file: file.to_owned(), offset, what });
    for problem in &region.problems {
        say(problem.offset, problem.error.to_string());
    }
    let mut decoder = Decoder::default();
    let mut decoded = 0_u64;
    for block in &region.blocks {
        match decoder.block(input.trace.source(), block) {
            Ok(columns) => {
                decoded += columns.len() as u64;
                if let Some(why) = disagreement(block, columns) {
                    say(
                        block.offset,
                        format!(
                            "a block of recorded calls (segments) is damaged: its header contradicts its content: {why}"
                        ),
                    );
                }
            }
            Err(error) => say(block.offset, error.to_string()),
        }
    }
    let expected = region.expected_segments.unwrap_or(decoded);
    let blocks = region.blocks.len() as u64;
    let indexed = place.entry.map_or(blocks, |entry| u64::from(entry.blocks));
    if indexed != blocks && region.problems.is_empty() {
        let of = units::agree(indexed, "block", "blocks");
        say(
            place.offset,
            format!(
                "the file's index lists {indexed} {of} of recorded calls (segments) for this process, but the file has {blocks}"
            ),
        );
    }
    match &region.process {
        Some(process) => sums.missing = Kept::missing(&input.trace.job, process),
        None => say(place.offset, "the part that names a process's rank and files (process block) is damaged: all reports lack the process with all its calls".into()),
    }
    if decoded > expected {
        let (segments, are) = (units::agree(decoded, "segment", "segments"), units::agree(expected, "is", "are"));
        say(
            place.offset,
            format!(
                "the file has {decoded} {segments} (recorded calls) of this process, but {expected} {are} expected"
            ),
        );
    }
    sums.segments = decoded;
    sums.lost = expected.saturating_sub(decoded);
    sums
}

/// Returns how a block's head contradicts the block's segments; `None` if both agree.
fn disagreement(block: &BlockRef, columns: &Columns) -> Option<String> {
    let head = &block.head;
    let bytes = columns.length.iter().fold(0_u64, |sum, length| sum.wrapping_add(*length));
    let starts = columns.start.iter().min().copied();
    let ends = columns.end.iter().max().copied();
    let mask = columns.stream.iter().fold(0_u64, |mask, stream| mask | 1 << (stream % 64));
    if bytes != head.bytes {
        return Some(format!("the calls moved {} bytes by the header, {bytes} by the content", head.bytes));
    }
    if starts.is_some_and(|start| start != head.min_start) || ends.is_some_and(|end| end != head.max_end) {
        return Some("the first start or the last end of the calls differs".into());
    }
    (mask != head.stream_mask).then(|| "the kinds of calls or the files differ".into())
}

impl Report for CheckReport {
    fn view(&self) -> View {
        let mut parts = vec![Part::Table(files(&self.files))];
        let flushed = self.files.iter().filter_map(|file| Some((file.job.as_str(), file.flush.as_ref()?)));
        parts.push(Part::Table(flush::table(flushed)));
        let filtered = self.files.iter().filter_map(|file| Some((&file.file, filters::line(&file.filters)?)));
        let filtered: Vec<String> = filtered.map(|(file, line)| format!("{file}: filters: {line}")).collect();
        if !filtered.is_empty() {
            parts.push(Part::Lines(filtered));
        }
        let problems: Vec<String> = self
            .files
            .iter()
            .flat_map(|file| {
                let shown =
                    file.problems.iter().take(20).map(|p| format!("{} at byte {}: {}", p.file, p.offset, p.what));
                let more = file.problems.len().saturating_sub(20);
                let problems = units::agree(more as u64, "problem", "problems");
                let more =
                    (more > 0).then(|| format!("{} and {more} more {problems} (--format json has all)", file.file));
                let advice = file.advice.as_ref().map(|advice| format!("{}: {advice}", file.file));
                shown.chain(more).chain(advice).collect::<Vec<String>>()
            })
            .chain(self.remarks.iter().cloned())
            .collect();
        if !problems.is_empty() {
            parts.push(Part::Lines(problems));
        }
        let count = |state| self.files.iter().filter(|file| file.state == state).count();
        let folded = match count(FileState::Folded) {
            0 => String::new(),
            some => format!(" {some} intact but with operations that have only counters,"),
        };
        parts.push(Part::Lines(vec![format!(
            "{} {}: {} complete,{folded} {} cut short, {} damaged, {} unreadable; {} read, {} lost",
            self.files.len(),
            units::agree(self.files.len() as u64, "file", "files"),
            count(FileState::Complete),
            count(FileState::Cut),
            count(FileState::Damaged),
            count(FileState::Unreadable),
            units::counted(self.files.iter().map(|file| file.segments).sum(), "segment"),
            units::count(self.files.iter().map(|file| file.lost_segments).sum::<Sum>().get())
        )]));
        View { parts, max_width: None }
    }
}

fn state(file: &FileCheck) -> &'static str {
    match file.state {
        FileState::Complete => "complete",
        FileState::Folded => "folded",
        FileState::Cut => "cut",
        FileState::Damaged => "damaged",
        FileState::Unreadable => "unreadable",
    }
}

/// Maximum number of complete files in a table for people; files with problems are always shown.
const SHOWN_COMPLETE: usize = 10;

fn files(files: &[FileCheck]) -> Table {
    let (whole, other): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.state == FileState::Complete);
    let most = other.len() + SHOWN_COMPLETE;
    Table::of("files", "", other.into_iter().chain(whole))
        .column("File", "file", |file| Cell::path(&file.file))
        .column("State", "state", |file| Cell::text(state(file)))
        .column("Job", "job", |file| Cell::text(&file.job))
        .column("Processes", "processes", |file| Cell::Count(file.processes))
        .column("Blocks", "blocks", |file| Cell::Count(file.blocks))
        .column("Segments", "segments", |file| Cell::Count(file.segments))
        .column("Only counted", "missing_segments", |file| Cell::Count(file.missing_segments))
        .column("Lost", "lost_segments", |file| Cell::Count(file.lost_segments))
        .column("Problems", "problems", |file| Cell::Count(file.problems.len() as u64))
        .most(most)
        .done()
}
