//! Numbers for formats with signed integers.

/// Converts to a signed number, saturating: most readers of tables have no unsigned ones.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
