//! Service speed of storage targets, by their fastest calls: a slow target is slow even for those; one that is only busy is not.

use super::load::{Loads, OVERLOADED};
use crate::cube::{Cube, weighted_quantile};
use crate::shared::outlier_test::FEW;
use std::collections::BTreeMap;

/// Quantile of a target's shortest calls that shows its speed.
const FASTEST: f64 = 0.03;
/// Part of the first served calls, one of those that begin together on a target, that shows its speed.
const FIRST: f64 = 0.3;
/// Exponent of relative load by which calls may take longer: a process with more calls also finds more calls waiting.
const WAITS: f64 = 2.0;
/// Least slowdown of waiting calls that the order of arrival cannot explain.
const FAR: f64 = 2.0;
/// Relative load up to which a target is less busy.
const LESS: f64 = 0.8;
/// Least log slowdown of a slow target's fastest calls, as a part of that of all its calls.
const AS_SLOW: f64 = 0.6;

/// Returns the log slowdown of each target's fastest calls. If many calls begin together, few or none are served first: then the slowdown is
/// limited to that against targets with as many, or, without such targets, reduced by the calls' wait for each other.
pub(super) fn fastest(cube: &Cube<'_>, served: &mut BTreeMap<u32, Vec<(f64, f64)>>) -> BTreeMap<u32, f64> {
    let octave_of = |target: &u32| {
        let together = cube.begin_together.get(target).copied().unwrap_or(1.0).max(1.0);
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
            let error = cube.spread / (calls * quantile).max(1.0).sqrt();
            // One of many targets hardly changes the median.
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

/// Returns a target's log slowdown, limited if it is only busy. `above`, `fastest`: log slowdowns of all calls and of the fastest.
pub(super) fn not_only_busy(above: f64, fastest: Option<f64>, loads: &Loads, target: u32) -> f64 {
    // With counters only, the fastest calls are unknown.
    let fastest = fastest.unwrap_or(above);
    let (asked, together) = (loads.asked(target), loads.together(target));
    if above < 0.0 {
        // A target that is only less busy is not fast.
        let by_far = above <= -FAR.ln() && asked.min(together) > LESS;
        return if by_far { above } else { above.max(fastest.min(0.0)) };
    }
    // If calls are long on the way to the target, only waiting calls show a slow one: as many wait on others, but for less time.
    if fastest >= above * AS_SLOW || asked >= OVERLOADED {
        return above;
    }
    let waits = above - WAITS * asked.max(together).max(1.0).ln();
    if waits >= FAR.ln() { waits.max(fastest) } else { above.min(fastest) }
}
