//! Numbers for formats whose integers have a sign.

/// A number as most readers of tables know it.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
