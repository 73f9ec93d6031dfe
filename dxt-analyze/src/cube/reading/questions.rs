//! First pass over the trace: finds processes that query a file which does not exist yet, and find it after another process has used it.
//! Streams (operations on files) that can show all of this are selected in advance, so other files cost nothing.

use crate::model::family::Family;
use crate::model::{FileId, Process, ProcessId, Run, Stream, Within};
use crate::scan::{Analysis, Block};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace_format::frame::BlockHead;

/// `ENOENT`, the same number on all of Linux (errno(3)).
const ENOENT: u16 = 2;
/// Operations that query whether a file exists.
pub const ASK: [&str; 4] = ["stat", "access", "open", "opendir"];
/// Operations, besides writes, by which a process makes a file or puts it in place.
pub const MAKE: [&str; 3] = ["rename", "mmap", "link"];
const GONE: [&str; 3] = ["unlink", "rename", "rmdir"];
/// Operations that create a file under a name that the trace does not have, likely in the same folder.
const PUT: [&str; 2] = ["rename", "link"];

/// Largest number of events (groups of consecutive calls of a stream) that are kept in total.
const EVENTS: u64 = 1 << 20;
/// Bounds of the limit on events (groups of consecutive calls of a stream) that are kept per file and process, computed from [`EVENTS`] and
/// the number of files. A file with more events than the limit is not reported.
const OF_EACH: (u64, u64) = (16, 1 << 12);

/// Existence of a file as shown by the calls of a stream (one operation on the file).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    None,
    /// The stream's file does not exist when the calls (of this operation) are made.
    Missing(u16),
    /// The stream's file exists when the calls (of this operation) end.
    There(u16),
    /// Another file, of unknown name, exists in the file's folder when the calls end.
    Put,
}

/// Consecutive calls of one stream. Times in ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Calls {
    /// Begin of the first of the consecutive calls.
    from: u64,
    /// Begin of the last of the consecutive calls.
    last: u64,
    /// End of the first of the consecutive calls.
    ended: u64,
    count: u64,
    missing: bool,
    op: u16,
    /// True if the calls create a file under another name in the same folder.
    put: bool,
}

/// A process that queried a missing file and found it after another process had used it. Times in ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Process that queried the missing file.
    pub process: ProcessId,
    /// File that was queried before it existed.
    pub file: FileId,
    /// Number of failed calls, in which the process found no file.
    pub calls: u64,
    /// Begin of the first call that failed to find the file.
    pub asked_ns: u64,
    /// End of the first call of another process on the file after the last failed call.
    pub there_ns: u64,
    /// Begin of the call that found the file.
    pub found_ns: u64,
}

/// Analysis (pass over all recorded calls) that finds processes which wait for a file.
#[derive(Debug)]
pub struct Questions {
    /// By process and stream: what the stream's calls show; empty for processes without such streams.
    roles: Vec<Vec<Role>>,
    /// Largest number of events (groups of consecutive calls of a stream) that are kept per file and process.
    limit: u64,
}

/// Kept events (groups of consecutive calls) of one process on one file, and number of all such events.
type Kept = (Vec<Calls>, u64);
/// Kept events (groups of consecutive calls) by file and process, as found by one analysis thread.
#[derive(Debug, Default)]
pub struct Partial(FxHashMap<(FileId, ProcessId), Kept>);

impl Questions {
    /// Selects the files that a process queries in vain and later finds, by the streams of `run`.
    #[must_use]
    pub fn new(run: &Run) -> Self {
        // By file: operations of each process that fail since the file is missing.
        let mut asked: FxHashMap<FileId, FxHashMap<ProcessId, FxHashSet<u16>>> = FxHashMap::default();
        for (number, process) in run.numbered_processes() {
            for stream in process.streams.iter().filter(|stream| is_question(run, stream) && stream.failed) {
                asked.entry(stream.file).or_default().entry(number).or_default().insert(stream.op);
            }
        }
        if asked.is_empty() {
            return Self { roles: Vec::new(), limit: 0 };
        }
        let puts = puts(run);
        // Files that such a process finds by the same operation, without making them; and all users.
        let mut found: FxHashSet<FileId> = FxHashSet::default();
        let mut used_by: FxHashMap<FileId, FxHashSet<ProcessId>> = FxHashMap::default();
        for (number, process) in run.numbered_processes() {
            for stream in process.streams.iter().filter(|stream| shows(run, stream)) {
                let Some(of) = asked.get(&stream.file) else { continue };
                used_by.entry(stream.file).or_default().insert(number);
                let same = of.get(&number).is_some_and(|ops| ops.contains(&stream.op));
                if same && is_question(run, stream) && !makes(run, process, stream.file) {
                    found.insert(stream.file);
                }
            }
        }
        let put_there = |file: &FileId| puts.contains(folder(run, *file));
        found.retain(|file| used_by.get(file).is_some_and(|by| by.len() > 1) || put_there(file));
        let asked_in: FxHashSet<&str> = found.iter().map(|file| folder(run, *file)).collect();
        let role = |stream: &Stream| match stream {
            _ if is_put(run, stream) && asked_in.contains(folder(run, stream.file)) => Role::Put,
            _ if !found.contains(&stream.file) => Role::None,
            _ if stream.failed && is_question(run, stream) => Role::Missing(stream.op),
            _ if shows(run, stream) => Role::There(stream.op),
            _ => Role::None,
        };
        let of = |process: &Process| {
            let roles: Vec<Role> = process.streams.iter().map(role).collect();
            if roles.iter().all(|role| *role == Role::None) { Vec::new() } else { roles }
        };
        let roles = if found.is_empty() { Vec::new() } else { run.processes.iter().map(of).collect() };
        let uses: u64 = found.iter().filter_map(|file| used_by.get(file)).map(|by| by.len() as u64).sum();
        Self { roles, limit: (EVENTS / uses.max(1)).clamp(OF_EACH.0, OF_EACH.1) }
    }

    /// Returns all files that a process queried in vain and then found after another process had used or created them; sorted by process
    /// and time.
    #[must_use]
    pub fn found(&self, run: &Run, kept: Partial) -> Vec<Found> {
        let mut files: BTreeMap<FileId, BTreeMap<ProcessId, Vec<Calls>>> = BTreeMap::new();
        let mut put: BTreeMap<&str, Vec<End>> = BTreeMap::new();
        let mut whole: FxHashMap<FileId, bool> = FxHashMap::default();
        for ((file, process), (mut calls, all)) in kept.0 {
            calls.sort_unstable();
            let ends = calls.iter().filter(|of| of.put).map(|of| (of.ended, process));
            put.entry(folder(run, file)).or_default().extend(ends);
            calls.retain(|of| !of.put);
            files.entry(file).or_default().insert(process, calls);
            *whole.entry(file).or_insert(true) &= all <= self.limit;
        }
        put.values_mut().for_each(|all| all.sort_unstable());
        let family = Family::of(run);
        let mut out = Vec::new();
        for (file, by) in files.iter().filter(|(file, _)| whole.get(file).copied().unwrap_or_default()) {
            let ends = by.iter().flat_map(|(process, calls)| calls.iter().map(move |of| (of, *process)));
            let mut used: Vec<End> =
                ends.filter(|(of, _)| !of.missing).map(|(of, process)| (of.ended, process)).collect();
            used.sort_unstable();
            let put = put.get(folder(run, *file)).map_or(&[][..], Vec::as_slice);
            for (number, calls) in by.iter().filter(|(_, calls)| calls.iter().any(|of| of.missing)) {
                if run.process(*number).is_some_and(|process| makes(run, process, *file)) {
                    continue;
                }
                waits(*number, calls, &used, put, |wait, maker| {
                    if !waits_for_end(run, &family, [*number, maker], &wait) {
                        out.push(Found { process: *number, file: *file, ..wait });
                    }
                });
            }
        }
        out.sort_unstable_by_key(|found| (found.process, found.asked_ns, found.file));
        out
    }
}

/// End of a call, ns since the job's start, and the process that made it.
type End = (u64, ProcessId);

/// True if `asker`, which found a file that `maker` made, waited for `maker` to end rather than for the file: it started `maker`, directly or
/// not, and found the file as soon as `maker` had ended.
fn waits_for_end(run: &Run, family: &Family<'_>, [asker, maker]: [ProcessId; 2], wait: &Found) -> bool {
    let (Some(asker), Some(maker)) = (run.process(asker), run.process(maker)) else { return false };
    let late_ns = wait.found_ns.saturating_sub(wait.there_ns) as f64;
    // The end of a process takes time, too.
    let soon_ns = (late_ns * run.thresholds.half_share).max(run.thresholds.start_ns as f64);
    let since = wait.found_ns.checked_sub(maker.end_ns).filter(|_| maker.end_ns >= wait.there_ns);
    since.is_some_and(|ns| ns as f64 <= soon_ns) && family.has_started(asker, maker)
}

fn folder(run: &Run, file: FileId) -> &str {
    let name = run.file_name(file);
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// True if calls of a stream create a file under another name (rename, link).
fn is_put(run: &Run, stream: &Stream) -> bool {
    stream.chosen && !stream.failed && PUT.contains(&run.op(stream).name.as_str())
}

/// Returns the folders in which files are created under other names (rename, link).
fn puts(run: &Run) -> FxHashSet<&str> {
    let all = run.processes.iter().flat_map(|process| &process.streams).filter(|stream| is_put(run, stream));
    all.map(|stream| folder(run, stream.file)).collect()
}

/// True if calls of a stream are the program's own queries for a file, and fail only because the file is missing.
fn is_question(run: &Run, stream: &Stream) -> bool {
    stream.chosen
        && stream.within() == Within::Nothing
        && (!stream.failed || stream.errno == ENOENT)
        && ASK.contains(&run.op(stream).name.as_str())
}

/// True if calls of a stream show that its file exists when they end.
fn shows(run: &Run, stream: &Stream) -> bool {
    stream.chosen
        && !stream.failed
        && !stream.overview
        && !stream.meets
        && !GONE.contains(&run.op(stream).name.as_str())
}

/// True if the process itself writes or creates the file.
fn makes(run: &Run, process: &Process, file: FileId) -> bool {
    let makes = |stream: &&Stream| {
        let op = run.op(stream);
        MAKE.contains(&op.name.as_str()) || op.class == Some(trace_format::op::OpClass::Write)
    };
    process.streams.iter().filter(|stream| stream.file == file && !stream.failed).any(|stream| makes(&stream))
}

/// Calls `found` for each wait among the `calls` of the process `number` on a file (ascending), with the process that made the file: failed
/// queries, then a successful one. `used`: ends of calls on the file; `put`: ends of calls that create some file in its folder; both ascending.
fn waits(number: ProcessId, calls: &[Calls], used: &[End], put: &[End], mut found: impl FnMut(Found, ProcessId)) {
    let is_other = |(_, process): &&End| *process != number;
    let mut asks: Option<(Calls, u64)> = None;
    for of in calls {
        if of.missing {
            let (first, failed) = asks.unwrap_or((*of, 0));
            asks = Some((Calls { last: of.last.max(first.last), op: of.op, ..first }, failed.saturating_add(of.count)));
            continue;
        }
        // A process that queries by one operation and continues by another does not wait for the answer.
        let Some((first, failed)) = asks.take().filter(|(first, _)| first.op == of.op) else { continue };
        let between = |all: &[End]| {
            let from = all.partition_point(|(ended, _)| *ended <= first.last);
            let until = all.partition_point(|(ended, _)| *ended <= of.from);
            from..until.max(from)
        };
        let used = used.get(between(used)).into_iter().flatten().find(is_other);
        // If several files were put there meanwhile, the last one gives a lower bound of the loss.
        let put = put.get(between(put)).into_iter().flatten().rev().find(is_other);
        if let Some(&(there_ns, maker)) = used.into_iter().chain(put).min() {
            let (process, file) = (ProcessId::NONE, FileId::NONE);
            found(Found { process, file, calls: failed, asked_ns: first.from, there_ns, found_ns: of.from }, maker);
        }
    }
}

impl Analysis for Questions {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.roles.get(process.index()).is_some_and(|roles| !roles.is_empty())
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(roles) = self.roles.get(block.number.index()).filter(|roles| !roles.is_empty()) else { return };
        let shift = block.process.shift_ns;
        for stretch in block.stretches() {
            let role = roles.get(stretch.stream.index()).copied().unwrap_or_default();
            let Some(file) = block.process.stream(stretch.stream).map(|stream| stream.file) else { continue };
            let mut keep = |calls: Calls| {
                let (kept, all) = partial.0.entry((file, block.number)).or_default();
                *all = all.saturating_add(1);
                if kept.len() as u64 <= self.limit {
                    kept.push(calls);
                }
            };
            let op = match role {
                Role::None => continue,
                Role::Missing(op) | Role::There(op) => op,
                Role::Put => {
                    // Each call puts another file in place.
                    for (start, end) in stretch.start.iter().zip(stretch.end) {
                        let [from, ended] = [*start, *end].map(|at| at.saturating_add(shift));
                        keep(Calls { from, last: from, ended, count: 1, missing: false, op: u16::MAX, put: true });
                    }
                    continue;
                }
            };
            let (Some(from), Some(last), Some(ended)) =
                (stretch.start.first(), stretch.start.last(), stretch.end.first())
            else {
                continue;
            };
            let [from, last, ended] = [*from, *last, *ended].map(|at| at.saturating_add(shift));
            let missing = matches!(role, Role::Missing(_));
            keep(Calls { from, last, ended, count: stretch.start.len() as u64, missing, op, put: false });
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, (theirs, all)) in other.0 {
            let (kept, sum) = into.0.entry(key).or_default();
            *sum = sum.saturating_add(all);
            if *sum <= self.limit {
                kept.extend(theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(missing: bool, op: u16, from: u64, last: u64, count: u64) -> Calls {
        Calls { from, last, ended: from + 1, count, missing, op, put: false }
    }

    fn all(mine: &[Calls], others: &[u64]) -> Vec<(u64, u64, u64)> {
        with(mine, others, &[])
    }

    fn with(mine: &[Calls], others: &[u64], put: &[u64]) -> Vec<(u64, u64, u64)> {
        let mut out = Vec::new();
        let of_other = |all: &[u64]| -> Vec<End> { all.iter().map(|ended| (*ended, ProcessId(1))).collect() };
        let mut used = of_other(others);
        used.extend(mine.iter().filter(|of| !of.missing).map(|of| (of.ended, ProcessId(0))));
        used.sort_unstable();
        waits(ProcessId(0), mine, &used, &of_other(put), |wait, maker| {
            assert_eq!(maker, ProcessId(1));
            out.push((wait.calls, wait.there_ns, wait.found_ns));
        });
        out
    }

    #[test]
    fn a_wait_ends_with_the_question_that_finds_the_file_and_another_has_used_it_before() {
        let twice = [calls(true, 1, 0, 30, 3), calls(false, 1, 50, 50, 1), calls(true, 1, 100, 110, 2)];
        assert_eq!(all(&twice, &[10, 42, 45]), [(3, 42, 50)], "the first since the last question in vain");
        let again = [&twice[..], &[calls(false, 1, 130, 130, 1)]].concat();
        assert_eq!(all(&again, &[42, 115]), [(3, 42, 50), (2, 115, 130)]);
        assert_eq!(all(&again, &[20, 60]), [], "nobody else has used it between");
        assert_eq!(all(&[calls(true, 1, 0, 30, 3), calls(false, 2, 50, 50, 1)], &[42]), [], "another kind of call");
        // A file that is put in place from another name.
        assert_eq!(with(&twice, &[], &[20, 36, 40, 60]), [(3, 40, 50)], "the last before it is found");
        assert_eq!(with(&twice, &[45], &[40]), [(3, 40, 50)]);
        assert_eq!(with(&twice, &[], &[20, 60]), []);
    }
}
