//! The units that are slow, the one that explains most time first; what it explains is taken away before the next is looked for.

use super::grid::{CLASSES, Class, Grid};
use super::members::{Member, Unit, members};
use super::odd::{Odd, odd};
use super::replay::Shortened;
use std::collections::BTreeMap;

/// Most units that are looked for.
const ROUNDS: usize = 12;
/// Share of the time in calls that a unit must explain to be taken.
const LEAST_SHARE: f64 = 0.001;
/// Moments that are slow by themselves and so many slots apart are one.
const APART: u16 = 1;

/// A slow unit.
#[derive(Clone, Debug)]
pub struct Slow {
    /// Which.
    pub unit: Unit,
    /// Others of its sort that are slow too.
    pub more: Vec<Unit>,
    /// By class of calls: how it stands, among how many, and its calls.
    pub by: Vec<(Class, Odd, usize, u64)>,
    /// What its calls would save if they took what their like take.
    pub shortened: Shortened,
}

impl Slow {
    /// Time that it explains, ns, summed over processes.
    #[must_use]
    pub fn time_ns(&self) -> f64 {
        self.shortened.iter().map(|(_, ns)| ns).sum()
    }
}

/// All of them, taken from what is left of the cells' times.
pub fn slow_units(grid: &mut Grid<'_>) -> Vec<Slow> {
    let least: f64 = grid.entries.iter().filter(|entry| entry.leaf).map(|entry| entry.left_ns).sum::<f64>() * LEAST_SHARE;
    let mut out: Vec<Slow> = Vec::new();
    while out.len() < ROUNDS {
        let best = candidates(grid).into_iter().max_by(|a, b| {
            // Of two that explain the same, the one that says more: the earlier sort.
            a.time_ns().total_cmp(&b.time_ns()).then_with(|| b.unit.cmp(&a.unit))
        });
        let Some(best) = best.filter(|best| best.time_ns() > least) else { break };
        take(grid, &best);
        out.push(best);
    }
    out
}

/// Takes what a unit explains away.
fn take(grid: &mut Grid<'_>, slow: &Slow) {
    let above: BTreeMap<Class, f64> = slow.by.iter().map(|(class, odd, ..)| (*class, odd.above)).collect();
    for &(index, ns) in &slow.shortened {
        if let Some(entry) = grid.entries.get_mut(index as usize) {
            entry.left_ns -= ns;
            entry.above -= above.get(&entry.class).copied().unwrap_or_default();
        }
    }
}

/// All units that are slow by the calls of some class, with all such classes.
fn candidates(grid: &Grid<'_>) -> Vec<Slow> {
    let least = &grid.run.thresholds;
    let mut by: BTreeMap<Unit, Vec<(Class, Odd, usize, u64)>> = BTreeMap::new();
    for class in CLASSES {
        for sort in members(grid, class) {
            let values: Vec<f64> = sort.iter().map(|member| member.above).collect();
            let errors: Vec<f64> = sort.iter().map(|member| member.error).collect();
            let tests = (sort.len() * 4) as f64;
            let slow: Vec<(Member, Odd)> = sort
                .iter()
                .copied()
                .zip(odd(&values, &errors))
                .filter(|(_, odd)| odd.above >= least.min_slowdown.ln() && odd.p * tests <= least.false_discovery_rate)
                .collect();
            for (unit, odd, calls) in joined(&slow) {
                by.entry(unit).or_default().push((class, odd, sort.len(), calls));
            }
        }
    }
    by.into_iter().map(|(unit, by)| Slow { shortened: shortened(grid, unit, &by), unit, more: Vec::new(), by }).collect()
}

/// Slow members, neighbouring moments as one.
fn joined(slow: &[(Member, Odd)]) -> Vec<(Unit, Odd, u64)> {
    let mut out: Vec<(Unit, Odd, u64)> = Vec::new();
    for (member, odd) in slow {
        match (out.last_mut(), member.unit) {
            (Some((Unit::Moment(_, until), all, calls)), Unit::Moment(from, to)) if from <= *until + 1 + APART => {
                let (mine, theirs) = (*calls as f64, member.calls as f64);
                *until = to;
                all.above = (all.above * mine + odd.above * theirs) / (mine + theirs).max(1.0);
                (all.score, all.p) = (all.score.max(odd.score), all.p.min(odd.p));
                *calls += member.calls;
            }
            _ => out.push((member.unit, *odd, member.calls)),
        }
    }
    out
}

fn shortened(grid: &Grid<'_>, unit: Unit, by: &[(Class, Odd, usize, u64)]) -> Shortened {
    let mut share: [f64; CLASSES.len()] = [0.0; CLASSES.len()];
    for (class, odd, ..) in by {
        share[*class as usize] = 1.0 - (-odd.above).exp();
    }
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| entry.leaf && unit.has(grid, entry));
    theirs
        .map(|(index, entry)| (index, entry.left_ns * share[entry.class as usize]))
        .filter(|(_, ns)| *ns > 0.0)
        .collect()
}
