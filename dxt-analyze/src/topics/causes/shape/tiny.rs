//! Tiny requests, through any interface: their time is that of the calls, not of the bytes.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::{Claim, lost_on};
use crate::topics::causes::shape::whole_files::WholeFiles;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a claim (finding with its saving) about tiny reads and one about tiny writes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| of_class(cube, class)).collect()
}

fn of_class(cube: &Cube<'_>, class: Class) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    // Requests that MPI-IO makes have findings of their own.
    let inside_mpi = |cell: &Cell| cube.stream(cell).is_some_and(|stream| stream.within() == Within::Mpiio);
    // Requests as long as their file belong to the finding about many files.
    let whole = WholeFiles::of(cube);
    let is = |cell: &&Cell| {
        let theirs =
            cell.leaf && cell.class == class && cell.sums.bytes > 0 && cell.is_below(thresholds.metadata_bytes);
        theirs && !inside_mpi(cell) && !cube.only_copies(cell) && !whole.has(thresholds, cell)
    };
    let mut of: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(is) {
        add(of.entry((cell.process, cell.file)).or_default(), cell.sums.calls);
    }
    of.retain(|_, calls| *calls >= thresholds.few_min);
    let (mut calls, mut bytes, mut in_hdf5, mut time) = (0_u64, 0_u64, 0_u64, 0.0);
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell)) {
        if !of.contains_key(&(cell.process, cell.file)) {
            continue;
        }
        add(&mut calls, cell.sums.calls);
        add(&mut bytes, cell.sums.bytes);
        if cell.inside {
            add(&mut in_hdf5, cell.sums.calls);
        }
        // Outliers would be as long at any size.
        let usual = cell.time_ns() - cell.beyond_ns(1.0);
        time += usual;
        let less = usual - cell.sums.bytes as f64 * thresholds.transfer_ns_per_byte;
        if less > 0.0 {
            savings.push((index, less));
        }
    }
    let mut by: BTreeMap<ProcessId, u64> = BTreeMap::new();
    of.iter().for_each(|((process, _), calls)| add(by.entry(*process).or_default(), *calls));
    // Calls of one rank among several have findings about that rank.
    let one_of_several =
        cube.run.ranks() > 1 && by.values().any(|mine| *mine as f64 >= calls as f64 * thresholds.nearly_all_share);
    if calls < thresholds.more_calls_min || savings.is_empty() || one_of_several {
        return None;
    }
    let queue = queue(cube, class, &of, &savings, time / calls as f64);
    let (says_why, processes) = (queue.is_some(), by.len() as u64);
    let of = words::Small { class, calls, bytes, time_ns: time, processes, hdf5: in_hdf5 > calls / 2, queue };
    let code = if class == Class::Read { Code::SMALL_READS } else { Code::SMALL_WRITES };
    let about = About {
        calls: Some(calls),
        bytes: Some(bytes),
        time_ns: Some(time as u64),
        operation: Some(class.plural().to_owned()),
        processes: Some(processes),
        ..About::default()
    };
    let words = words::small_requests(&of, lost_on(cube, &savings));
    Some(Claim { says_why, ..Claim::new(Finding::new(code, words).with(about), savings) })
}

/// True if most writes to a file are appends.
fn appended(cube: &Cube<'_>, file: FileId) -> bool {
    let writes = cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Write && cell.file == file);
    let (mut appended, mut others) = (0_u64, 0_u64);
    for cell in writes {
        let appends = cube.stream(cell).is_some_and(|stream| stream.manner.appends());
        add(if appends { &mut appended } else { &mut others }, cell.sums.calls);
    }
    appended > others
}

/// True if chance cannot explain how fast the fastest of `calls` calls is. Either the mean duration is `times` that of the fastest call,
/// more than the `spread` of log durations yields for so many calls; or log durations are skewed to the fast side (`leans`: skew).
fn is_no_chance(thresholds: &Thresholds, times: f64, (spread, leans): (f64, f64), calls: u64) -> bool {
    let least = (2.0 * (calls.max(2) as f64).ln()).sqrt();
    times.ln() >= spread * (least + 1.0) || leans >= thresholds.log_gap
}

/// Returns the mean number of calls of a class (reads, writes, ...) in flight. Counts time windows with such calls, and in them only the
/// time in which any process is in a call.
fn in_flight(cube: &Cube<'_>, class: Class) -> f64 {
    let theirs = || cube.cells.iter().filter(|cell| cell.leaf && cell.class == class);
    let slots: BTreeSet<u16> = theirs().map(|cell| cell.slot).collect();
    let busy = slots.iter().map(|slot| cube.slots.busy(usize::from(*slot))).sum::<Sum>().get();
    theirs().map(|cell| cell.time_ns()).sum::<f64>() / busy.max(1) as f64
}

/// Returns facts about calls of a class that wait for each other; `None` unless nearly all calls (`of`: number by process and file) are on
/// files of several processes and take far longer (`mean_ns`) than the fastest, beyond chance. `theirs`: cells of the calls.
fn queue(
    cube: &Cube<'_>,
    class: Class,
    of: &BTreeMap<(ProcessId, FileId), u64>,
    theirs: &[(u32, f64)],
    mean_ns: f64,
) -> Option<words::Waiting> {
    let thresholds = &cube.run.thresholds;
    let mut by: BTreeMap<FileId, (u64, u64)> = BTreeMap::new();
    for ((_, file), calls) in of {
        let sums = by.entry(*file).or_default();
        add(&mut sums.0, *calls);
        sums.1 += 1;
    }
    by.retain(|_, (_, processes)| *processes > 1);
    let (file, (_, processes)) = by.iter().max_by_key(|(_, of)| of.0)?;
    let calls = by.values().map(|(calls, _)| *calls).sum::<Sum>().get();
    let all = of.values().copied().sum::<Sum>().get();
    let cells = theirs.iter().filter_map(|(index, _)| cube.cells.get(*index as usize));
    let cells = cells.filter(|cell| by.contains_key(&cell.file) && cell.sums.shortest_ns > 0);
    let (fastest, spread) = cells.map(|cell| (cell.sums.shortest_ns, cell.spread)).min_by_key(|of| of.0)?;
    let times = mean_ns / fastest as f64;
    // Readers do not exclude each other: a read waits only for calls in flight before it.
    let can_wait = class != Class::Read || times <= in_flight(cube, class) * thresholds.double_ratio;
    let waits = calls as f64 >= all as f64 * thresholds.nearly_all_share
        && times >= thresholds.treble_ratio
        && is_no_chance(thresholds, times, spread, calls)
        && can_wait;
    waits.then(|| words::Waiting {
        processes: *processes,
        are_ranks: cube.run.ranks() > 0,
        files: by.len() as u64,
        file: cube.run.file_name(*file).to_owned(),
        appends: appended(cube, *file),
        fastest_ns: fastest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_of_many_is_far_below_by_chance() {
        assert!(is_no_chance(&Thresholds::default(), 4.3, (0.25, 0.0), 160));
        assert!(!is_no_chance(&Thresholds::default(), 7.1, (0.48, 0.0), 57_600));
        assert!(is_no_chance(&Thresholds::default(), 7.1, (0.48, 0.4), 57_600));
    }
}
