//! A rank for which all others wait in MPI's own collective calls, since it computes longer, not since its I/O is slow.

use super::claim::{Claim, finding};
use super::grid::Grid;
use super::replay::Work;
use crate::findings::{About, Code, Evidence};
use crate::model::ProcessId;
use crate::shared::stats::median;
use crate::text::units as show;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Fewest ranks of which one is late.
const FEWEST_RANKS: usize = 3;
/// Fewest meetings that it comes last to: once is an event.
const FEWEST: u64 = 2;
/// Share of all that late ranks cost that one must cost to be the one who is late.
const MOSTLY: f64 = 0.7;

/// The one that costs most.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let work = Work::of(grid, false);
    let mut costs: BTreeMap<ProcessId, (f64, u64)> = BTreeMap::new();
    let (mut all, mut meetings, mut from) = (0.0, 0_u64, 0);
    for (phase, waits) in grid.meetings.waits() {
        meetings += 1;
        let in_calls = |process: ProcessId| (from..=phase).map(|phase| work.time(phase, process)).sum::<f64>();
        if let Some((last, ns)) = last(waits, in_calls) {
            all += ns;
            let of = costs.entry(last).or_default();
            *of = (of.0 + ns, of.1 + 1);
        }
        from = phase + 1;
    }
    let (&process, &(saves_ns, times)) = costs.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    if times < FEWEST || saves_ns <= all * MOSTLY {
        return None;
    }
    let name = grid.run.process_name(process);
    let title = format!(
        "{name} comes late to {} of {} where all ranks meet (MPI_Barrier, MPI_Allreduce, ...): all others wait {} for it, which computes or waits for messages",
        show::count(times),
        show::counted(meetings, "point"),
        show::duration(saves_ns as u64)
    );
    let of = grid.run.process(process);
    let about = About {
        rank: of.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: of.map(|process| grid.run.node(process).to_owned()),
        calls: Some(times),
        ..About::default()
    };
    let words = "its I/O takes no longer than that of the others: this is no matter of I/O".to_owned();
    let hint = "give it less to compute, or see what slows its computing (another process on its cores, a slower node)";
    let claim = Claim::new(finding(Code::LATE_TO_MEET, title, vec![Evidence::of(words, about)], hint), Vec::new());
    Some(Claim { waiting_ns: saves_ns, ..claim })
}

/// Who waits least, and what all others wait at least beyond that for, but for what its calls take longer than theirs.
fn last(waits: &FxHashMap<ProcessId, f64>, in_calls: impl Fn(ProcessId) -> f64) -> Option<(ProcessId, f64)> {
    if waits.len() < FEWEST_RANKS {
        return None;
    }
    let mut order: Vec<(f64, ProcessId)> = waits.iter().map(|(process, ns)| (*ns, *process)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (least, second) = (order.first()?, order.get(1)?);
    let usual = median(&mut order.iter().skip(1).map(|(_, process)| in_calls(*process)).collect::<Vec<f64>>())?;
    let by_calls = (in_calls(least.1) - usual).max(0.0);
    Some((least.1, (second.0 - least.0 - by_calls).max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_least_is_late_but_for_its_calls() {
        let waits: FxHashMap<ProcessId, f64> =
            [(ProcessId(0), 100.0), (ProcessId(1), 4.0), (ProcessId(2), 90.0)].into_iter().collect();
        assert_eq!(last(&waits, |_| 7.0), Some((ProcessId(1), 86.0)));
        assert_eq!(
            last(&waits, |process| if process == ProcessId(1) { 60.0 } else { 10.0 }),
            Some((ProcessId(1), 36.0))
        );
        assert_eq!(last(&FxHashMap::default(), |_| 0.0), None);
    }
}
