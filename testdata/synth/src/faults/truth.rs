//! Truth of a case, and the content of right findings. Both are stored in the manifest.

use serde::{Deserialize, Serialize};

/// Log with its truth.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    /// Name of the case; the log is `NAME.dxt`, unless `log` differs.
    pub name: String,
    /// File or directory of the trace, relative to the manifest.
    pub log: String,
    /// True if in the short form.
    pub short: bool,
    /// True if the trace shows barriers.
    pub barriers: bool,
    /// Options that give the analyzer information missing from the log.
    #[serde(default)]
    pub options: Vec<String>,
    /// Run time, in ns.
    pub run_ns: u64,
    /// Run time minus that of the twin without any fault, in ns.
    pub truth_ns: u64,
    /// Faults in order of cost, largest first; empty for a healthy log.
    pub faults: Vec<Injected>,
}

/// Fault in a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Injected {
    /// Description of the fault.
    pub cause: String,
    /// Run time minus that of the same run without this fault, in ns.
    pub truth_ns: u64,
    /// Alternatives of right findings.
    pub right: Vec<Right>,
}

/// Criterion of a right finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Right {
    /// Word lists: at least one word of each list must occur in the finding's code or title (lower case).
    pub words: Vec<Vec<String>>,
    /// Words that must not occur.
    pub never: Vec<String>,
    /// Unit that the finding must or may accuse.
    pub unit: Named,
}

/// Units that a finding may accuse.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// No rank, node or OST.
    Nobody,
    /// Exactly these units: at least one of them, and no other.
    Must(Unit),
    /// These units, or none of their kind.
    May(Unit),
}

/// Set of ranks, nodes or OSTs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// `rank`, `node` or `ost`.
    pub kind: String,
    /// Numbers or names of the units.
    pub of: Vec<String>,
}

impl Right {
    /// Returns a criterion with one word of each list and no accused unit.
    #[must_use]
    pub fn words(words: &[&[&str]]) -> Self {
        let owned = |list: &&[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Self { words: words.iter().map(owned).collect(), never: Vec::new(), unit: Named::Nobody }
    }

    /// Adds words that must not occur.
    #[must_use]
    pub fn never(mut self, words: &[&str]) -> Self {
        self.never.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// Requires one of these units.
    #[must_use]
    pub fn about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::Must(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }

    /// Requires one of these units or none of their kind.
    #[must_use]
    pub fn or_about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::May(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }
}
