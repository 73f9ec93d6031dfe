//! Two or three consecutive stalls with no fast call of their class between them: storage was slow for a while, in which the program rarely made
//! calls.

use super::tails::Tail;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::topics::causes::claim::{Claim, lost_on};
use crate::words::calls as words;

/// Largest ratio of the longest stall to the shortest: one cause slows calls by similar times.
const SIMILAR: f64 = 3.0;

/// Returns a claim if all stalls of the tail are consecutive.
#[must_use]
pub fn claim(cube: &Cube<'_>, tail: &Tail) -> Option<Claim> {
    let mut stalls: Vec<&Cell> = tail.stalls.iter().filter_map(|at| cube.cells.get(*at as usize)).collect();
    if stalls.iter().any(|cell| cell.sums.longest_began().is_none()) {
        return None;
    }
    stalls.sort_by_key(|cell| cell.sums.longest_at);
    let (first, last) = (stalls.first()?, stalls.last()?);
    let end = |cell: &Cell| cell.sums.longest_at.saturating_add(cell.sums.longest_ns);
    let (from, until) = (first.sums.longest_at, end(last));
    let lengths = || stalls.iter().map(|cell| cell.sums.longest_ns);
    let long = lengths().fold(0_u64, u64::saturating_add).saturating_mul(2) >= until.saturating_sub(from);
    let similar = long && lengths().max()? as f64 <= lengths().min()? as f64 * SIMILAR;
    let (first, last) = (cube.slots.of(from), cube.slots.of(until));
    let quick = cube.cells.iter().any(|cell| {
        let meanwhile = (first..=last).contains(&usize::from(cell.slot));
        cell.leaf && cell.class == tail.class && meanwhile && cell.sums.far_calls < cell.sums.calls
    });
    if stalls.len() < 2 || tail.far as usize != stalls.len() || !similar || quick {
        return None;
    }
    let mean = |of: &dyn Fn(&Cell) -> f64| stalls.iter().map(|cell| of(cell)).sum::<f64>() / stalls.len() as f64;
    let (took, usual) = (mean(&|cell| cell.sums.longest_ns as f64), mean(&|cell| cell.usual_ns));
    let words = words::slow_moment_in_a_row(&words::InARow {
        class: tail.class,
        calls: stalls.len(),
        span_ns: (from, until),
        times: took / usual.max(1.0),
        took_ns: took as u64,
        usual_ns: usual as u64,
        about: About { span_ns: Some((from, until)), calls: Some(stalls.len() as u64), ..About::default() },
    });
    let words = words.on(lost_on(cube, &tail.savings));
    Some(Claim::new(Finding::new(Code::SLOW_MOMENT, words), tail.savings.clone()))
}
