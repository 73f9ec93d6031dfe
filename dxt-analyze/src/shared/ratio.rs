//! Parts of wholes.

/// `part` of `whole`, 0 of nothing.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}
