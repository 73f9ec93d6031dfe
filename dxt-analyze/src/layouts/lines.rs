//! Parser of this project's layout format, one rule per line: `GLOB size=4M count=8 [osts=0,1,2,...] [start=0]`. `#` begins a comment.

use super::{Rule, Target};
use crate::pattern::Pattern;
use anyhow::{Context, Result, bail, ensure};
use trace_format::layout::Layout;

/// Maximum number of stripes in a layout rule, as in Lustre (`LOV_MAX_STRIPE_COUNT`).
const MAX_STRIPES: u32 = 2000;

pub(super) fn parse(text: &str) -> Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let what =
            || format!("line {}: '{line}' (expected: GLOB size=4M count=8 [osts=0,1,...] [start=0])", number + 1);
        rules.push(rule(line).with_context(what)?);
    }
    Ok(rules)
}

fn rule(line: &str) -> Result<Rule> {
    let is_setting = |word: &str| ["size=", "count=", "osts=", "start="].iter().any(|name| word.starts_with(name));
    let mut glob: Vec<&str> = Vec::new();
    let (mut size, mut count, mut osts, mut start) = (None, None, None, None);
    let mut settings = false;
    for word in line.split_whitespace() {
        if word.starts_with('#') && settings {
            break;
        }
        if !is_setting(word) {
            ensure!(!settings, "'{word}' is not a setting");
            glob.push(word);
            continue;
        }
        settings = true;
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "size" => size = Some(parse_size(value)?),
            "count" => count = Some(number(value)?),
            "start" => start = Some(number(value)?),
            _ => osts = Some(value.split(',').map(number).collect::<Result<Vec<u32>>>()?),
        }
    }
    ensure!(!glob.is_empty(), "no file pattern");
    let Some(size) = size else { bail!("size is not set") };
    ensure!(size > 0, "a stripe size of 0");
    let count = match (count, &osts) {
        (Some(count), Some(osts)) if osts.len() != count as usize => bail!("count={count} and {} osts", osts.len()),
        (Some(count), _) => count,
        (None, Some(osts)) => osts.len() as u32,
        (None, None) => bail!("neither count nor osts is set"),
    };
    ensure!((1..=MAX_STRIPES).contains(&count), "a stripe count of {count}: it must be 1 to {MAX_STRIPES}");
    ensure!(start.is_none() || osts.is_none(), "start and osts exclude each other");
    let first = start.unwrap_or(0);
    let osts = osts.unwrap_or_else(|| (0..count).map(|object| first.saturating_add(object)).collect());
    let pattern = Pattern::new(&glob.join(" ")).context("the file pattern is not a valid glob")?;
    Ok(Rule { target: Target::Glob(pattern), layout: Layout::plain(size, count, osts) })
}

fn number(text: &str) -> Result<u32> {
    text.trim().parse().with_context(|| format!("'{text}' is not a number"))
}

/// Parses a number of bytes: `4194304`, `4096K`, `4M`, `1G`. Units are powers of 1024, with or without `iB` or `B`, in upper or lower case.
pub(crate) fn parse_size(text: &str) -> Result<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match lower.get(digits.len()..).unwrap_or_default() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        unit => bail!("'{unit}' is not a unit: use K, M, G or T"),
    };
    let value: u64 = digits.parse().with_context(|| format!("'{text}' is not a size"))?;
    value.checked_mul(1 << shift).with_context(|| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_given_or_counted_up() {
        let layout = |line| rule(line).unwrap().layout;
        assert_eq!(layout("* size=4M count=2"), Layout::plain(4 << 20, 2, vec![0, 1]));
        assert_eq!(layout("* size=4M count=2 start=5 # why"), Layout::plain(4 << 20, 2, vec![5, 6]));
        assert_eq!(layout("/a b/*.h5 size=65536 osts=9,3"), Layout::plain(65536, 2, vec![9, 3]));
    }

    #[test]
    fn what_makes_no_sense_is_said_with_its_line() {
        for (bad, why) in [
            ("* count=2", "size is not set"),
            ("* size=4M", "neither count nor osts"),
            ("* size=0 count=1", "stripe size of 0"),
            ("* size=4Q count=1", "not a unit"),
            ("size=4M count=1", "no file pattern"),
            ("* size=4M count=3 osts=1,2", "count=3 and 2 osts"),
            ("* size=4M count=0", "stripe count of 0"),
            ("[ size=4M count=1", "not a valid glob"),
            ("* size=4M count=1 colour=red", "not a setting"),
            ("* size=99999999999T count=1", "too large"),
        ] {
            let error = format!("{:#}", parse(&format!("# rules\n{bad}")).unwrap_err());
            assert!(error.contains(why) && error.contains("line 2"), "{bad}: {error}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [("1", 1), ("64k", 65536), ("4MiB", 4 << 20), ("2G", 2 << 30), ("1tb", 1 << 40)] {
            assert_eq!(parse_size(text).unwrap(), bytes);
        }
    }
}
