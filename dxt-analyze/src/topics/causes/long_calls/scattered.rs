//! Outliers of several classes, few of each but many in all and on several processes: one tail instead of single stalls.

use super::first_calls;
use super::once_each::once_each;
use super::stalls_in_a_row;
use super::tails::{FEW, MOST, Tail};
use crate::cube::Cube;
use crate::cube::kind_of_file::dearest;
use crate::model::{Class, ProcessId};
use crate::replay::Savings;
use std::collections::BTreeSet;

/// Largest part of the excess of all outliers that is in one call: a larger one is a stall of its own.
const ONE: f64 = 1.0 / 3.0;
/// Least part of the excess of all outliers that a class must have to be named.
const NAMED: f64 = 0.1;
/// Fewest processes with outliers.
const PROCESSES: usize = 3;

/// Merges tails on no unit in particular into one if they form a tail together; returns the other tails as well.
#[must_use]
pub fn joined(cube: &Cube<'_>, tails: Vec<Tail>) -> Vec<Tail> {
    let (loose, mut out): (Vec<Tail>, Vec<Tail>) = tails.into_iter().partition(|tail| is_loose(cube, tail));
    let all: f64 = loose.iter().map(|tail| tail.extra_ns).sum();
    let (mut parts, small): (Vec<Tail>, Vec<Tail>) = loose.into_iter().partition(|tail| tail.extra_ns >= all * NAMED);
    out.extend(small);
    parts.sort_by(|a, b| b.extra_ns.total_cmp(&a.extra_ns));
    if parts.len() < 2 || !is_tail(cube, &parts) {
        out.extend(parts);
        return out;
    }
    let took = |index: u32| cube.cells.get(index as usize).map_or(0, |cell| cell.sums.longest_ns);
    let mut parts = parts.into_iter();
    let Some(mut first) = parts.next() else { return out };
    first.stalls.clear();
    for other in parts {
        first.also.push(other.class);
        first.far = first.far.saturating_add(other.far);
        first.calls = first.calls.saturating_add(other.calls);
        first.extra_ns += other.extra_ns;
        first.savings.extend(other.savings);
        if took(other.longest) > took(first.longest) {
            first.longest = other.longest;
        }
    }
    out.push(first);
    out
}

/// True for a tail of reads, writes or metadata calls that fits no special case.
fn is_loose(cube: &Cube<'_>, tail: &Tail) -> bool {
    let kinds = [Class::Read, Class::Write, Class::Open, Class::Metadata];
    let whose = tail.of.is_some() || tail.at_once.is_some();
    kinds.contains(&tail.class)
        && !whose
        && first_calls::claim(cube, tail).is_none()
        && once_each(cube, tail).is_none()
        && stalls_in_a_row::claim(cube, tail).is_none()
        && dearest(cube, &tail.savings, |cell| cell.leaf && cell.class == tail.class).is_none()
}

/// True if no few calls have most of the excess.
fn is_tail(cube: &Cube<'_>, parts: &[Tail]) -> bool {
    let mut each: Savings = parts.iter().flat_map(|tail| tail.savings.iter().copied()).collect();
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = each.iter().map(|(_, ns)| ns).sum();
    let longest: f64 = each.iter().take(FEW).map(|(_, ns)| ns).sum();
    let process = |(index, _): &(u32, f64)| Some(cube.cells.get(*index as usize)?.process);
    let processes: BTreeSet<ProcessId> = each.iter().filter_map(process).collect();
    let one = each.first().map_or(0.0, |(_, ns)| *ns);
    longest < all * MOST && one <= all * ONE && processes.len() >= PROCESSES
}
