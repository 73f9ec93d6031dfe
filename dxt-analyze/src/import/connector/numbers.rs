//! Parsers of the numbers in rows: integers, and seconds with six decimals, also in the notation to which spreadsheets change them.

/// Parses an integer; `None` if it is none. Spreadsheets and data frames may write an integer as `42.0`.
pub(super) fn whole(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().or_else(|| {
        // Up to this magnitude, each integer has its own float.
        let float = text.parse::<f64>().ok().filter(|float| float.fract() == 0.0 && float.abs() <= 9e15)?;
        Some(float as i64)
    })
}

/// Point in time, or duration, as written in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seconds {
    pub(super) ns: i64,
    /// True if the time is written with few digits, such as `1.7E+09`, and therefore not exact.
    pub(super) is_rounded: bool,
}

/// Parses seconds with any number of decimals; digits below 1 ns are cut off. `None` if the text is no number.
pub(super) fn seconds(text: &[u8]) -> Option<Seconds> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains(['e', 'E']) {
        let ns = text.parse::<f64>().ok()? * 1e9;
        return (ns.abs() < 9e18).then_some(Seconds { ns: ns as i64, is_rounded: true });
    }
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.len() + fraction.len() == 0 || !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let fraction = fraction.get(..9).unwrap_or(fraction);
    let seconds: i64 = if seconds.is_empty() { 0 } else { seconds.parse().ok()? };
    let below: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let below = below * 10_i64.pow(9 - fraction.len() as u32);
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(below)?;
    Some(Seconds { ns: sign * ns, is_rounded: false })
}

/// Id of a file's record in the connector's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RecordId {
    /// Id of a file's record, exactly as the connector wrote it.
    Exact(u64),
    /// Id known only approximately, as the bits of a float: the float written by a spreadsheet, or the largest `i64`, to which ids may have
    /// been clamped.
    Rounded(u64),
}

impl RecordId {
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let exact = text.parse::<u64>().ok().or_else(|| Some(text.parse::<i64>().ok()?.cast_unsigned()));
        match exact {
            Some(id) if id != i64::MAX.cast_unsigned() => Some(Self::Exact(id)),
            _ => text.parse::<f64>().ok().filter(|id| id.is_finite()).map(|id| Self::Rounded(id.to_bits())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_where_they_can_be() {
        let ns = |text: &str| seconds(text.as_bytes()).map(|seconds| (seconds.ns, seconds.is_rounded));
        assert_eq!(ns("1743618559.147298"), Some((1_743_618_559_147_298_000, false)));
        assert_eq!(ns("-0.000001"), Some((-1000, false)));
        assert_eq!(ns(".5"), Some((500_000_000, false)));
        assert_eq!(ns("3"), Some((3_000_000_000, false)));
        assert_eq!(ns("1.5E+09"), Some((1_500_000_000_000_000_000, true)));
        assert_eq!(ns("0.1234567891"), Some((123_456_789, false)));
        for text in ["", ".", "-", "1,5", "1.-5", "+1", "99999999999999999999", "1E99", "inf", "einf"] {
            assert_eq!(ns(text), None, "{text}");
        }
    }

    #[test]
    fn rounded_ids_are_reported_from_exact_ones() {
        assert_eq!(RecordId::of(b"4379126583041845751"), Some(RecordId::Exact(4_379_126_583_041_845_751)));
        assert_eq!(RecordId::of(b"-1"), Some(RecordId::Exact(u64::MAX)));
        assert_eq!(RecordId::of(b"9.22337E+18"), Some(RecordId::Rounded(9.22337e18_f64.to_bits())));
        assert!(matches!(RecordId::of(b"9223372036854775807"), Some(RecordId::Rounded(_))));
        assert_eq!(RecordId::of(b"abc"), None);
        assert_eq!((whole(b"42.0"), whole(b"-1"), whole(b"1.5"), whole(b"x")), (Some(42), Some(-1), None, None));
    }
}
