//! Files (or folders) of which a program uses one in each step of the run: each while no other is in use, and all with about as many calls.
//! A slow file among them cannot be distinguished from a slow time.

use crate::shared::stats::median;
use std::collections::{BTreeMap, BTreeSet};

/// Least number of items (files or folders) that can count as used one per step of the run: of two, one may be an input and the other an
/// output.
const FEWEST: usize = 3;
/// Largest number of calls on other items in an item's time windows, as a part of the calls on the item.
const BESIDE: f64 = 0.1;
/// An item is similar to the others if it has at most this many times the median number of calls of an item, and at least this part of it.
const SIMILAR: f64 = 2.0;

/// Returns the items (files or folders) that are used one per step; empty if there are none. `calls`: time window, item, number of calls.
pub fn steps<T: Ord + Copy>(calls: impl Iterator<Item = (u16, T, u64)>) -> BTreeSet<T> {
    let mut slots: BTreeMap<u16, BTreeMap<T, f64>> = BTreeMap::new();
    for (slot, what, calls) in calls {
        *slots.entry(slot).or_default().entry(what).or_default() += calls as f64;
    }
    let mut of: BTreeMap<T, (f64, f64)> = BTreeMap::new();
    for here in slots.values() {
        let all: f64 = here.values().sum();
        for (what, calls) in here {
            let sums = of.entry(*what).or_default();
            *sums = (sums.0 + calls, sums.1 + all - calls);
        }
    }
    of.retain(|_, (mine, others)| *others <= *mine * BESIDE);
    let usual = median(&mut of.values().map(|(mine, _)| *mine).collect::<Vec<f64>>()).unwrap_or_default();
    of.retain(|_, (mine, _)| *mine <= usual * SIMILAR && *mine * SIMILAR >= usual);
    if of.len() >= FEWEST { of.into_keys().collect() } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_when_nothing_else_is_is_a_step() {
        let of = |calls: &[(u16, u32, u64)]| steps(calls.iter().copied()).len();
        assert_eq!(of(&[(1, 0, 8), (2, 0, 8), (5, 1, 16), (9, 2, 16)]), 3);
        assert_eq!(of(&[(1, 0, 16), (5, 1, 16)]), 0, "two");
        assert_eq!(of(&[(1, 0, 16), (1, 1, 16), (5, 2, 16), (9, 3, 16)]), 0, "two of four at a time");
        assert_eq!(of(&[(1, 0, 16), (5, 1, 16), (9, 2, 400), (12, 3, 1)]), 0, "of different sizes");
    }
}
