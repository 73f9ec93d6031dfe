//! Formatting of numbers and times as by C's `printf` and `ctime`.

use std::io::Write;

/// Exclusive upper bound of the absolute values that the fast path formats.
const SHORT: f64 = 1e9;

/// Appends `value` in C's format `%{width}.{decimals}f`, with at most 9 decimals. Rounds correctly, ties to even, as glibc does.
pub(super) fn fixed(out: &mut Vec<u8>, value: f64, width: usize, decimals: u32) {
    if value.abs() < SHORT {
        let (power, digits) = (10u64.pow(decimals), decimals as usize);
        let scaled = scaled(value.abs(), power);
        let begin = out.len();
        if value.is_sign_negative() {
            out.push(b'-');
        }
        signed(out, (scaled / power).cast_signed(), 0);
        if digits > 0 {
            out.push(b'.');
            let point = out.len();
            signed(out, (scaled % power).cast_signed(), digits);
            out[point..].iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'0');
        }
        let missing = width.saturating_sub(out.len() - begin);
        out.splice(begin..begin, std::iter::repeat_n(b' ', missing));
        return;
    }
    let decimals = decimals as usize;
    // Writing to a buffer in memory cannot fail.
    let _ = if value.is_finite() {
        write!(out, "{value:width$.decimals$}")
    } else {
        let word = match (value.is_nan(), value.is_sign_negative()) {
            (true, false) => "nan",
            (true, true) => "-nan",
            (false, false) => "inf",
            (false, true) => "-inf",
        };
        write!(out, "{word:>width$}")
    };
}

/// Returns the exact product `value * power` rounded to the nearest integer, ties to even. `value` must be between 0 and [`SHORT`].
fn scaled(value: f64, power: u64) -> u64 {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let exponent = (bits >> FRACTION_BITS) as u32;
    let mantissa = bits & ((1 << FRACTION_BITS) - 1) | 1 << FRACTION_BITS;
    // `value` is mantissa / 2^shift. If the shift exceeds the length of the product, or for subnormal numbers, the result is far below one half.
    let shift = (1023 + FRACTION_BITS).saturating_sub(exponent);
    if exponent == 0 || shift > 100 {
        return 0;
    }
    let product = u128::from(mantissa) * u128::from(power);
    let (whole, rest) = ((product >> shift) as u64, product & ((1 << shift) - 1));
    let half = 1u128 << shift >> 1;
    whole + u64::from(rest > half || (rest == half && whole % 2 == 1))
}

/// Appends `value` in C's format `%{width}lld`: right-aligned, and wider than `width` if necessary.
pub(super) fn signed(out: &mut Vec<u8>, value: i64, width: usize) {
    let mut digits = [b' '; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let length = digits.len() - at + usize::from(value < 0);
    out.resize(out.len() + width.saturating_sub(length), b' ');
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Seconds in 400 years, after which the Gregorian calendar repeats with the same days of the week.
const ERA_SECONDS: i64 = 146_097 * 86_400;

/// Formats `seconds` since 1970 as C's `ctime` does in UTC, with the final newline. Years that C's `struct tm` cannot hold yield `(null)`,
/// which `printf` prints for a null pointer.
pub(super) fn ctime(seconds: i64) -> String {
    // The calendar library ends with the year 9999, so the time is mapped to an equivalent time in the years 1970 to 2369.
    let similar = jiff::Timestamp::from_second(seconds.rem_euclid(ERA_SECONDS)).unwrap_or_default();
    let similar = jiff::tz::Offset::UTC.to_datetime(similar);
    let year = i64::from(similar.year()) + 400 * seconds.div_euclid(ERA_SECONDS);
    if i32::try_from(year - 1900).is_err() {
        return "(null)".into();
    }
    format!("{} {year}\n", similar.strftime("%a %b %e %H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_as_printf_writes_them() {
        let text = |value, width, decimals| {
            let mut out = Vec::new();
            fixed(&mut out, value, width, decimals);
            String::from_utf8(out).expect("ASCII")
        };
        assert_eq!(text(0.00005, 12, 4), "      0.0001", "the double is a little more than half");
        assert_eq!(text(0.5, 1, 0), "0", "ties to even");
        assert_eq!(text(-0.0, 0, 6), "-0.000000");
        assert_eq!(text(f64::NAN, 12, 4), "         nan");
        assert_eq!(text(-f64::INFINITY, 0, 4), "-inf");
        assert_eq!(text(1e22, 0, 1), "10000000000000000000000.0");
    }

    #[test]
    fn the_short_way_and_the_long_one_agree() {
        let mut random = 1u64;
        let mut values = vec![0.0, 0.5, 1.5, 2.5, 0.125, 0.00005, 0.00015, 1e-300, 5e-324, 1e9, 999_999_999.999_95];
        for _ in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Small times, ties at five decimals, and random bits.
            values.push((random >> 20) as f64 / 1e9);
            values.push((random >> 40) as f64 / 32.0);
            values.push(f64::from_bits(random).clamp(-1e12, 1e12));
        }
        for value in values.into_iter().filter(|value| value.is_finite()) {
            for decimals in [0, 4, 6] {
                for value in [value, -value] {
                    let mut out = Vec::new();
                    fixed(&mut out, value, 12, decimals);
                    let wanted = format!("{value:12.*}", decimals as usize);
                    assert_eq!(String::from_utf8(out).expect("ASCII"), wanted, "{value:e}");
                }
            }
        }
    }

    #[test]
    fn integers_are_as_printf_writes_them() {
        for (value, width) in [(0, 8), (-1, 16), (i64::MIN, 4), (i64::MAX, 30), (7, 0), (1234567, 3)] {
            let mut out = Vec::new();
            signed(&mut out, value, width);
            assert_eq!(String::from_utf8(out).expect("ASCII"), format!("{value:width$}"));
        }
    }

    #[test]
    fn times_are_as_ctime_writes_them() {
        assert_eq!(ctime(0), "Thu Jan  1 00:00:00 1970\n");
        assert_eq!(ctime(1_515_511_600), "Tue Jan  9 15:26:40 2018\n");
        assert_eq!(ctime(951_827_696), "Tue Feb 29 12:34:56 2000\n");
        assert_eq!(ctime(-1), "Wed Dec 31 23:59:59 1969\n");
        assert_eq!(ctime(4_107_542_400), "Mon Mar  1 00:00:00 2100\n");
        assert_eq!(ctime(-62_167_219_201), "Fri Dec 31 23:59:59 -1\n");
        assert_eq!(ctime(253_402_300_800), "Sat Jan  1 00:00:00 10000\n");
        assert_eq!(ctime(67_768_036_191_676_799), "Wed Dec 31 23:59:59 2147485547\n");
        assert_eq!(ctime(67_768_036_191_676_800), "(null)");
        assert_eq!(ctime(i64::MAX), "(null)");
        assert_eq!(ctime(i64::MIN), "(null)");
    }
}
