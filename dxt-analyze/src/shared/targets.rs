//! Division of an operation's time among the storage targets that served it.

/// Returns the part of an operation's `duration` that belongs to `bytes` of its `length` bytes: `duration` x `bytes` / `length`, at most `duration`.
#[inline]
#[must_use]
pub fn share_ns(duration: u64, bytes: u64, length: u64) -> u64 {
    if bytes >= length {
        return duration;
    }
    // Fast path: a 128-bit division is a function call.
    match duration.checked_mul(bytes) {
        Some(product) => product / length.max(1),
        None => u64::try_from(u128::from(duration) * u128::from(bytes) / u128::from(length.max(1))).unwrap_or(u64::MAX),
    }
}
