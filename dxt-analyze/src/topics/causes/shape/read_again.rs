//! Repeated reads of bytes, where only counters exist: a process that reads more bytes of a file than lie in the range of its reads has read some
//! of them twice (pigeonhole principle).

use crate::findings::{About, Code};
use crate::model::{Class, FileId, Process, ProcessId};
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

#[derive(Clone, Copy, Debug)]
struct Reads {
    bytes: u64,
    /// First byte of any read, 0 if unknown, and end of the last.
    from: u64,
    until: u64,
}

impl Reads {
    /// Returns the most distinct bytes that the reads can reach.
    const fn extent(self) -> u64 {
        self.until - self.from
    }
}

/// Returns one claim about all files.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let least = &grid.run.thresholds;
    let is = |entry: &&Entry| entry.leaf && entry.class == Class::Read;
    let mut all: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    grid.entries
        .iter()
        .filter(is)
        .for_each(|entry| add(all.entry((entry.process, entry.file)).or_default(), entry.cell.bytes));
    let read: u64 = all.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    let written = written(grid);
    let mut again: BTreeMap<(ProcessId, FileId), f64> = BTreeMap::new();
    let (mut bytes, mut most) = (0_u64, None::<(u64, FileId, Reads, u64)>);
    for (number, process) in grid.run.numbered_processes() {
        // In a record of several ranks, each of them may have read everything once.
        let readers = u64::from(process.reduction.ranks).max(1);
        for (file, reads) in counted(grid, process) {
            let writers = written.get(&file);
            // Bytes that the process writes in between are new when read.
            let own = writers.and_then(|of| of.get(&number)).copied().unwrap_or_default();
            let first = reads.extent().saturating_mul(readers).saturating_add(own);
            let more = reads.bytes.saturating_sub(first);
            // Reads with known offsets are judged elsewhere, and other processes' writes may have changed the bytes.
            let whole = all.get(&(number, file)) == Some(&reads.bytes);
            let by_others = writers.is_some_and(|of| of.keys().any(|process| *process != number));
            if more == 0 || reads.extent() == 0 || !whole || by_others {
                continue;
            }
            again.insert((number, file), more as f64 / reads.bytes as f64);
            add(&mut bytes, more);
            if most.is_none_or(|(of, ..)| more > of) {
                most = Some((more, file, reads, readers));
            }
        }
    }
    let (_, file, reads, readers) = most?;
    let share = bytes as f64 / read.max(1) as f64;
    if share < least.traffic_share || bytes < least.traffic_min_bytes {
        return None;
    }
    let part = |entry: &Entry| again.get(&(entry.process, entry.file)).copied();
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| is(entry));
    let savings: Savings = theirs.filter_map(|(index, entry)| Some((index, entry.left_ns * part(entry)?))).collect();
    let name = &grid.run.file(file)?.name;
    let about = About { file: Some(name.clone()), ..About::default() };
    let of = words::ReadAgain {
        bytes,
        share,
        file: name,
        readers: (readers > 1).then(|| (readers, grid.run.worker_name())),
        read: reads.bytes,
        until: reads.until,
    };
    let words = |lost| words::read_again(&of, about, lost);
    (!savings.is_empty()).then(|| Claim::on_files(grid, Code::REREAD, savings, words))
}

/// Returns reads by file, of calls with counters only.
fn counted(grid: &Grid<'_>, process: &Process) -> BTreeMap<FileId, Reads> {
    let mut of: BTreeMap<FileId, Reads> = BTreeMap::new();
    let mut unknown: BTreeSet<FileId> = BTreeSet::new();
    for missing in &process.missing {
        let Some(stream) = process.stream_index(missing.stream).and_then(|index| process.stream(index)) else {
            continue;
        };
        if !stream.storage || grid.run.op(stream).class != Some(OpClass::Read) || missing.counters.bytes == 0 {
            continue;
        }
        let Ok(until) = u64::try_from(missing.counters.max_end_offset) else { continue };
        let from = u64::try_from(missing.counters.min_offset).ok().filter(|from| *from < until).unwrap_or(0);
        if until == 0 {
            unknown.insert(stream.file);
        }
        let reads = of.entry(stream.file).or_insert(Reads { bytes: 0, from, until });
        add(&mut reads.bytes, missing.counters.bytes);
        (reads.from, reads.until) = (reads.from.min(from), reads.until.max(until));
    }
    of.retain(|file, _| !unknown.contains(file));
    of
}

fn written(grid: &Grid<'_>) -> BTreeMap<FileId, BTreeMap<ProcessId, u64>> {
    let mut of: BTreeMap<FileId, BTreeMap<ProcessId, u64>> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Write) {
        add(of.entry(entry.file).or_default().entry(entry.process).or_default(), entry.cell.bytes);
    }
    of
}
