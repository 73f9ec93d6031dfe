//! Parts of wholes.

/// `part` of `whole`, from 0 to 1; 0 of nothing. A part above its whole (calls of threads side by side in a run's time, counts of a log that
/// contradict each other) is all of it.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    share_if_any(part, whole).unwrap_or(0.0)
}

/// The same; `None` of nothing.
#[must_use]
pub fn share_if_any(part: u64, whole: u64) -> Option<f64> {
    share_of_sums(part.into(), whole.into())
}

/// Share of a sum over jobs in another.
#[must_use]
pub fn share_of_sums(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// Bytes per second. No time at all, possible with a coarse clock, counts as 1 ns.
#[must_use]
pub fn per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 1e9 / ns.max(1) as f64
}
