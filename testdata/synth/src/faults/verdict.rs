//! Findings of an analyzer on a trace, read from `dxt-analyze report --format json`, with the ranks, nodes or OSTs that each finding accuses.

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Findings of an analyzer on one trace.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Verdict {
    /// Findings, in the order of the analyzer's report.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Code of the finding that the first sentence of the report states; `None` if the report states that nothing stands out.
    #[serde(default)]
    pub states: Option<String>,
    /// Saving of all findings together; `None` if the report has none.
    #[serde(default)]
    pub together: Option<Together>,
}

/// Run time that the remedies of all findings together would save.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Together {
    /// Run time that the remedies of all findings together would save, in ns.
    pub saves_ns: f64,
}

/// Finding of an analyzer, with the fields that scoring needs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Code of the finding, such as `DXT-O002`.
    pub code: String,
    /// Severity: `high`, `warn` or `info`.
    pub severity: String,
    /// Description of the problem for people. The table of scores shows it; scoring ignores it, and frozen runs lack it.
    #[serde(skip_serializing)]
    pub title: String,
    /// JSON object with the facts of the finding, such as `rank`, `node`, `ost`, `operation`, `span_ns`.
    pub about: Value,
    /// Run time that the remedy of the finding would save, in ns; `None` if not known.
    pub saves_ns: Option<f64>,
    /// Lower bound of the saved run time, in ns, if it is known only as a range.
    pub saves_low_ns: Option<f64>,
    /// Upper bound of the saved run time, in ns, if it is known only as a range.
    pub saves_high_ns: Option<f64>,
}

/// Kinds of units that a finding can accuse of being slow.
pub(super) const KINDS: [&str; 3] = ["rank", "node", "ost"];

impl Finding {
    /// Returns the units of kind `kind` (`rank`, `node` or `ost`) that the finding accuses.
    pub(super) fn accused(&self, kind: &str) -> Vec<String> {
        let plural = format!("{kind}s");
        [kind, &plural].into_iter().filter_map(|key| self.about.get(key)).flat_map(names).collect()
    }

    pub(super) fn has(&self, fact: &str) -> bool {
        self.about.get(fact).is_some_and(|value| !value.is_null())
    }
}

/// Returns the names in a JSON string, number, or list of strings and numbers.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Number(number) => vec![number.to_string()],
        Value::String(name) => vec![name.clone()],
        Value::Array(list) => list.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// Runs `analyzer` on the trace `log`; returns the analyzer's findings.
pub(super) fn ask(analyzer: &Path, log: &Path, options: &[String], folder: &Path) -> anyhow::Result<Verdict> {
    let log = log.canonicalize().with_context(|| format!("failed to find {}", log.display()))?;
    // The analyzer runs in the directory `folder`, because a report may write a page to its working directory.
    let out = Command::new(analyzer)
        .args(["report", "--format", "json"])
        .args(options)
        .arg(&log)
        .current_dir(folder)
        .output()
        .with_context(|| format!("failed to run {}", analyzer.display()))?;
    let said = String::from_utf8_lossy(&out.stderr);
    ensure!(!out.stdout.is_empty(), "{} says nothing of {}: {said}", analyzer.display(), log.display());
    let of = || format!("failed to read what {} says of {}", analyzer.display(), log.display());
    read(&out.stdout).with_context(of)
}

pub(super) fn read(json: &[u8]) -> anyhow::Result<Verdict> {
    let report: Value = serde_json::from_slice(json)?;
    let verdict = report.get("verdict").context("there is no verdict")?;
    ensure!(verdict.get("findings").is_some_and(Value::is_array), "the verdict has no findings");
    Ok(serde_json::from_value(verdict.clone())?)
}
