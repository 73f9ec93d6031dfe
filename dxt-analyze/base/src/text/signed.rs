//! Conversion of numbers for formats that have only signed integers.

/// Converts to a signed number, saturating at the maximum, because most readers of tables support no unsigned numbers.
pub fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
