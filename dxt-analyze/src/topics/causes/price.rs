//! Pricing of claims: sets saving and severity of their findings.

use super::claim::Claim;
use crate::cube::Cube;
use crate::findings::{Explains, Saving, Severity};
use crate::replay::{Savings, Work, saved_alone};
use crate::shared::ratio::share;

/// Returns the run time saved if the calls of each cell (group of similar calls of a process) take less time, by `savings` (index of the
/// cell, ns), and ranks wait `waiting_ns` less.
///
/// `phases`, `slots`: time of each process in calls, by phase and by time window.
#[must_use]
pub fn saving(cube: &Cube<'_>, phases: &Work, slots: &Work, savings: &[(u32, f64)], waiting_ns: f64) -> Saving {
    let counts =
        |(index, _): &&(u32, f64)| cube.cells.get(*index as usize).is_none_or(|cell| !cube.has_time_left(cell.process));
    let counted: Savings = savings.iter().filter(counts).copied().collect();
    let (low, high) = (phases.saved(cube, &counted), slots.saved(cube, &counted));
    let alone = cube.last_alone.filter(|_| !cube.slots.ranks_met).map_or(0.0, |last| saved_alone(cube, last, &counted));
    let low = low.max(alone);
    // At most the time of all calls: a call that begins in one time window may end in the next, so that windows can add up to more.
    let most = (phases.critical(cube) + waiting_ns).min(cube.run.length_ns() as f64);
    let (low, high) = ((low + waiting_ns).min(most) as u64, (high.max(low) + waiting_ns).min(most) as u64);
    let time: f64 = savings.iter().map(|(_, ns)| ns).sum();
    // With recorded synchronization points of all ranks, the saving is certain.
    let range = !cube.slots.ranks_met && high as f64 > low as f64 * 1.1;
    Saving {
        // The geometric mean of the bounds is off by the same factor from both.
        saves_ns: if range { (low.max(1) as f64 * high as f64).sqrt() as u64 } else { low },
        saves_low_ns: range.then_some(low),
        saves_high_ns: range.then_some(high),
        explains: explained(cube, time, 0.0),
    }
}

/// Returns the time that a finding explains: `ns` of system calls and `outside_ns` of libraries, also as a share of all system calls (with
/// `outside_ns`: of all calls of the program).
fn explained(cube: &Cube<'_>, ns: f64, outside_ns: f64) -> Explains {
    let all = if outside_ns > 0.0 { cube.leaf_ns.max(cube.called_ns) } else { cube.leaf_ns };
    let ns = (ns + outside_ns) as u64;
    Explains { time_ns: ns, millionths: (share(ns, all) * 1e6).round() as u64 }
}

/// Sets the saving and severity of a claim's finding. `phases`, `slots`: time of each process in calls, by phase and by time window.
pub fn price(cube: &Cube<'_>, phases: &Work, slots: &Work, claim: &mut Claim) {
    let mut saving = saving(cube, phases, slots, &claim.savings, claim.waiting_ns);
    if claim.outside_ns > 0.0 {
        saving.explains = explained(cube, saving.explains.time_ns as f64, claim.outside_ns);
    }
    if let Some((low, high)) = claim.range {
        let of = |part: f64| (saving.saves_ns as f64 * part) as u64;
        (saving.saves_low_ns, saving.saves_high_ns) = (Some(of(low)), Some(of(high)));
    }
    claim.finding.cost_ns = Some(saving.explains.time_ns);
    let run_ns = cube.run.length_ns();
    claim.finding.severity = Severity::of_saving(saving.saves_ns, run_ns, &cube.run.thresholds).min(claim.at_most);
    claim.finding.saving = Some(saving);
}
