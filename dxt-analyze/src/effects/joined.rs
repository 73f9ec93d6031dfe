//! Merges slow time windows that were found by different classes of calls: calls that are slow at the same time have one cause.

use super::Effect;
use super::unit::Unit;
use crate::thresholds::Thresholds;

/// Merges effects (slow units) that are overlapping ranges of time windows into the first of these effects.
#[must_use]
pub fn together(thresholds: &Thresholds, effects: Vec<Effect>) -> Vec<Effect> {
    let mut out: Vec<Effect> = Vec::new();
    for one in effects {
        let same = out.iter_mut().find_map(|other| Some((range_of_both(thresholds, other, &one)?, other)));
        let Some((range, first)) = same else {
            out.push(one);
            continue;
        };
        first.unit = range;
        first.by.extend(one.by);
        first.savings.extend(one.savings);
    }
    out
}

/// Returns the range of time windows that covers both effects, if they are about different classes of calls at about the same time; else
/// `None`.
fn range_of_both(thresholds: &Thresholds, one: &Effect, other: &Effect) -> Option<Unit> {
    let (Unit::Moment(from, until), Unit::Moment(since, to)) = (one.unit, other.unit) else { return None };
    let both = f64::from((until.min(to) + 1).saturating_sub(from.max(since)));
    let shorter = f64::from((until - from).min(to - since) + 1);
    let other_calls = other.by.iter().all(|(class, ..)| one.by.iter().all(|(mine, ..)| mine != class));
    let same = other_calls && one.grows == other.grows && both >= shorter * thresholds.half_share;
    same.then_some(Unit::Moment(from.min(since), until.max(to)))
}
