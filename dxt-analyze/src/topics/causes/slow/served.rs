//! How fast storage targets serve, by the fastest of their calls: a target that is slow serves even those slowly; one that is only busy serves them like others.

use super::load::{Loads, OVERLOADED};
use super::odd::FEW;
use crate::topics::causes::grid::{Grid, weighted_quantile};
use std::collections::BTreeMap;

/// Quantile of the fastest calls of a target's cells that tells how fast it serves.
const FASTEST: f64 = 0.03;
/// Of calls that begin on a target together one is served first: part of these that does the same there.
const FIRST: f64 = 0.3;
/// Power of what a target is asked for beyond others by which its calls may take longer: who comes more often also finds more that wait.
const WAITS: f64 = 2.0;
/// Times that calls take longer, by those that wait, from which it is no chance of who came when.
const FAR: f64 = 2.0;
/// Part of what others are asked for up to which a target is less busy.
const LESS: f64 = 0.8;
/// Part of what all its calls take longer that its fastest do at least if it is slow.
const AS_SLOW: f64 = 0.6;

/// By target: how far the logarithm of its fastest calls is above that of others' fastest. Where many begin together, few are served first, or none if all are
/// served at once: then it is no more than above those of others where as many do, and than so many may wait for each other where there is no other.
pub(super) fn fastest(grid: &Grid<'_>, served: &mut BTreeMap<u32, Vec<(f64, f64)>>) -> BTreeMap<u32, f64> {
    let octave_of = |target: &u32| {
        let together = grid.begin_together.get(target).copied().unwrap_or(1.0).max(1.0);
        together.log2().round() as u32
    };
    let mut by_begin: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    served.keys().for_each(|target| by_begin.entry(octave_of(target)).or_default().push(*target));
    let mut out: BTreeMap<u32, f64> = BTreeMap::new();
    for (octave, theirs) in by_begin {
        let quantile = FASTEST.min(FIRST / f64::from(octave).exp2());
        let at = |(target, of): (&u32, &mut Vec<(f64, f64)>)| Some((*target, weighted_quantile(of, quantile)?));
        let all: BTreeMap<u32, f64> = served.iter_mut().filter_map(at).collect();
        let median = |mut values: Vec<(f64, f64)>| weighted_quantile(&mut values, 0.5);
        let usual = median(all.values().map(|value| (*value, 1.0)).collect()).unwrap_or(0.0);
        let many = all.iter().filter(|(target, _)| octave_of(target) + 1 >= octave);
        let many: Vec<(u32, f64)> = many.map(|(target, fastest)| (*target, *fastest)).collect();
        let of_many = median(many.iter().map(|(_, value)| (*value, 1.0)).collect());
        for target in theirs {
            let Some(fastest) = all.get(&target).copied() else { continue };
            let above = fastest - usual;
            if quantile >= FASTEST {
                out.insert(target, above);
                continue;
            }
            let calls: f64 = served.get(&target).into_iter().flatten().map(|(_, weight)| weight).sum();
            let error = grid.spread / (calls * quantile).max(1.0).sqrt();
            // One of many hardly moves what is usual for them.
            let others = if many.len() > FEW {
                of_many
            } else {
                median(many.iter().filter(|(other, _)| *other != target).map(|(_, value)| (*value, 1.0)).collect())
            };
            let against = others.map_or_else(|| above - f64::from(octave).exp2().ln(), |others| fastest - others);
            out.insert(target, above.min(against) - error);
        }
    }
    out
}

/// How far above its peers a target counts, by all its calls and by its fastest.
pub(super) fn not_only_busy(above: f64, fastest: Option<f64>, loads: &Loads, target: u32) -> f64 {
    // Of sums of calls nothing is known of the fastest.
    let fastest = fastest.unwrap_or(above);
    let (asked, together) = (loads.asked(target), loads.together(target));
    if above < 0.0 {
        // Nor is one fast that is only less busy.
        let by_far = above <= -FAR.ln() && asked.min(together) > LESS;
        return if by_far { above } else { above.max(fastest.min(0.0)) };
    }
    // Calls may take as long on their way as a slow target takes for one, so that only those that wait there tell: as many do on others, and wait less.
    if fastest >= above * AS_SLOW || asked >= OVERLOADED {
        return above;
    }
    let waits = above - WAITS * asked.max(together).max(1.0).ln();
    if waits >= FAR.ln() { waits.max(fastest) } else { above.min(fastest) }
}
