//! Parsers for the values of environment variables (settings).

/// Environment variable (setting) with an invalid value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    pub(crate) variable: &'static str,
    pub(crate) value: Vec<u8>,
    pub(crate) expected: &'static str,
}

/// Returns the error for an invalid `value` of `variable`. `expected` describes valid values.
pub(super) fn bad(variable: &'static str, value: &[u8], expected: &'static str) -> BadValue {
    BadValue { variable, value: value.to_vec(), expected }
}

/// Parses a size in bytes with an optional binary suffix K, M, G or T.
pub(super) fn size(value: &[u8]) -> Option<usize> {
    let (digits, shift) = match value.split_last()? {
        (b'k' | b'K', rest) => (rest, 10),
        (b'm' | b'M', rest) => (rest, 20),
        (b'g' | b'G', rest) => (rest, 30),
        (b't' | b'T', rest) => (rest, 40),
        _ => (value, 0),
    };
    std::str::from_utf8(digits).ok()?.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Parses decimal seconds up to 1e9; returns ns.
pub(super) fn seconds(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b == b'.' || b.is_ascii_digit()))?;
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds <= 1e9)?;
    Some((seconds * 1e9) as u64)
}

/// Parses octal file permissions, which must let the owner read and write, and let nobody execute.
pub(super) fn permissions(value: &[u8]) -> Option<u32> {
    let digits = value.iter().all(u8::is_ascii_digit);
    let mode = u32::from_str_radix(std::str::from_utf8(value).ok().filter(|_| digits)?, 8).ok()?;
    (mode & 0o600 == 0o600 && mode & !0o666 == 0).then_some(mode)
}
