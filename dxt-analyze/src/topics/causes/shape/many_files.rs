//! Many small files, each opened for few bytes, or created only to be used briefly and removed. Each costs an open, a close and a short
//! transfer, which one file or memory would avoid.

use super::put_together::saved_ns;
use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape::{self as words, Kind};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    opens: u64,
    calls: u64,
    read: u64,
    written: u64,
    removed: bool,
}

/// Returns one claim (finding with its saving) per kind of small files: temporary, read, written.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let uses = uses(cube);
    [Kind::Temporary, Kind::Read, Kind::Written].into_iter().filter_map(|kind| of_kind(cube, &uses, kind)).collect()
}

/// True for successful calls that the program or HDF5 makes; calls on files that MPI-IO keeps for itself do not count.
fn counts(cube: &Cube<'_>, cell: &Cell) -> bool {
    cell.leaf && cube.stream(cell).is_some_and(|stream| stream.within() != Within::Mpiio && !stream.failed)
}

fn uses(cube: &Cube<'_>) -> BTreeMap<FileId, (Use, BTreeSet<ProcessId>)> {
    let mut out: BTreeMap<FileId, (Use, BTreeSet<ProcessId>)> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cube, cell)) {
        let (of, processes) = out.entry(cell.file).or_default();
        add(&mut of.calls, cell.sums.calls);
        match cell.class {
            Class::Open => {
                add(&mut of.opens, cell.sums.calls);
                processes.insert(cell.process);
            }
            Class::Read => add(&mut of.read, cell.sums.bytes),
            Class::Write => add(&mut of.written, cell.sums.bytes),
            _ => {
                let name = cube.stream(cell).map(|stream| cube.run.op(stream).name.as_str());
                of.removed |= name == Some("unlink");
            }
        }
    }
    out.retain(|_, (of, _)| of.opens > 0);
    out
}

impl Kind {
    /// Returns the kind of a small file (temporary, written or read); `None` if the file is not small, or if a file that stays is opened
    /// more than `opens` times per process on average.
    fn of(thresholds: &Thresholds, file: &Use, processes: usize, opens: f64) -> Option<Self> {
        let small = file.read.saturating_add(file.written) / file.opens.max(1) <= thresholds.half_time_bytes;
        let seldom = file.opens as f64 <= opens * processes.max(1) as f64;
        match (file.removed, file.written > 0, file.read > 0) {
            // An empty file that is removed is a marker: its name is its content.
            (true, written, read) if small && (written || !read) => Some(Self::Temporary),
            (false, true, _) if small && seldom => Some(Self::Written),
            (false, false, true) if small && seldom => Some(Self::Read),
            _ => None,
        }
    }
}

fn of_kind(cube: &Cube<'_>, uses: &BTreeMap<FileId, (Use, BTreeSet<ProcessId>)>, kind: Kind) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let opened = |times: f64| -> BTreeMap<FileId, &Use> {
        let is = |(of, processes): &(Use, BTreeSet<ProcessId>)| {
            Kind::of(thresholds, of, processes.len(), times) == Some(kind)
        };
        uses.iter().filter(|(_, of)| is(of)).map(|(file, (of, _))| (*file, of)).collect()
    };
    let in_passes = opened(thresholds.hundred_calls_min as f64);
    let passes = in_passes.len() >= (thresholds.thousand_calls_min as usize) && in_a_go(cube, &in_passes);
    let mine = if passes { in_passes } else { opened(thresholds.repeated_min as f64) };
    let fewest =
        if kind == Kind::Temporary { thresholds.many_calls_min as usize } else { thresholds.more_calls_min as usize };
    if mine.len() < fewest {
        return None;
    }
    let (mut savings, mut time, mut opens, mut moves) = (Savings::new(), 0.0, (0_u64, 0.0), (0_u64, 0.0));
    let (mut all_opens, mut bytes, mut by_itself, mut closes) = (0_u64, 0_u64, 0.0, (0_u64, 0.0));
    // With several transfers per open, the number of transfers costs time, not the number of files.
    let in_a_go = in_a_go(cube, &mine);
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cube, cell)) {
        if cell.class == Class::Open {
            add(&mut all_opens, cell.sums.calls);
        }
        if !mine.contains_key(&cell.file) {
            continue;
        }
        let usual = cell.time_ns() - cell.beyond_ns(1.0);
        let (calls, moved) = (cell.sums.calls as f64, cell.sums.bytes as f64);
        let data = matches!(cell.class, Class::Read | Class::Write);
        time += usual;
        if cell.class == Class::Open {
            add(&mut opens.0, cell.sums.calls);
            opens.1 += usual;
        } else if data {
            add(&mut moves.0, cell.sums.calls);
            add(&mut bytes, cell.sums.bytes);
            moves.1 += usual;
        } else if cube.stream(cell).is_some_and(|stream| cube.run.op(stream).class == Some(OpClass::Close)) {
            add(&mut closes.0, cell.sums.calls);
            closes.1 += usual;
        }
        let less = match kind {
            Kind::Temporary => usual - calls * thresholds.in_memory_ns - moved * thresholds.transfer_ns_per_byte,
            // One large file would need as many syncs and locks as many small files.
            _ if matches!(cell.class, Class::Sync | Class::Lock) || data && !in_a_go => 0.0,
            // In one file, bytes would move in large requests.
            _ if data => saved_ns(thresholds, usual, cell.sums.bytes, cell.sums.calls),
            _ => usual,
        };
        if less > 0.0 {
            savings.push((index, less));
            by_itself += if data { less } else { 0.0 };
        }
    }
    let tiny = bytes <= opens.0.saturating_mul(thresholds.small_bytes);
    let each = if tiny { opens.1.max(by_itself) } else { opens.1 };
    let slow = each >= thresholds.server_ns * opens.0 as f64 || mine.len() >= thresholds.thousand_calls_min as usize;
    let most = opens.0 as f64 >= all_opens as f64 * thresholds.most_share;
    let in_closes =
        closes.1 >= time * thresholds.majority_share && closes.1 >= closes.0 as f64 * thresholds.slow_call_ns as f64;
    if savings.is_empty() || kind != Kind::Temporary && (in_closes || !(slow && most)) {
        return None;
    }
    let (files, calls) = (mine.len() as u64, calls_of(&mine));
    let of = words::ManyFiles { kind, files, calls, time_ns: time, bytes, opens, moves };
    let code = if kind == Kind::Temporary { Code::TEMPORARY_FILES } else { Code::SMALL_FILES };
    Some(Claim::on_files(cube, code, savings, |lost| words::many_files(&of, lost)))
}

/// True if the files are read or written by one call per open, on average (a second call may meet the end of the file).
fn in_a_go(cube: &Cube<'_>, files: &BTreeMap<FileId, &Use>) -> bool {
    let (mut opens, mut moves) = (0_u64, 0_u64);
    for cell in cube.cells.iter().filter(|cell| counts(cube, cell) && files.contains_key(&cell.file)) {
        match cell.class {
            Class::Open => add(&mut opens, cell.sums.calls),
            Class::Read | Class::Write => add(&mut moves, cell.sums.calls),
            _ => {}
        }
    }
    moves <= opens.saturating_mul(cube.run.thresholds.repeated_min)
}

fn calls_of(files: &BTreeMap<FileId, &Use>) -> u64 {
    files.values().fold(0, |sum, of| sum.saturating_add(of.calls))
}
