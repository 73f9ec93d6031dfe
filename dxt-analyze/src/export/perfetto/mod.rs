//! Output of `export --to perfetto`: Chrome trace events, for ui.perfetto.dev and chrome://tracing. Nodes are shown as processes, ranks as
//! threads, calls as slices. If there are more calls than slices, the longest calls keep separate slices (`level` selects them) and all
//! others are merged (`merge`). `lanes` makes the slices of a track disjoint or nested, `events` writes them.

mod events;
mod lanes;
mod level;
mod merge;

use super::{Job, calls, place};
use crate::model::{ProcessId, Run, StreamIx};
use crate::progress::Bar;
use crate::progress::say;
use crate::scan::{Lost, Progress, Reader, scan, segments_of};
use crate::text::units;
use crate::topics::sites::numbered::Numbered;
use anyhow::Result;
use level::Level;
use merge::Merger;
use rayon::prelude::*;
use std::io::Write;

/// Number of processes, per thread of the analyzer, whose slices (bars in the viewer) are made at the same time.
const AT_A_TIME: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct What {
    /// Index of the slice's call stream (operation and file) in the process; if the slice merges several streams, index of the first.
    stream: StreamIx,
    /// Properties that all calls of the slice have in common with the stream `stream`.
    of: Common,
}

/// Properties that all calls of a merged slice have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Common {
    /// All calls of the slice have the same file, operation and caller.
    Stream,
    /// All calls of the slice have the same operation and caller; their files may differ.
    Operation,
    /// All calls of the slice have the same caller (the program, HDF5 or MPI-IO); their operations and files may differ.
    Within,
}

/// Slice (bar in the viewer) that stands for one or several calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    thread: u32,
    what: What,
    /// Start of the first call of the slice, in ns since the job's start.
    start: u64,
    /// End of the last call of the slice, in ns since the job's start.
    end: u64,
    count: u64,
    bytes: u64,
    /// Total time in the calls of the slice, in ns.
    time: u64,
    /// File offset if the slice is a single call with an offset; else -1.
    offset: i64,
    /// Call site of all calls of the slice; `None` if unknown or not the same for all.
    site: Option<u32>,
}

#[derive(Default)]
struct Slices {
    single: Vec<Slice>,
    merged: Vec<Slice>,
    /// Number of calls that no slice (bar in the viewer) stands for.
    left_out: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    single: u64,
    merged_slices: u64,
    merged_calls: u64,
    left_out: u64,
}

pub(crate) fn write(job: &Job<'_>, out: &mut dyn Write) -> Result<Lost> {
    let (run, most) = (job.run, job.args.most);
    let bar = Bar::new(run.segments(), "counting");
    let (tally, lost) = scan(run, &level::Tally::new(run), &bar);
    drop(bar);
    let level = Level::of(run, tally, most);
    let sites = Numbered::of(run, &job.symbols);
    let counts = place::file(&job.args.output, job.args.force, out, |out| all(run, &sites, &level, out))?;
    report(&level, &counts, most);
    Ok(lost)
}

fn all(run: &Run, sites: &Numbered, level: &Level, out: &mut dyn Write) -> Result<Counts> {
    let bar = Bar::new(run.segments(), "slices");
    let mut events = events::Events::new(run, sites, out)?;
    let numbers: Vec<ProcessId> = run.numbered_processes().map(|(number, _)| number).collect();
    let mut counts = Counts::default();
    for some in numbers.chunks(rayon::current_num_threads().max(1) * AT_A_TIME) {
        let made: Vec<Slices> = some
            .par_iter()
            .map_init(Reader::default, |reader, &number| slices(run, level, number, reader, &bar))
            .collect();
        for (slices, &number) in made.into_iter().zip(some) {
            counts.single += slices.single.len() as u64;
            counts.merged_slices += slices.merged.len() as u64;
            counts.merged_calls += slices.merged.iter().map(|slice| slice.count).sum::<u64>();
            counts.left_out += slices.left_out;
            events.process(number, slices)?;
        }
    }
    events.finish(level, &counts)?;
    Ok(counts)
}

/// Reads the calls of one process: long calls become separate slices, all others are merged.
fn slices(run: &Run, level: &Level, number: ProcessId, reader: &mut Reader, bar: &Bar) -> Slices {
    let Some(process) = run.process(number) else { return Slices::default() };
    let mut merger = Merger::new(process, level.room(number));
    let mut single = Vec::new();
    for block in 0..process.blocks.len() as u32 {
        // Unreadable data was already counted in the first pass.
        let mut known = Lost::default();
        if let Some(block) = reader.block(run, number, block, &mut known) {
            let rows = block.rows().zip(&block.columns.stream);
            for (row, id) in rows.filter(|(row, _)| process.stream(row.stream).is_some()) {
                let (start, end) = calls::times(process, &row);
                let slice = Slice {
                    thread: block.thread,
                    what: What { stream: row.stream, of: Common::Stream },
                    start,
                    end,
                    count: 1,
                    bytes: row.length,
                    time: row.duration_ns(),
                    offset: row.offset,
                    site: process.site(*id),
                };
                if level.keeps(row.duration_ns()) {
                    single.push(slice);
                } else {
                    merger.add(slice);
                }
            }
        }
        bar.advance(segments_of(run, number, block));
    }
    let (merged, left_out) = merger.finish();
    Slices { single, merged, left_out }
}

/// Prints on standard error how many calls have separate slices.
fn report(level: &Level, counts: &Counts, most: u64) {
    if level.is_whole() {
        return;
    }
    say!(
        "dxt-analyze: the longest {} of {} have slices of their own; the other {} {} merged into {} (--most {most})",
        units::count(counts.single),
        units::counted(level.calls, "call"),
        units::count(counts.merged_calls),
        units::agree(counts.merged_calls, "is", "are"),
        units::counted(counts.merged_slices, "slice"),
    );
    if counts.left_out > 0 {
        let (are, them) = units::agree(counts.left_out, ("is", "it"), ("are", "them"));
        say!(
            "dxt-analyze: {} {are} not shown; increase --most to show {them}",
            units::counted(counts.left_out, "call")
        );
    }
    let windows = level.windows(most);
    if let Some((from, until)) = windows.first() {
        let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        say!(
            "dxt-analyze: {} {} few enough calls to show every call; the first is --time {}:{}",
            units::counted(windows.len() as u64, "time window"),
            units::agree(windows.len() as u64, "has", "have"),
            seconds(*from),
            seconds(*until)
        );
    }
}
