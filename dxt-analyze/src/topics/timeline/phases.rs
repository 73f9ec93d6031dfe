//! I/O phases: stretches of successive calls, separated by pauses and divided further where the activity changes.
//!
//! The rules are this project's. A pause has no call of the program in flight for at least `phase_quiet_share` of the time from the first
//! call to the last. A change of activity must last at least as long ([`changes`]).

use super::changes;
use super::grids::Grids;
use super::series::Bin;
use super::slices::{Kind, Slices};
use super::span::Span;
use crate::model::{FileId, Run};
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum number of files named for an I/O phase.
const NAMED: usize = 3;
/// Minimum share of reads (or writes) in the bytes of an I/O phase for it to be called a read (or write) phase.
const MOSTLY: f64 = 0.9;

/// I/O phase: successive calls that begin and end at a pause or at a change of activity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Number of the I/O phase in order of time, counted from 1.
    pub number: usize,
    /// Kind of activity: `read`, `write`, `read and write` or `metadata`.
    pub kind: &'static str,
    /// Start of the first call, or the change of activity at which the phase begins, ns since the job's start.
    pub start_ns: u64,
    /// End of the last call, or the change of activity at which the phase ends, ns since the job's start.
    pub end_ns: u64,
    /// Bytes read in the I/O phase.
    pub bytes_read: u64,
    /// Bytes written in the I/O phase.
    pub bytes_written: u64,
    /// Number of calls that the program itself made in the I/O phase.
    pub calls: u64,
    /// Time in the calls of the I/O phase, summed over processes and threads, ns.
    pub busy_ns: u64,
    /// Bytes moved in the I/O phase / its duration, bytes per second.
    pub bandwidth: f64,
    /// Mean number of calls in flight during the I/O phase.
    pub concurrency: f64,
    /// Operation in which the program spent most time during the I/O phase, such as `POSIX write`.
    pub operation: String,
    /// Share of `operation` in the time in all calls of the I/O phase.
    pub operation_share: f64,
    /// Files with most time in the I/O phase, among the few files with most time in the run.
    pub files: Vec<String>,
}

/// Returns the I/O phases of a job, in order of time, from its time bins (`bins`) and grids; empty without calls.
#[must_use]
pub fn phases(
    run: &Run,
    span: &Span,
    slices: &Slices,
    grids: &Grids,
    bins: &[Bin],
    thresholds: &Thresholds,
) -> Vec<Phase> {
    let busy: Vec<usize> = (0..bins.len()).filter(|&at| bins.get(at).is_some_and(|bin| !bin.is_quiet())).collect();
    let (Some(&first), Some(&last)) = (busy.first(), busy.last()) else { return Vec::new() };
    let ends = |from: usize, to: usize| {
        let range = grids.moments.get(from..=to).unwrap_or_default();
        let start = range.iter().map(|m| m.first_ns).min().filter(|&start| start != u64::MAX);
        let end = range.iter().map(|m| m.last_ns).max().filter(|&end| end > 0);
        (start.unwrap_or_else(|| span.start_of(from)), end.unwrap_or_else(|| span.start_of(to + 1)))
    };
    let (start, end) = ends(first, last);
    let quiet_ns = (end.saturating_sub(start) as f64 * thresholds.phase_quiet_share) as u64;
    let mut stretches: Vec<(usize, usize)> = Vec::new();
    for &at in &busy {
        if let Some(stretch) = stretches.last_mut() {
            let gap = ends(at, at).0.saturating_sub(ends(stretch.0, stretch.1).1);
            // No pause separates neighbouring bins: a call may last from one into the next, with its end missing in the former and its
            // start in the latter.
            if at == stretch.1 + 1 || gap < quiet_ns {
                stretch.1 = at;
                continue;
            }
        }
        stretches.push((at, at));
    }
    let least = quiet_ns as f64 / span.width_ns.max(1) as f64;
    let parts: Vec<(usize, usize)> = stretches
        .into_iter()
        .flat_map(|(from, to)| {
            let cuts = changes::cuts(bins.get(from..=to).unwrap_or_default(), thresholds.phase_quiet_share, least);
            let begins: Vec<usize> = std::iter::once(from).chain(cuts.into_iter().map(|cut| from + cut)).collect();
            // A pause before a change of activity belongs to no phase.
            let last = |begin: usize| busy.get(busy.partition_point(|&at| at < begin).checked_sub(1)?).copied();
            let ends = begins.iter().skip(1).filter_map(|&begin| last(begin)).chain([to]).collect::<Vec<_>>();
            begins.into_iter().zip(ends)
        })
        .collect();
    let has_part = |at: usize, is: fn(&(usize, usize)) -> usize| parts.iter().any(|part| is(part) == at);
    let one = |(number, &(from, to)): (usize, &(usize, usize))| {
        let (mut start_ns, mut end_ns) = ends(from, to);
        // If a change of activity divides neighbouring bins, calls may last across it.
        if from > 0 && has_part(from - 1, |part| part.1) {
            start_ns = span.start_of(from);
        }
        if has_part(to + 1, |part| part.0) {
            end_ns = span.start_of(to + 1);
        }
        phase(run, slices, grids, bins, (from, to), Phase { number: number + 1, start_ns, end_ns, ..empty() })
    };
    parts.iter().enumerate().map(one).collect()
}

fn empty() -> Phase {
    Phase {
        number: 0,
        kind: "metadata",
        start_ns: 0,
        end_ns: 0,
        bytes_read: 0,
        bytes_written: 0,
        calls: 0,
        busy_ns: 0,
        bandwidth: 0.0,
        concurrency: 0.0,
        operation: String::new(),
        operation_share: 0.0,
        files: Vec::new(),
    }
}

fn phase(run: &Run, slices: &Slices, grids: &Grids, bins: &[Bin], range: (usize, usize), mut out: Phase) -> Phase {
    for bin in bins.get(range.0..=range.1).unwrap_or_default() {
        out.bytes_read = out.bytes_read.saturating_add(bin.bytes_read);
        out.bytes_written = out.bytes_written.saturating_add(bin.bytes_written);
        out.calls = out.calls.saturating_add(bin.reads).saturating_add(bin.writes).saturating_add(bin.metadata_calls);
        out.busy_ns = out.busy_ns.saturating_add(bin.busy_ns());
    }
    let duration = out.end_ns.saturating_sub(out.start_ns).max(1) as f64;
    let bytes = out.bytes_read.saturating_add(out.bytes_written);
    out.bandwidth = bytes as f64 * 1e9 / duration;
    out.concurrency = out.busy_ns as f64 / duration;
    out.kind = match (out.bytes_read as f64, bytes as f64) {
        (_, all) if all <= 0.0 => Kind::Metadata.name(),
        (read, all) if read >= MOSTLY * all => Kind::Read.name(),
        (read, all) if read <= (1.0 - MOSTLY) * all => Kind::Write.name(),
        _ => "read and write",
    };
    let (mut operations, mut files): (BTreeMap<String, u64>, BTreeMap<FileId, u64>) = Default::default();
    for (slice, _, line) in grids.job.lines() {
        let Some(slice) = slices.all.get(slice).filter(|slice| !slice.nested) else { continue };
        let cells = line.get(range.0..=range.1).unwrap_or_default();
        let time = cells.iter().map(|cell| cell.busy_ns).sum::<Sum>().get();
        if cells.iter().all(super::grid::Cell::is_empty) {
            continue;
        }
        *operations.entry(slice.title()).or_default() += time;
        if let Some(file) = slice.file {
            *files.entry(file).or_default() += time;
        }
    }
    let most = operations.iter().max_by_key(|(name, time)| (**time, std::cmp::Reverse((*name).clone())));
    if let Some((name, time)) = most {
        out.operation.clone_from(name);
        out.operation_share = share(*time, out.busy_ns);
    }
    let mut files: Vec<(u64, FileId)> = files.into_iter().map(|(file, time)| (time, file)).collect();
    files.sort_unstable_by_key(|&(time, file)| (std::cmp::Reverse(time), file));
    let names = files.iter().take(NAMED).filter_map(|&(_, file)| run.file(file));
    out.files = names.map(|file| file.name.clone()).collect();
    out
}
