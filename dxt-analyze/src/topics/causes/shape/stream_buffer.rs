//! C streams with small buffers: most calls only copy to or from the buffer, but every few hundred or thousand bytes, a call fills or
//! flushes the buffer and takes as long as a request to storage. Number of these calls = time of all outliers / usual duration of one. As the
//! usual duration counts the longest call of each cell (at most [`FAR`] times the mean outlier), median by outlier time: many copies that
//! count as outliers do not shorten it, and a stall does not lengthen it much.

use super::put_together::saved_ns;
use crate::cube::reading::usual::FAR;
use crate::cube::{Cell, Cube, weighted_quantile};
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
    let (mut calls, mut bytes, mut time, mut in_far) = (0_u64, 0_u64, 0.0, 0.0);
    let mut longest: Vec<(f64, f64)> = Vec::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        add(&mut calls, cell.sums.calls);
        add(&mut bytes, cell.sums.bytes);
        time += cell.time_ns();
        in_far += cell.sums.far_ns as f64;
        let mean = cell.sums.far_ns as f64 / cell.sums.far_calls.max(1) as f64;
        longest.push(((cell.sums.longest_ns as f64).min(mean * FAR), cell.sums.far_ns as f64));
    }
    let takes = weighted_quantile(&mut longest, 0.5)?;
    let requests = |ns: f64| (ns / takes.max(1.0)).round() as u64;
    let far = requests(in_far);
    if far < thresholds.more_calls_min
        || far >= calls / 2
        || bytes / far > thresholds.small_bytes
        || in_far < time * thresholds.most_share
    {
        return None;
    }
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell) && cell.sums.far_calls > 0) {
        let in_far = cell.sums.far_ns as f64;
        let less = saved_ns(thresholds, in_far, cell.sums.bytes, requests(in_far));
        if less > 0.0 {
            savings.push((index, less));
        }
    }
    let about = About { calls: Some(far), bytes: Some(bytes), ..About::default() };
    let of = words::StreamBuffer { class, calls, bytes, slow: far, slow_ns: in_far };
    Some(Claim::on_files(cube, Code::STREAM_BUFFER, savings, |lost| words::stream_buffer(&of, about, lost)))
}
