//! Single collective calls that take far longer than other collective calls on the file.

use crate::cube::{Cube, weighted_quantile};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    class: Class,
    /// File of the collective call, as an index into [`crate::model::Run::files`].
    file: FileId,
    ranks: usize,
    /// Begin of the call, median over ranks, ns since the job's start.
    at: u64,
    took_ns: f64,
    usual_ns: f64,
}

/// Returns the longest collective call of each class on each file, if at least half of the ranks that make collective calls of that class
/// are in the call at the same time.
fn held(cube: &Cube<'_>) -> Vec<Held> {
    let mut longest: BTreeMap<(FileId, Class), BTreeMap<ProcessId, (u64, u64)>> = BTreeMap::new();
    let mut usual: BTreeMap<(FileId, Class), Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.collective && !cell.inside) {
        let of = longest.entry((cell.file, cell.class)).or_default();
        let mine = of.entry(cell.process).or_insert((0, 0));
        if let Some(began) = cell.sums.longest_began().filter(|_| cell.sums.longest_ns > mine.0) {
            *mine = (cell.sums.longest_ns, began);
        }
        usual.entry((cell.file, cell.class)).or_default().push((cell.usual_ns, cell.sums.calls as f64));
    }
    let found = longest.into_iter().filter_map(|((file, class), of)| {
        // Over all sizes: ranks may contribute different amounts to one call.
        let usual_ns = weighted_quantile(usual.get_mut(&(file, class))?, 0.5)?;
        held_by(&cube.run.thresholds, file, class, &of, usual_ns)
    });
    found.collect()
}

fn held_by(
    thresholds: &Thresholds,
    file: FileId,
    class: Class,
    of: &BTreeMap<ProcessId, (u64, u64)>,
    usual_ns: f64,
) -> Option<Held> {
    let median = |value: &dyn Fn(&(u64, u64)) -> f64| {
        let mut values: Vec<f64> = of.values().map(value).collect();
        crate::shared::stats::median(&mut values)
    };
    let (took_ns, begin) = (median(&|call| call.0 as f64)?, median(&|call| call.1 as f64)?);
    let middle = begin + took_ns / 2.0;
    let is_in_it = |call: &&(u64, u64)| call.1 as f64 <= middle && call.1.saturating_add(call.0) as f64 >= middle;
    let in_it = of.values().filter(is_in_it).count();
    // A rank whose call was much shorter arrived late: the others waited for it, so the call itself was not long.
    if of.values().any(|call| (call.0 as f64) < took_ns * thresholds.half_share) {
        return None;
    }
    // The call is an outlier by the rule for single calls.
    let most = of.len() > 1 && in_it * 2 > of.len() && took_ns >= usual_ns * crate::cube::reading::usual::FAR;
    most.then_some(Held { class, file, ranks: in_it, at: begin as u64, took_ns, usual_ns })
}

/// Returns a claim (finding with its saving) per collective call that is far longer than the others on its file.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    held(cube).iter().map(|held| claim(cube, held)).collect()
}

fn claim(cube: &Cube<'_>, held: &Held) -> Claim {
    let file = cube.run.file_name(held.file).to_owned();
    // System calls of the slowest rank in the meantime have findings of their own.
    let inside = cube.longest_inside(held.at, held.took_ns, held.file);
    let less = held.took_ns - held.usual_ns - inside;
    let (savings, read, written) = meanwhile(cube, held);
    let about = About {
        file: Some(file.clone()),
        span_ns: Some((held.at, held.at.saturating_add(held.took_ns as u64))),
        ..About::default()
    };
    let of = words::LongCollective {
        file: &file,
        class: held.class,
        ranks: held.ranks as u64,
        took_ns: held.took_ns as u64,
        at_ns: held.at,
        usual_ns: held.usual_ns as u64,
        read,
        written,
        inside_ns: inside as u64,
    };
    let claim = Claim::new(Finding::new(Code::LONG_COLLECTIVE, words::long_collective(&of, about)), savings);
    Claim { waiting_ns: less.max(0.0), ..claim }
}

/// Returns the system calls inside MPI-IO on the file during a long collective call, ns by cell (group of similar calls), and the bytes
/// that they read and write. Time is at window resolution.
fn meanwhile(cube: &Cube<'_>, held: &Held) -> (Savings, u64, u64) {
    let slots = cube.slots.of(held.at)..=cube.slots.of(held.at.saturating_add(held.took_ns as u64));
    let (mut savings, mut read, mut written) = (Savings::new(), 0_u64, 0_u64);
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        if cell.leaf && cell.inside && cell.file == held.file && slots.contains(&usize::from(cell.slot)) {
            savings.push((index, cell.time_ns()));
            match cell.class {
                Class::Read => read = read.saturating_add(cell.sums.bytes),
                Class::Write => written = written.saturating_add(cell.sums.bytes),
                _ => {}
            }
        }
    }
    (savings, read, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_long_if_all_are_in_it_and_not_if_they_wait_for_one() {
        let held = |of: &[(u64, u64)]| {
            let of = (0..).map(ProcessId).zip(of.iter().copied()).collect();
            held_by(&Thresholds::default(), FileId(0), Class::Write, &of, 2e6).map(|held| held.ranks)
        };
        // Longest call of each rank: duration and begin, ns.
        let (long, short) = ((500_000_000, 1_000_000_000), (3_000_000, 1_497_000_000));
        assert_eq!(held(&[long, long, long, long]), Some(4));
        assert_eq!(held(&[long, long, long, short]), None);
        assert_eq!(held(&[short, short, short, short]), None);
    }
}
