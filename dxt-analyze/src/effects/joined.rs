//! Merges slow units of a sort into one finding: they save more together, or are slow in the same way or at the same time.

use super::Effect;
use super::unit::Unit;
use crate::cube::Cube;
use crate::replay::{Savings, Work};
use std::collections::BTreeSet;

/// Least overlap of two slow periods, as a part of the shorter one, to be merged.
const SAME_MOMENT: f64 = 0.5;

/// Largest ratio of the slowdowns of two files or targets with one common cause.
const AS_SLOW: f64 = 1.5;

/// Least time that a further unit explains, as a part of the first one's, to be merged.
const LIKE_THE_FIRST: f64 = 0.25;
/// Least ratio of the joint saving to the sum of both savings.
const MORE_TOGETHER: f64 = 1.2;

/// Merges units of a sort if they save more together than the sum of both, since ranks wait for each of them.
#[must_use]
pub fn together(slow: Vec<Effect>, cube: &Cube<'_>, phases: &Work) -> Vec<Effect> {
    let mut out: Vec<Effect> = Vec::new();
    let a_group: BTreeSet<Unit> = slow.iter().filter(|slow| !slow.more.is_empty()).map(|slow| slow.unit).collect();
    for one in slow {
        // Different calls that are slow at the same time have one cause.
        if let Some(moment) = out.iter_mut().find(|other| is_same_moment(other, &one)) {
            join_moment(moment, one);
            continue;
        }
        let like = |other: &Effect| {
            matches!(
                (&other.unit, &one.unit),
                (Unit::Target(_), Unit::Target(_))
                    | (Unit::Node(_), Unit::Node(_))
                    | (Unit::Process(_), Unit::Process(_))
                    | (Unit::Folder(_), Unit::Folder(_))
                    | (Unit::File(_), Unit::File(_))
            )
        };
        match out.iter_mut().find(|other| like(other)) {
            Some(first) if one.time_ns() > first.time_ns() * LIKE_THE_FIRST => {
                let both: Savings = first.savings.iter().chain(&one.savings).copied().collect();
                let (mine, theirs) = (phases.saved(cube, &first.savings), phases.saved(cube, &one.savings));
                if phases.saved(cube, &both) > (mine + theirs) * MORE_TOGETHER || as_slow(first, &one) {
                    first.more.push(one.unit);
                    first.savings = both;
                } else {
                    out.push(one);
                }
            }
            _ => out.push(one),
        }
    }
    // Most ranks cannot be slow, unless they are clear of all others as a group.
    let few = |slow: &Effect| (slow.more.len() + 1) * 2 <= cube.run.processes.len();
    out.retain(|slow| !matches!(slow.unit, Unit::Process(_)) || a_group.contains(&slow.unit) || few(slow));
    out
}

/// True if two units are different calls at about the same time.
fn is_same_moment(one: &Effect, other: &Effect) -> bool {
    let (Unit::Moment(from, until), Unit::Moment(since, to)) = (one.unit, other.unit) else { return false };
    let both = f64::from((until.min(to) + 1).saturating_sub(from.max(since)));
    let shorter = f64::from((until - from).min(to - since) + 1);
    let other_calls = other.by.iter().all(|(class, ..)| one.by.iter().all(|(mine, ..)| mine != class));
    other_calls && one.grows == other.grows && both >= shorter * SAME_MOMENT
}

fn join_moment(into: &mut Effect, other: Effect) {
    if let (Unit::Moment(from, until), Unit::Moment(since, to)) = (into.unit, other.unit) {
        into.unit = Unit::Moment(from.min(since), until.max(to));
    }
    into.by.extend(other.by);
    into.savings.extend(other.savings);
}

/// True if two files or targets are equally slow: their causes cannot be distinguished.
fn as_slow(one: &Effect, other: &Effect) -> bool {
    let first = |slow: &Effect| slow.by.first().map(|(class, odd, ..)| (*class, odd.above));
    let has_no_more = matches!(one.unit, Unit::File(_) | Unit::Target(_));
    let (true, Some(mine), Some(theirs)) = (has_no_more, first(one), first(other)) else { return false };
    mine.0 == theirs.0 && (mine.1 - theirs.1).abs() <= AS_SLOW.ln()
}
