//! C streams with small buffers: a call that fills or flushes the buffer, every few hundred or thousand bytes, takes as long as a request, while
//! the calls between only copy.

use super::put_together::saved_ns;
use crate::findings::{About, Code};
use crate::model::Class;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Savings;
use crate::words::shape as words;
use trace_format::op::Layer;

/// Fewest calls that fill or flush a buffer.
const FEWEST: u64 = 32;
/// Most bytes between two such calls: a larger buffer was chosen by somebody.
const SMALL: u64 = 64 << 10;
/// Least part of the time in such calls.
const MOST: f64 = 0.8;
/// Least mean duration of such calls, as a part of the longest.
const SIMILAR: f64 = 1.0 / 16.0;
/// Largest size octave of requests that fit a stream's buffer.
const BUFFERED: u8 = 16;

/// Returns a claim for reads and one for writes.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    [Class::Read, Class::Write].into_iter().filter_map(|class| claim(grid, class)).collect()
}

fn claim(grid: &Grid<'_>, class: Class) -> Option<Claim> {
    let counts = |entry: &Entry| {
        let own = entry.leaf && !entry.inside && entry.class == class && entry.size <= BUFFERED;
        own && grid.layer(entry) == Some(Layer::Stdio)
    };
    let (mut calls, mut bytes, mut far) = (0_u64, 0_u64, 0_u64);
    let (mut time, mut in_far, mut longest) = (0.0, 0.0, 0_u64);
    for entry in grid.entries.iter().filter(|entry| counts(entry)) {
        add(&mut calls, entry.cell.calls);
        add(&mut bytes, entry.cell.bytes);
        add(&mut far, entry.cell.far_calls);
        time += entry.left_ns;
        in_far += entry.cell.far_ns as f64;
        longest = longest.max(entry.cell.longest_ns);
    }
    let each = bytes / far.max(1);
    // Otherwise a few calls are long, and the rest little longer than a copy.
    let similar = in_far / far.max(1) as f64 >= longest as f64 * SIMILAR;
    if !similar || far < FEWEST || far >= calls / 2 || each > SMALL || in_far < time * MOST {
        return None;
    }
    let mut savings = Savings::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| counts(entry) && entry.cell.far_calls > 0) {
        let less = saved_ns(entry.cell.far_ns as f64, entry.cell.bytes, entry.cell.far_calls);
        if less > 0.0 {
            savings.push((index, less));
        }
    }
    let about = About { calls: Some(far), bytes: Some(bytes), ..About::default() };
    let of = words::StreamBuffer { class, calls, bytes, slow: far, slow_ns: in_far };
    Some(Claim::on_files(grid, Code::STREAM_BUFFER, savings, |lost| words::stream_buffer(&of, about, lost)))
}
