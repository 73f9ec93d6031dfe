//! Formats numbers for people: sizes and rates with binary prefixes (KiB = 1024 bytes), times in seconds.

/// Formats a number of bytes: `4.00 MiB`, `328 B`.
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    binary(value as f64 / 1024.0, &UNITS)
}

/// Formats `value` with the first unit in which it is below 1023.5; each of `units` is 1,024 times the unit before.
fn binary(mut value: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units.get(unit).copied().unwrap_or_default())
}

/// Formats a size in bytes in the form that `lfs setstripe -S` accepts: `4M`, `64K`, or plain bytes.
#[must_use]
pub fn size_option(value: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if value >= 1 << shift && value.is_multiple_of(1 << shift) {
            return format!("{}{unit}", value >> shift);
        }
    }
    value.to_string()
}

/// Formats a data rate: `1.30 GiB/s`, `11.3 B/s`.
#[must_use]
pub fn rate(bytes_per_second: f64) -> String {
    binary(bytes_per_second, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"])
}

/// Formats a ratio of two times: `2.9`, or `over 100` if the smaller time is too short for a meaningful ratio.
#[must_use]
pub fn times(ratio: f64) -> String {
    const MOST: f64 = 100.0;
    if ratio > MOST { format!("over {MOST}") } else { format!("{ratio:.1}") }
}

/// Formats a q-value: `3.1e-4`, or `<1e-300` if it is 0.
#[must_use]
pub fn chance(q: f64) -> String {
    if q > 0.0 { format!("{q:.1e}") } else { "<1e-300".into() }
}

/// Formats a point in time as seconds with microseconds: `28.380000`.
#[must_use]
pub fn seconds(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

/// Formats a point in time or a time span of a run with few digits: `28.4 s`, `0.012 s`.
#[must_use]
pub fn moment(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds >= 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.3} s") }
}

/// Formats a duration with its unit: `42 ns`, `1.40 ms`, `3.54 s`, `12,345 s`.
#[must_use]
pub fn duration(ns: u64) -> String {
    const UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];
    if ns < 1000 {
        return format!("{ns} ns");
    }
    let (mut scaled, mut unit) = (ns as f64, 0);
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    let digits = if scaled >= 999.5 { count(scaled.round() as u64) } else { three_digits(scaled) };
    format!("{digits} {}", UNITS.get(unit).copied().unwrap_or_default())
}

/// Formats a count with its noun in singular or plural: `1 rank`, `2,000 ranks`, `2 processes`, `2 queries`.
#[must_use]
pub fn counted(value: u64, what: &str) -> String {
    let number = count(value);
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if value == 1 => format!("{number} {what}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {what}{}", if what.ends_with('s') { "es" } else { "s" }),
    }
}

/// Returns `singular` if `count` is 1, else `plural`, as in `is` and `are`.
#[must_use]
pub const fn agree<T: Copy>(count: u64, singular: T, plural: T) -> T {
    if count == 1 { singular } else { plural }
}

/// Formats a number of nodes: `1 node`, `2 nodes`, `unknown nodes`.
#[must_use]
pub fn nodes(count: Option<u64>) -> String {
    count.map_or_else(|| "unknown nodes".into(), |count| counted(count, "node"))
}

/// Formats a number of accesses: `1 read or write`, `20 reads and writes`.
#[must_use]
pub fn accesses(value: u64) -> String {
    format!("{} {}", count(value), agree(value, "read or write", "reads and writes"))
}

/// Formats an integer with thousands separators: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a time in ns since 1970 as UTC date and time.
#[must_use]
pub fn wall_clock(unix_ns: i64) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(unix_ns)) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S.%3f UTC").to_string(),
        Err(_) => format!("{unix_ns} ns since 1970"),
    }
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

const RANGES: usize = 4;

/// Formats sorted numbers as ranges: `0-63`, `0-62 by 2`, `0-3, 8, 12`.
#[must_use]
pub fn ranges(places: &[u64]) -> String {
    let mut out: Vec<String> = Vec::new();
    // Two processes may have the same rank, so duplicates are possible.
    let mut places = places.to_vec();
    places.dedup();
    let mut rest = places.as_slice();
    while let [first, behind @ ..] = rest {
        let step = behind.first().map_or(1, |next| next - first);
        let in_line = rest.windows(2).take_while(|pair| matches!(pair, [a, b] if b - a == step)).count();
        // Two numbers that are not adjacent are listed separately, not as a range.
        let taken = if in_line == 1 && step > 1 { 0 } else { in_line };
        let last = rest.get(taken).unwrap_or(first);
        out.push(match (taken, step) {
            (0, _) => first.to_string(),
            (_, 1) => format!("{first}-{last}"),
            _ => format!("{first}-{last} by {step}"),
        });
        rest = rest.get(taken + 1..).unwrap_or_default();
    }
    let more = out.len() > RANGES;
    out.truncate(RANGES);
    format!("{}{}", out.join(", "), if more { ", ..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_right() {
        assert_eq!([bytes(0), bytes(1023), bytes(1024), bytes(4 << 20)], ["0 B", "1023 B", "1.00 KiB", "4.00 MiB"]);
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!([rate(1.4e9), rate(11.4), rate(1023.99)], ["1.30 GiB/s", "11.4 B/s", "1.00 KiB/s"]);
        assert_eq!([seconds(0), seconds(42_000), seconds(3_540_000_000)], ["0.000000", "0.000042", "3.540000"]);
        assert_eq!([duration(0), duration(1000), duration(3_540_000_000)], ["0 ns", "1.00 µs", "3.54 s"]);
        assert_eq!([duration(999_600), duration(12_345_000_000_000)], ["1.00 ms", "12,345 s"]);
        assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([size_option(4 << 20), size_option(65536), size_option(1000)], ["4M", "64K", "1000"]);
        assert_eq!(wall_clock(1_700_000_000_123_000_000), "2023-11-14 22:13:20.123 UTC");
    }

    #[test]
    fn nouns_and_verbs_agree_with_their_count() {
        for (value, what, said) in [
            (0, "rank", "0 ranks"),
            (1, "rank", "1 rank"),
            (2000, "small file", "2,000 small files"),
            (1, "process", "1 process"),
            (2, "process", "2 processes"),
            (2, "access", "2 accesses"),
            (1, "metadata query", "1 metadata query"),
            (2, "metadata query", "2 metadata queries"),
            (2, "delay", "2 delays"),
        ] {
            assert_eq!(counted(value, what), said);
        }
        assert_eq!([0, 1, 2].map(|count| agree(count, "takes", "take")), ["take", "takes", "take"]);
        assert_eq!([accesses(1), accesses(2000)], ["1 read or write", "2,000 reads and writes"]);
        assert_eq!([counted(1, "process"), nodes(Some(1)), nodes(None)], ["1 process", "1 node", "unknown nodes"]);
    }

    #[test]
    fn ranks_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3]), "0-3");
        assert_eq!(ranges(&[0, 0, 1, 2, 2, 5]), "0-2, 5");
        assert_eq!(ranges(&[0, 2, 4, 9]), "0-4 by 2, 9");
        assert_eq!(ranges(&[1, 5]), "1, 5");
        assert_eq!(ranges(&[1, 2]), "1-2");
        assert_eq!(ranges(&[0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 20]), "0-1, 3-4, 6-7, 9-10, ...");
    }
}
