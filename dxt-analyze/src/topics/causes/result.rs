//! Findings about slow units (ranks, nodes, targets, ...), outliers and shapes of I/O, with their saving.

use super::claim::{Claim, excess};
use super::long_calls_as_finding::{joined_with_slow, of_tail};
use super::price::price;
use super::shape::aliasing::Aliased;
use super::shape::shared_block::joins;
use super::slow_as_finding::{asked, of_unit};
use crate::cube::Cube;
use crate::cube::reading::phases::Gaps;
use crate::effects::calls::tails;
use crate::effects::joined::together;
use crate::effects::queue::Busy;
use crate::effects::unit::Unit;
use crate::effects::{Effect, effects};
use crate::findings::Code;
use crate::replay::Work;
use rayon::prelude::*;
use std::cmp::Reverse;

/// Returns all claims (findings with the calls that they explain) of a run, largest saving first. `gaps`: times between collective calls;
/// `aliased`: files with stripe aliasing.
#[must_use]
pub fn claims(cube: &Cube<'_>, gaps: &[Gaps], aliased: &[Aliased]) -> Vec<Claim> {
    let (phases, slots) = (Work::of(cube, false), Work::of(cube, true));
    let (slow, remaining) = effects(cube, &phases, &slots);
    let slow = together(&cube.run.thresholds, slow);
    let (busy, slow): (Vec<Effect>, Vec<Effect>) =
        slow.into_iter().partition(|slow| asked(cube, slow) >= cube.run.thresholds.double_ratio);
    let mut out: Vec<Claim> = slow.iter().map(|slow| within_busy(cube, &phases, slow, of_unit(cube, slow))).collect();
    let of_long_calls = tails(&remaining).iter().flat_map(|tail| of_tail(cube, tail)).collect();
    let of_long_calls = joined_with_slow(&mut out, of_long_calls);
    out.extend(of_long_calls);
    let mut shapes = super::shape::claims(cube, gaps);
    // Reads of one block by many ranks keep the block's target busy: the claim about the block gets the savings.
    for slow in busy {
        let blocks = shapes.iter_mut().filter(|claim| claim.finding.code == Code::COMMON_READS);
        if !joins(&cube.run.thresholds, blocks.map(|claim| &mut claim.savings), &slow.savings) {
            out.push(of_unit(cube, &slow));
        }
    }
    out.par_iter_mut().for_each(|claim| price(cube, &phases, &slots, claim));
    let proven = excess(cube, out.iter().filter(|claim| claim.is_worth(cube)));
    shapes.extend(super::shape::hdf5_metadata::claims(cube));
    shapes.extend(super::shape::aliasing::claims(cube, aliased));
    // Another form of the same work has the same outliers, which have findings of their own.
    shapes.par_iter_mut().for_each(|claim| {
        claim.leave(cube, &proven);
        price(cube, &phases, &slots, claim);
    });
    out.extend(shapes);
    out.sort_by_key(|claim| {
        (Reverse(claim.finding.saving.map(|saving| saving.saves_ns)), claim.finding.code, claim.finding.about.clone())
    });
    out.retain(|claim| claim.finding.saving.is_some_and(|saving| saving.saves_ns > 0));
    out
}

/// Limits the savings of a claim (finding) about slow storage targets to the time for which the targets are busy longer than others: ranks
/// wait for a target no longer than that. `phases`: time of each process in calls, by phase.
fn within_busy(cube: &Cube<'_>, phases: &Work, slow: &Effect, mut claim: Claim) -> Claim {
    let longer = |unit: &Unit| {
        let Unit::Target(target) = unit else { return None };
        slow.by.iter().map(|(class, ..)| Busy::of(cube, *class).longer_ns(*target)).sum::<Option<f64>>()
    };
    let Some(most) = slow.more.iter().chain([&slow.unit]).map(longer).sum::<Option<f64>>() else { return claim };
    let saved = phases.saved(cube, &claim.savings);
    if saved > most {
        claim.savings.iter_mut().for_each(|(_, ns)| *ns *= most / saved);
    }
    claim
}
