//! Expensive seeks: a seek in a C stream discards the buffer, so that the next access moves a whole buffer again.

use crate::cube::{Cell, Cube};
use crate::findings::Code;
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use trace_format::op::{Layer, OpClass};

/// Returns one claim (finding with its saving) about seeks in all files.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let op = |cell: &Cell| cube.stream(cell).map(|stream| cube.run.op(stream));
    let is = |cell: &Cell| op(cell).is_some_and(|op| op.class == Some(OpClass::Seek));
    let (mut calls, mut of_streams, mut time) = (0_u64, 0_u64, 0.0);
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| cell.leaf && !cell.inside && is(cell)) {
        add(&mut calls, cell.sums.calls);
        if op(cell).is_some_and(|op| op.layer == Some(Layer::Stdio)) {
            add(&mut of_streams, cell.sums.calls);
        }
        time += cell.time_ns();
        let more = cell.time_ns() - thresholds.system_call_ns * cell.sums.calls as f64;
        if more > 0.0 {
            savings.push((index, more));
        }
    }
    if calls < thresholds.hundred_calls_min || savings.is_empty() {
        return None;
    }
    Some(Claim::on_files(cube, Code::SEEK_PER_ACCESS, savings, |lost| {
        words::seeks(calls, of_streams, of_streams > calls / 2, time, lost)
    }))
}
