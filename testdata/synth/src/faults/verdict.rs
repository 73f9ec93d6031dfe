//! Findings of an analyzer on a trace, read from `dxt-analyze report --format json`, with the ranks, nodes or OSTs that each accuses.

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Findings of an analyzer on one trace.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Verdict {
    /// Findings in the order of the analyzer's report.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Finding of an analyzer, with the fields used for scoring.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Code of the finding, such as `DXT-O002`.
    pub code: String,
    /// Severity: `high`, `warn` or `info`.
    pub severity: String,
    /// Description of the problem.
    pub title: String,
    /// JSON object with the units that the finding is about, by kind: `rank`, `node`, `ost`, `file`, ...
    pub about: Value,
    /// Run time that the remedy would save, in ns.
    pub saves_ns: Option<f64>,
}

/// Kinds of units that scoring regards as accused.
pub(super) const KINDS: [&str; 3] = ["rank", "node", "ost"];

impl Finding {
    /// Returns the ranks, nodes or OSTs (`kind`) that the finding accuses: those in `about`, else those named in the title.
    pub(super) fn accused(&self, kind: &str) -> Vec<String> {
        let plural = format!("{kind}s");
        let about =
            [kind, &plural].into_iter().filter_map(|key| self.about.get(key)).flat_map(names).collect::<Vec<_>>();
        if about.is_empty() { self.in_title(kind) } else { about }
    }

    /// Returns the names in the title: the word after `kind`, if it ends in a digit, as in `rank 5`, `OST 3`, `node node0001`.
    fn in_title(&self, kind: &str) -> Vec<String> {
        let title = self.title.to_lowercase();
        let words: Vec<&str> = title.split(|c: char| c.is_whitespace() || ",;:()".contains(c)).collect();
        let after = words.windows(2).filter(|pair| pair[0] == kind).map(|pair| pair[1]);
        after.filter(|word| word.ends_with(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
    }
}

/// Returns a JSON name, number, or list of these as a list of names.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Number(number) => vec![number.to_string()],
        Value::String(name) => vec![name.clone()],
        Value::Array(list) => list.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// Runs `analyzer` on the trace `log`; returns its findings.
pub(super) fn ask(analyzer: &Path, log: &Path, options: &[String], folder: &Path) -> anyhow::Result<Verdict> {
    let log = log.canonicalize().with_context(|| format!("failed to find {}", log.display()))?;
    // Directory of the page that a report may write.
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

/// Parses an analyzer's JSON report.
pub(super) fn read(json: &[u8]) -> anyhow::Result<Verdict> {
    let report: Value = serde_json::from_slice(json)?;
    let verdict = report.get("verdict").context("there is no verdict")?;
    ensure!(verdict.get("findings").is_some_and(Value::is_array), "the verdict has no findings");
    Ok(serde_json::from_value(verdict.clone())?)
}
