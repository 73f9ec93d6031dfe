//! C streams with small buffers: most calls only copy to or from the buffer, but every few hundred or thousand bytes, a call fills or
//! flushes the buffer and takes as long as a request to storage.

use super::put_together::saved_ns;
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::Class;
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use trace_format::op::Layer;

/// Returns a claim (finding with its saving) about small buffers of C streams for reads and one for writes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| claim(cube, class)).collect()
}

fn claim(cube: &Cube<'_>, class: Class) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let counts = |cell: &Cell| {
        let own = cell.leaf && !cell.inside && cell.class == class && cell.is_below(thresholds.small_bytes);
        own && cube.layer(cell) == Some(Layer::Stdio)
    };
    let (mut calls, mut bytes, mut far) = (0_u64, 0_u64, 0_u64);
    let (mut time, mut in_far, mut longest) = (0.0, 0.0, 0_u64);
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        add(&mut calls, cell.sums.calls);
        add(&mut bytes, cell.sums.bytes);
        add(&mut far, cell.sums.far_calls);
        time += cell.time_ns();
        in_far += cell.sums.far_ns as f64;
        longest = longest.max(cell.sums.longest_ns);
    }
    let each = bytes / far.max(1);
    // Otherwise a few calls are long, and the rest little longer than a copy.
    let similar = in_far / far.max(1) as f64 >= longest as f64 * thresholds.minor_share;
    if !similar
        || far < thresholds.more_calls_min
        || far >= calls / 2
        || each > thresholds.small_bytes
        || in_far < time * thresholds.most_share
    {
        return None;
    }
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell) && cell.sums.far_calls > 0) {
        let less = saved_ns(thresholds, cell.sums.far_ns as f64, cell.sums.bytes, cell.sums.far_calls);
        if less > 0.0 {
            savings.push((index, less));
        }
    }
    let about = About { calls: Some(far), bytes: Some(bytes), ..About::default() };
    let of = words::StreamBuffer { class, calls, bytes, slow: far, slow_ns: in_far };
    Some(Claim::on_files(cube, Code::STREAM_BUFFER, savings, |lost| words::stream_buffer(&of, about, lost)))
}
