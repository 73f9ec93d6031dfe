//! Repeated reads of bytes, for calls with counters only: a process that reads more bytes of a file than lie between its lowest and highest
//! offset has read some of them twice (pigeonhole principle).

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, Process, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

#[derive(Clone, Copy, Debug)]
struct Reads {
    bytes: u64,
    /// Offset of the first byte of all reads; 0 if unknown.
    from: u64,
    /// File offset at which the last byte of all reads ends.
    until: u64,
}

impl Reads {
    /// Returns the length of the range that the reads can reach, bytes: the most distinct bytes.
    const fn extent(self) -> u64 {
        self.until - self.from
    }
}

/// Returns one claim (finding with its saving) about repeated reads in all files.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let least = &cube.run.thresholds;
    let is = |cell: &&Cell| cell.leaf && cell.class == Class::Read;
    let mut all: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    cube.cells
        .iter()
        .filter(is)
        .for_each(|cell| add(all.entry((cell.process, cell.file)).or_default(), cell.sums.bytes));
    let read: u64 = all.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    let written = written(cube);
    let mut again: BTreeMap<(ProcessId, FileId), f64> = BTreeMap::new();
    let (mut bytes, mut most) = (0_u64, None::<(u64, FileId, Reads, u64)>);
    for (number, process) in cube.run.numbered_processes() {
        // In a record of several ranks, each of them may have read everything once.
        let readers = u64::from(process.reduction.ranks).max(1);
        for (file, reads) in counted(cube, process) {
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
    let part = |cell: &Cell| again.get(&(cell.process, cell.file)).copied();
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    let savings: Savings = theirs.filter_map(|(index, cell)| Some((index, cell.time_ns() * part(cell)?))).collect();
    let name = &cube.run.file(file)?.name;
    let about = About { file: Some(name.clone()), ..About::default() };
    let of = words::ReadAgain {
        bytes,
        share,
        file: name,
        readers: (readers > 1).then(|| (readers, cube.run.worker_name())),
        read: reads.bytes,
        extent: reads.extent(),
    };
    let words = |lost| words::read_again(&of, about, lost);
    (!savings.is_empty()).then(|| Claim::on_files(cube, Code::REREAD, savings, words))
}

/// Returns bytes and range of a process's reads by file, from calls that have counters only.
fn counted(cube: &Cube<'_>, process: &Process) -> BTreeMap<FileId, Reads> {
    let mut of: BTreeMap<FileId, Reads> = BTreeMap::new();
    let mut unknown: BTreeSet<FileId> = BTreeSet::new();
    for missing in &process.missing {
        let Some(stream) = process.stream_index(missing.stream).and_then(|index| process.stream(index)) else {
            continue;
        };
        if !stream.storage || cube.run.op(stream).class != Some(OpClass::Read) || missing.counters.bytes == 0 {
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

fn written(cube: &Cube<'_>) -> BTreeMap<FileId, BTreeMap<ProcessId, u64>> {
    let mut of: BTreeMap<FileId, BTreeMap<ProcessId, u64>> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Write) {
        add(of.entry(cell.file).or_default().entry(cell.process).or_default(), cell.sums.bytes);
    }
    of
}
