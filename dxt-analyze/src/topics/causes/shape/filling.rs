//! Reads before writes (read-modify-write): a write that changes a part of a block needs the rest of the block to be read first.

use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::shared::profiles;
use crate::shared::totals::add;
use crate::thresholds::fixed::PAGE_BYTES;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Returns one claim (finding with its saving) about all files in which writes of parts of blocks need reads first (read-modify-write).
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let found = filling(cube)?;
    Some(Claim::on_files(cube, Code::READ_MODIFY_WRITE, found.savings, |lost| {
        words::read_modify_write(found.reads, found.writes, found.whole, lost)
    }))
}

#[derive(Clone, Debug)]
struct Filling {
    reads: u64,
    /// Number of writes by the same processes to the same files as the small reads.
    writes: u64,
    /// True if the writes are of whole pages: the program changes a part of them.
    whole: bool,
    /// Time saved if whole blocks were written and the reads dropped, ns by cell (group of similar calls).
    savings: Savings,
}

/// Small reads and writes of each process and file by time window.
type Windows = BTreeMap<(ProcessId, FileId), BTreeMap<u16, (u64, u64)>>;

/// Returns the files on which reads and writes alternate: a file that is written first and then read is not read to be written.
fn alternating(cube: &Cube<'_>, windows: &Windows) -> BTreeSet<FileId> {
    if windows.is_empty() {
        return BTreeSet::new();
    }
    let profiles = profiles::counted(cube.run);
    let mut of: BTreeMap<FileId, (u64, u64, u64)> = BTreeMap::new();
    for ((_, file), all) in windows {
        let sums = of.entry(*file).or_default();
        for (reads, writes) in all.values() {
            add(&mut sums.0, *reads);
            add(&mut sums.1, *writes);
            add(&mut sums.2, (*reads).min(*writes));
        }
    }
    let half = cube.run.thresholds.half_share;
    let is = |(file, (reads, writes, together)): (FileId, (u64, u64, u64))| {
        let counted = profiles.get(&(file, Layer::Posix));
        let counted = counted.filter(|of| of.accesses as f64 >= half * reads.saturating_add(writes) as f64);
        // Counters say how often reads and writes followed each other; without them, both lie in the same time windows.
        let pairs = counted.map_or(together, |of| of.switches);
        (pairs as f64 >= half * reads.min(writes) as f64).then_some(file)
    };
    of.into_iter().filter_map(is).collect()
}

/// Finds pairs of process and file with about one or two small reads per write that alternate with writes, and no larger reads; `None` if there
/// are none.
fn filling(cube: &Cube<'_>) -> Option<Filling> {
    let mut of: BTreeMap<(ProcessId, FileId), (u64, u64, u64)> = BTreeMap::new();
    let mut until: BTreeMap<FileId, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && !cell.inside) {
        let reaches = until.entry(cell.file).or_default();
        *reaches = (*reaches).max(cell.sums.range.1);
        let sums = of.entry((cell.process, cell.file)).or_default();
        match cell.class {
            Class::Read if cell.is_below(cube.run.thresholds.block_bytes) => add(&mut sums.0, cell.sums.calls),
            Class::Read => add(&mut sums.2, cell.sums.calls),
            Class::Write => add(&mut sums.1, cell.sums.calls),
            _ => {}
        }
    }
    of.retain(|(_, file), (small, writes, large)| {
        until.get(file).is_none_or(|bytes| *bytes == 0 || *bytes > PAGE_BYTES)
            && *large == 0
            && *writes >= 4
            && (0.8..=2.2).contains(&(*small as f64 / *writes as f64))
    });
    let mut windows = Windows::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && !cell.inside) {
        let place = (cell.process, cell.file);
        if of.contains_key(&place) && matches!(cell.class, Class::Read | Class::Write) {
            let window = windows.entry(place).or_default().entry(cell.slot).or_default();
            add(if cell.class == Class::Read { &mut window.0 } else { &mut window.1 }, cell.sums.calls);
        }
    }
    let alternating = alternating(cube, &windows);
    of.retain(|(_, file), _| alternating.contains(file));
    let (reads, writes) =
        of.values().fold((0_u64, 0_u64), |sum, of| (sum.0.saturating_add(of.0), sum.1.saturating_add(of.1)));
    let is = |cell: &Cell| cell.leaf && cell.class == Class::Read && of.contains_key(&(cell.process, cell.file));
    let page = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES);
    let whole = |cell: &Cell| {
        page(cell.sums.range.0) && page(cell.sums.range.1) && page(cell.sums.bytes / cell.sums.calls.max(1))
    };
    let theirs = |cell: &&Cell| cell.leaf && !cell.inside && of.contains_key(&(cell.process, cell.file));
    let whole = cube.cells.iter().filter(theirs).filter(|cell| cell.class == Class::Write).all(whole);
    let savings: Savings =
        (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell)).map(|(index, cell)| (index, cell.time_ns())).collect();
    (!savings.is_empty()).then_some(Filling { reads, writes, whole, savings })
}
