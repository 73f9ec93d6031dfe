//! Expensive seeks: a seek in a C stream discards the buffer, so that the next access moves a whole buffer again.

use crate::findings::Code;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use trace_format::op::{Layer, OpClass};

const MANY: u64 = 100;
/// Time of a seek that only sets a position, ns.
const FREE_NS: f64 = 1_000.0;

/// Returns one claim about all files.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let op = |entry: &Entry| grid.stream(entry).map(|stream| grid.run.op(stream));
    let is = |entry: &Entry| op(entry).is_some_and(|op| op.class == Some(OpClass::Seek));
    let (mut calls, mut of_streams, mut time) = (0_u64, 0_u64, 0.0);
    let mut savings = Savings::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| entry.leaf && !entry.inside && is(entry)) {
        add(&mut calls, entry.cell.calls);
        if op(entry).is_some_and(|op| op.layer == Some(Layer::Stdio)) {
            add(&mut of_streams, entry.cell.calls);
        }
        time += entry.left_ns;
        let more = entry.left_ns - FREE_NS * entry.cell.calls as f64;
        if more > 0.0 {
            savings.push((index, more));
        }
    }
    if calls < MANY || savings.is_empty() {
        return None;
    }
    Some(Claim::on_files(grid, Code::SEEK_PER_ACCESS, savings, |lost| {
        words::seeks(calls, of_streams, of_streams > calls / 2, time, lost)
    }))
}
