//! Time of an operation that several storage targets served together.

/// The part of `duration` that `bytes` of `length` stand for.
#[inline]
#[must_use]
pub fn share_ns(duration: u64, bytes: u64, length: u64) -> u64 {
    if bytes >= length {
        return duration;
    }
    // What fits is divided at once: the division of 128 bits is a function.
    match duration.checked_mul(bytes) {
        Some(product) => product / length.max(1),
        None => u64::try_from(u128::from(duration) * u128::from(bytes) / u128::from(length.max(1))).unwrap_or(u64::MAX),
    }
}
