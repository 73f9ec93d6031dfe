//! Parser of data rates in options.

/// Parses a rate in bytes per second, such as `2500MB/s`, `2.4GiB/s` or `2.5e9`; k to P are powers of 1000, Ki to Pi powers of 1024. Fails
/// with the reason if `text` is not a rate or the rate is not above 0.
pub fn parse(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.strip_suffix("/s").unwrap_or(text).trim_end();
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = number.get(digits.len()..).unwrap_or_default().trim_start();
    let power = |prefix: &str| "KMGTP".find(&prefix.to_ascii_uppercase()).map_or(0, |at| at as i32 + 1);
    let factor = match unit.strip_suffix('B').unwrap_or(unit) {
        "" => 1.0,
        "k" | "K" | "M" | "G" | "T" | "P" => 1000_f64.powi(power(unit.get(..1).unwrap_or_default())),
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" => 1024_f64.powi(power(unit.get(..1).unwrap_or_default())),
        _ => return Err(format!("'{unit}' is not a unit of bytes per second: use MB/s, GB/s, MiB/s, GiB/s")),
    };
    let value: f64 = digits.parse().map_err(|_| format!("'{text}' is not a rate such as 2500MB/s"))?;
    let rate = value * factor;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("must be above 0".into()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rates_are_decimal_unless_they_say_otherwise() {
        for (text, rate) in
            [("2500MB/s", 2.5e9), ("2.5 GB/s", 2.5e9), ("1MiB/s", 1_048_576.0), ("1e9", 1e9), ("3k", 3000.0)]
        {
            assert_eq!(parse(text), Ok(rate), "{text}");
        }
        for bad in ["", "MB/s", "0", "-1GB/s", "10Mb/s", "10Gbit/s", "1e400", "nan", "inf", "1XB/s", "5 é"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
