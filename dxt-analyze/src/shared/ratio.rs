//! Ratios with defined results for zero denominators and inconsistent counts.

/// Returns `part` / `whole`, limited to at most 1; 0 if `whole` is 0. The ratio can exceed 1 because threads overlap or a log is inconsistent.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    share_if_any(part, whole).unwrap_or(0.0)
}

/// Returns `part` / `whole`, limited to at most 1; `None` if `whole` is 0.
#[must_use]
pub fn share_if_any(part: u64, whole: u64) -> Option<f64> {
    share_of_sums(part.into(), whole.into())
}

/// Returns `part` / `whole` for 128-bit sums, such as sums over many jobs; at most 1, `None` if `whole` is 0.
#[must_use]
pub fn share_of_sums(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// Returns the rate in bytes per second. A duration of 0 ns, possible with a coarse clock, counts as 1 ns.
#[must_use]
pub fn per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 1e9 / ns.max(1) as f64
}
