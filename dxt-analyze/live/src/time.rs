//! Current time of the wall clock.

/// Returns the current time, in ns since 1970-01-01 UTC.
pub(crate) fn unix_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
