//! Parts of wholes.

/// `part` of `whole`, 0 of nothing.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// Bytes per second. No time at all, possible with a coarse clock, counts as 1 ns.
#[must_use]
pub fn per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 1e9 / ns.max(1) as f64
}
