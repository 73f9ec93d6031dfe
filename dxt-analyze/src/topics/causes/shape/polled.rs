//! Processes that poll: for a lock file of another process (open with `O_EXCL` fails with `EEXIST`), for a file lock (`EAGAIN`), or for a
//! file that another process makes (`ENOENT`). The calls are short; the waiting time lies between them.

use crate::cube::reading::questions::{ASK, Found, MAKE};
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::stats::median;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::common::Who;
use crate::words::shape::{self as words, Awaited as What};
use std::collections::{BTreeMap, BTreeSet};

impl What {
    /// Returns what a process waits for, by class and errno of the failed call (Linux numbers): lock file (`EEXIST`), file lock (`EAGAIN`
    /// or `EACCES`), file (`ENOENT`); `None` for other failures.
    fn of(class: Class, errno: u16) -> Option<Self> {
        match (class, errno) {
            (Class::Open, 17) => Some(Self::LockFile),
            (Class::Lock, 11 | 13) => Some(Self::Lock),
            (_, 2) => Some(Self::File),
            _ => None,
        }
    }
}

impl What {
    /// Returns the fewest failed calls that make a wait: a process may go on without a file after a few failures, but not without a lock.
    const fn fewest(self, thresholds: &Thresholds) -> u64 {
        match self {
            Self::Lock => thresholds.repeated_min,
            Self::LockFile => thresholds.few_min,
            Self::File => thresholds.calls_min,
        }
    }
}

impl Asked {
    /// True if the failed calls of a wait are spread over it: a process that looks a few times at the begin and at the end does not wait for
    /// the file.
    fn are_spread(&self, (first, last): &Wait, thresholds: &Thresholds) -> bool {
        let windows = self.failed.range(*first..=*last).count() as f64;
        let most = self.calls(&(*first, *last)).min(u64::from(last - first) + 1) as f64;
        windows >= most * thresholds.half_share
    }

    /// Returns the number of failed calls in a wait.
    fn calls(&self, (first, last): &Wait) -> u64 {
        self.failed.range(*first..=*last).fold(0, |sum, (_, calls)| sum.saturating_add(*calls))
    }
}

/// Calls of one process on one path. `failed`: number of failed calls by time window; `found`: windows with a call that gets what the
/// process waits for; `indices`: cells (groups of similar calls) of the failed calls, with their window.
#[derive(Debug, Default)]
struct Asked {
    failed: BTreeMap<u16, u64>,
    found: BTreeSet<u16>,
    /// Time windows with calls that may end a wait: those that get what the process waits for, and, if it waits for a lock, all other lock
    /// calls.
    ends: BTreeSet<u16>,
    /// True if the process itself creates or writes the file that it waits for.
    makes: bool,
    indices: Vec<(u32, u16)>,
}

/// Time that processes wait, ns, by awaited file and by waiting process.
#[derive(Debug, Default)]
struct Waited {
    by_file: BTreeMap<FileId, f64>,
    by_process: BTreeMap<ProcessId, f64>,
    calls: u64,
    savings: Savings,
}

/// Returns one claim (finding with its saving) about lock files, one about file locks, and one about files that do not exist yet.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let thresholds = &cube.run.thresholds;
    let asked = asked(cube);
    if asked.is_empty() {
        return Vec::new();
    }
    let others = Others::of(cube);
    let mut waited: BTreeMap<What, Waited> = BTreeMap::new();
    for ((process, file, what), asked) in asked {
        if what == What::File && asked.makes {
            continue;
        }
        let enough = |wait: &Wait| {
            let (calls, ns) = (asked.calls(wait), length(cube, &asked, wait));
            calls >= what.fewest(thresholds)
                && ns <= thresholds.poll_interval_ns as f64 * calls as f64
                && (what != What::File || asked.are_spread(wait, thresholds))
        };
        let mut waits = waits(thresholds, &asked);
        // If it is recorded when the file existed, [`super::found_late`] reports the wait.
        let known = |wait: &Wait| what == What::File && is_found(cube, (process, file), wait);
        waits.retain(|wait| enough(wait) && !known(wait) && !others.is_work(cube, process, (what, file), wait));
        let ns: f64 = waits.iter().map(|wait| length(cube, &asked, wait)).sum();
        if ns <= 0.0 {
            continue;
        }
        let of = waited.entry(what).or_default();
        *of.by_file.entry(file).or_default() += ns;
        *of.by_process.entry(process).or_default() += ns;
        add(&mut of.calls, waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(asked.calls(wait))));
        let waited = |slot: u16| waits.iter().any(|(first, last)| (*first..=*last).contains(&slot));
        let left = asked.indices.iter().filter(|(_, slot)| waited(*slot));
        let left = left.filter_map(|(index, _)| Some((*index, cube.cells.get(*index as usize)?.time_ns())));
        of.savings.extend(left);
    }
    waited.into_iter().filter_map(|(what, of)| claim(cube, what, of)).collect()
}

/// True if the trace contains when the file that the process waits for (`of`: process, file) came into existence: [`super::found_late`]
/// then reports the wait.
fn is_found(cube: &Cube<'_>, of: (ProcessId, FileId), (first, last): &Wait) -> bool {
    let slots = |found: &Found| (cube.slots.of(found.asked_ns), cube.slots.of(found.found_ns));
    let begin = cube.found.partition_point(|found| found.process < of.0);
    let mine = cube.found.iter().skip(begin).take_while(|found| found.process == of.0);
    mine.filter(|found| found.file == of.1)
        .any(|found| slots(found).0 <= usize::from(*last) && slots(found).1 >= usize::from(*first))
}

/// Returns the program's failed calls by process, file and awaited object (lock file, lock, file).
fn asked(cube: &Cube<'_>) -> BTreeMap<(ProcessId, FileId, What), Asked> {
    let mut out: BTreeMap<(ProcessId, FileId, What), Asked> = BTreeMap::new();
    // HDF5 asks once for the lock of a file; the program then opens the file again, until that succeeds.
    let of_hdf5 = |cell: &Cell| cube.stream(cell).is_some_and(|stream| stream.within() == Within::Hdf5);
    let own = |cell: &&Cell| cell.leaf && (!cell.inside || cell.class == Class::Lock && of_hdf5(cell));
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| own(cell)) {
        let Some(stream) = cube.stream(cell).filter(|stream| stream.failed) else { continue };
        let asks = ASK.contains(&cube.run.op(stream).name.as_str());
        let Some(what) = What::of(cell.class, stream.errno).filter(|what| *what != What::File || asks) else {
            continue;
        };
        let of = out.entry((cell.process, cell.file, what)).or_default();
        add(of.failed.entry(cell.slot).or_default(), cell.sums.calls);
        of.indices.push((index, cell.slot));
    }
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        let makes = cube.stream(cell).is_some_and(|stream| MAKE.contains(&cube.run.op(stream).name.as_str()));
        if let Some(of) = out.get_mut(&(cell.process, cell.file, What::File)) {
            of.makes |= makes || cell.class == Class::Write;
        }
    }
    for cell in cube.cells.iter().filter(own) {
        let finds = cube.stream(cell).is_some_and(|stream| !stream.failed);
        for what in [What::LockFile, What::Lock, What::File] {
            let Some(of) = out.get_mut(&(cell.process, cell.file, what)).filter(|_| finds) else { continue };
            let answers = match what {
                What::LockFile => cell.class == Class::Open,
                // The process may take other locks on the file meanwhile (SQLite): a write shows that it got the lock.
                What::Lock => cell.class == Class::Write || cell.class == Class::Lock && of_hdf5(cell),
                What::File => matches!(cell.class, Class::Open | Class::Metadata),
            };
            if answers {
                of.found.insert(cell.slot);
            }
            if answers || what == What::Lock && cell.class == Class::Lock {
                of.ends.insert(cell.slot);
            }
        }
    }
    out
}

/// Calls of each process that show if it does other work between its polls.
pub(super) struct Others {
    /// Time windows of a process that spends at least the part `quarter_share` of the window in reads and writes.
    moves: BTreeSet<(ProcessId, u16)>,
    /// Time windows of a process with successful calls: the file that they are on, or `None` for several files.
    calls: BTreeMap<(ProcessId, u16), Option<FileId>>,
}

impl Others {
    /// Collects, for all processes, the time windows with much time in reads and writes, and those with successful calls.
    pub(super) fn of(cube: &Cube<'_>) -> Self {
        let mut times: BTreeMap<(ProcessId, u16), f64> = BTreeMap::new();
        let mut calls: BTreeMap<(ProcessId, u16), Option<FileId>> = BTreeMap::new();
        for cell in cube.cells.iter().filter(|cell| cell.leaf) {
            let at = (cell.process, cell.slot);
            if matches!(cell.class, Class::Read | Class::Write) {
                *times.entry(at).or_default() += cell.time_ns();
            }
            if cube.stream(cell).is_some_and(|stream| !stream.failed) {
                let file = calls.entry(at).or_insert(Some(cell.file));
                *file = file.filter(|file| *file == cell.file);
            }
        }
        let moves = times
            .into_iter()
            .filter(|((_, slot), ns)| *ns >= width(cube, *slot) * cube.run.thresholds.quarter_share)
            .map(|(at, _)| at);
        Self { moves: moves.collect(), calls }
    }

    /// True if the process does other work between its first query of the file and the query that finds it.
    pub(super) fn are_work(&self, cube: &Cube<'_>, found: &Found) -> bool {
        let slot = |at: u64| u16::try_from(cube.slots.of(at)).unwrap_or(u16::MAX);
        self.is_work(cube, found.process, (What::File, found.file), &(slot(found.asked_ns), slot(found.found_ns)))
    }

    /// True if a process works during the wait from window `first` to `last` and polls only now and then: it reads and writes, makes calls
    /// on other files, or takes part in a synchronization point of all ranks.
    fn is_work(&self, cube: &Cube<'_>, process: ProcessId, (what, file): (What, FileId), (first, last): &Wait) -> bool {
        let between = usize::from(last.saturating_sub(*first)).saturating_sub(1);
        let behind = first.saturating_add(1);
        let span = (process, behind)..(process, (*last).max(behind));
        let busy = self.moves.range(span.clone()).count();
        let elsewhere = self.calls.range(span).filter(|(_, on)| **on != Some(file)).count();
        let most = between as f64 * cube.run.thresholds.quarter_share;
        let phase = |slot: u16| cube.slots.phase(usize::from(slot));
        // After a refused lock, a process may look at other files before it retries (SQLite: the journal).
        let elsewhere = if what == What::Lock { 0 } else { elsewhere };
        busy as f64 > most || elsewhere as f64 > most || cube.sync_points.one_between(phase(*first), phase(*last))
    }
}

fn width(cube: &Cube<'_>, slot: u16) -> f64 {
    let begin = cube.slots.begin(usize::from(slot)).unwrap_or_default();
    let end = cube.slots.begin(usize::from(slot) + 1).unwrap_or_else(|| cube.run.length_ns());
    end.saturating_sub(begin) as f64
}

type Wait = (u16, u16);

/// Returns the waits: sequences of failed calls without a long pause or a success between them, followed by a success.
fn waits(thresholds: &Thresholds, asked: &Asked) -> Vec<Wait> {
    let slots: Vec<u16> = asked.failed.keys().copied().collect();
    let mut apart: Vec<f64> = slots.windows(2).map(|pair| f64::from(pair[1] - pair[0])).collect();
    let pause = median(&mut apart).unwrap_or(1.0) * thresholds.treble_ratio;
    let found = |from: u16, until: u16| asked.found.range(from..until).next().is_some();
    let mut out: Vec<Wait> = Vec::new();
    for slot in slots {
        match out.last_mut() {
            Some((_, last)) if f64::from(slot - *last) <= pause && !found(*last, slot) => *last = slot,
            _ => out.push((slot, slot)),
        }
    }
    let ends = |from: u16, until: u16| asked.ends.range(from..until).next().is_some();
    out.retain(|(_, last)| ends(*last, last.saturating_add((pause as u16).saturating_add(1))));
    out
}

/// Returns the length of a wait, ns. The first and the last time window count as their failed calls times the shortest mean interval.
fn length(cube: &Cube<'_>, asked: &Asked, (first, last): &Wait) -> f64 {
    let each = |(slot, calls): (&u16, &u64)| width(cube, *slot) / *calls as f64;
    let usual = asked.failed.iter().map(each).fold(f64::INFINITY, f64::min);
    let of = |slot: u16| {
        let calls = asked.failed.get(&slot).copied().unwrap_or_default() as f64;
        if slot == *first || slot == *last { (calls * usual).min(width(cube, slot)) } else { width(cube, slot) }
    };
    (*first..=*last).map(of).sum()
}

fn claim(cube: &Cube<'_>, what: What, waited: Waited) -> Option<Claim> {
    let (longest, most) = waited.by_process.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let (file, on_file) = waited.by_file.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let all: f64 = waited.by_file.values().sum();
    let one = *on_file >= all * cube.run.thresholds.most_share;
    let name = cube.run.file_name(*file).to_owned();
    let rank = cube
        .run
        .process(*longest)
        .map(|process| process.rank)
        .filter(|rank| *rank >= 0 && waited.by_process.len() == 1);
    let about = About {
        rank,
        file: one.then(|| name.clone()),
        calls: Some(waited.calls),
        processes: Some(waited.by_process.len() as u64),
        ..About::default()
    };
    let of = words::Polled {
        what,
        who: Who::of(waited.by_process.len(), cube.run.process_name(*longest)),
        file: one.then_some(name.as_str()),
        files: waited.by_file.len() as u64,
        calls: waited.calls,
        longest_ns: *most as u64,
        all_ns: all as u64,
    };
    let in_calls: f64 = waited.savings.iter().map(|(_, ns)| ns).sum::<f64>() / waited.by_process.len().max(1) as f64;
    let waiting_ns = (most - in_calls).max(0.0);
    let claim = Claim::new(Finding::new(Code::POLLED, words::polled(&of, about)), waited.savings);
    Some(Claim { waiting_ns, ..claim })
}
