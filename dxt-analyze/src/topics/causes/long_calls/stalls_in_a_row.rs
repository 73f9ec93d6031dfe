//! Two or three consecutive stalls with no fast call of their class between them: storage was slow for a while, in which the program rarely made
//! calls.

use super::tails::Tail;
use crate::findings::{About, Code, Finding};
use crate::topics::causes::claim::{Claim, lost_on};
use crate::topics::causes::grid::{Entry, Grid};
use crate::words::calls as words;

/// Largest ratio of the longest stall to the shortest: one cause slows calls by similar times.
const SIMILAR: f64 = 3.0;

/// Returns a claim if all stalls of the tail are consecutive.
#[must_use]
pub fn claim(grid: &Grid<'_>, tail: &Tail) -> Option<Claim> {
    let mut stalls: Vec<&Entry> = tail.stalls.iter().filter_map(|at| grid.entries.get(*at as usize)).collect();
    if stalls.iter().any(|entry| entry.cell.longest_began().is_none()) {
        return None;
    }
    stalls.sort_by_key(|entry| entry.cell.longest_at);
    let (first, last) = (stalls.first()?, stalls.last()?);
    let end = |entry: &Entry| entry.cell.longest_at.saturating_add(entry.cell.longest_ns);
    let (from, until) = (first.cell.longest_at, end(last));
    let lengths = || stalls.iter().map(|entry| entry.cell.longest_ns);
    let long = lengths().fold(0_u64, u64::saturating_add).saturating_mul(2) >= until.saturating_sub(from);
    let similar = long && lengths().max()? as f64 <= lengths().min()? as f64 * SIMILAR;
    let (first, last) = (grid.slots.of(from), grid.slots.of(until));
    let quick = grid.entries.iter().any(|entry| {
        let meanwhile = (first..=last).contains(&usize::from(entry.slot));
        entry.leaf && entry.class == tail.class && meanwhile && entry.cell.far_calls < entry.cell.calls
    });
    if stalls.len() < 2 || tail.far as usize != stalls.len() || !similar || quick {
        return None;
    }
    let mean = |of: &dyn Fn(&Entry) -> f64| stalls.iter().map(|entry| of(entry)).sum::<f64>() / stalls.len() as f64;
    let (took, usual) = (mean(&|entry| entry.cell.longest_ns as f64), mean(&|entry| entry.usual_ns));
    let words = words::slow_moment_in_a_row(&words::InARow {
        class: tail.class,
        calls: stalls.len(),
        span_ns: (from, until),
        times: took / usual.max(1.0),
        took_ns: took as u64,
        usual_ns: usual as u64,
        about: About { span_ns: Some((from, until)), calls: Some(stalls.len() as u64), ..About::default() },
    });
    let words = words.on(lost_on(grid, &tail.savings));
    Some(Claim::new(Finding::new(Code::SLOW_MOMENT, words), tail.savings.clone()))
}
