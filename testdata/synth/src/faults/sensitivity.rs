//! Sensitivity of an analyzer's verdicts to its thresholds: each threshold is halved and doubled, and the jobs are scored again.

use super::comparison::has_changed;
use super::score::Score;
use super::table::Totals;
use anyhow::{Context, ensure};
use std::fmt::Write as _;
use std::path::Path;

/// Documentation of the analyzer, with a table of all thresholds.
const TABLE: &str = include_str!("../../../../docs/analyses.md");

/// Units of thresholds that may have a fraction.
const FRACTIONS: [&str; 9] = [
    "IQR",
    "log ratio",
    "ns per byte",
    "operations per second",
    "probability",
    "ratio",
    "robust standard deviations",
    "share",
    "standard errors",
];

/// Threshold of the analyzer.
#[derive(Clone, Debug, PartialEq)]
struct Threshold {
    name: String,
    value: f64,
    /// Smallest and largest valid value.
    range: (f64, f64),
    fraction: bool,
}

impl Threshold {
    /// Parses a row of the table: name, default, unit, range, meaning, source. `None` for other lines.
    fn parse(line: &str) -> Option<Self> {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?.to_owned();
        let value = cells.next()?.parse().ok()?;
        let unit = cells.next()?;
        let (from, until) = cells.next()?.split_once(' ')?;
        let until = until.strip_prefix("to ").and_then(|until| until.parse().ok()).unwrap_or(f64::INFINITY);
        Some(Self { name, value, range: (from.parse().ok()?, until), fraction: FRACTIONS.contains(&unit) })
    }

    /// Returns the value times `factor`, as near as the range and whole numbers allow.
    fn times(&self, factor: f64) -> f64 {
        let value = (self.value * factor).clamp(self.range.0, self.range.1);
        if self.fraction { value } else { value.round().max(1.0) }
    }
}

/// Returns the thresholds in `names` (separated by commas, or `all`), in the order of the documentation. Fails if there is none of a name.
fn thresholds(names: &str) -> anyhow::Result<Vec<Threshold>> {
    let all: Vec<Threshold> = TABLE.lines().filter_map(Threshold::parse).collect();
    if names == "all" {
        return Ok(all);
    }
    let names: Vec<&str> = names.split(',').collect();
    let unknown = names.iter().find(|name| all.iter().all(|one| one.name != **name));
    ensure!(unknown.is_none(), "there is no threshold {}", unknown.unwrap_or(&""));
    Ok(all.into_iter().filter(|one| names.contains(&one.name.as_str())).collect())
}

/// Scores the jobs with each of the thresholds in `names` (separated by commas, or `all`) halved and doubled; returns a table with one
/// line per threshold. `scores`: scores all jobs with these additional options of the analyzer; `folder`: directory for files of thresholds.
pub(super) fn sensitivity(
    names: &str,
    folder: &Path,
    scores: impl Fn(&[String]) -> anyhow::Result<Vec<Score>>,
) -> anyhow::Result<String> {
    let before = scores(&[])?;
    let mut out = format!(
        "right / quiet / within 2 x / misleading high (jobs that changed); all as they are: {}\n{:24} {:>12}  {:26}  double\n",
        numbers(&before),
        "threshold",
        "value",
        "half"
    );
    let path = std::path::absolute(folder)?.join("thresholds.toml");
    for one in thresholds(names)? {
        let scored = |value: f64| -> anyhow::Result<String> {
            let of = || format!("failed to write {}", path.display());
            std::fs::write(&path, format!("{} = {value}\n", one.name)).with_context(of)?;
            let now = scores(&["--thresholds".into(), path.display().to_string()])?;
            let changed = before.iter().zip(&now).filter(|(before, now)| has_changed(before, now)).count();
            Ok(format!("{} ({changed})", numbers(&now)))
        };
        let (half, double) = (scored(one.times(0.5))?, scored(one.times(2.0))?);
        let _ = writeln!(out, "{:24} {:>12}  {half:26}  {double}", one.name, one.value);
    }
    Ok(out)
}

fn numbers(scores: &[Score]) -> String {
    let of = Totals::of(scores);
    format!("{} / {} / {} / {}", of.first_right, of.quiet, of.promised_well, of.misleading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_stay_valid() {
        let of = |name: &str| thresholds(name).unwrap().remove(0);
        let values = |name: &str| [0.5, 2.0].map(|factor| of(name).times(factor));
        assert_eq!(values("most_share"), [0.4, 1.0]);
        assert_eq!(values("slower_ratio"), [1.0, 3.0]);
        assert_eq!(values("several_min"), [2.0, 6.0]);
        assert_eq!(values("small_bytes"), [32_768.0, 131_072.0]);
        assert!(thresholds("all").unwrap().len() > 100 && thresholds("half_share,none").is_err());
    }
}
