//! What is true of a case, and what a finding must say to be right about it. Both travel in the manifest.

use serde::{Deserialize, Serialize};

/// A log and what is true of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    /// Name of the case; the log is `NAME.dxt`, or what `log` says.
    pub name: String,
    /// File or directory of the trace, from the manifest on.
    pub log: String,
    /// Whether it belongs to the short form.
    pub short: bool,
    /// Whether the trace shows barriers.
    pub barriers: bool,
    /// Options that the analyzer needs to know what the log cannot say.
    #[serde(default)]
    pub options: Vec<String>,
    /// Time of the run, in ns.
    pub run_ns: u64,
    /// Time of the run less that of the twin without any fault, in ns.
    pub truth_ns: u64,
    /// Faults, the one that costs most first; none in a healthy log.
    pub faults: Vec<Injected>,
}

/// A fault in a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Injected {
    /// What it is, in words.
    pub cause: String,
    /// Time of the run less that of the same run without this fault, in ns.
    pub truth_ns: u64,
    /// Findings that name the cause: any of these.
    pub right: Vec<Right>,
}

/// One way to be right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Right {
    /// Of each list, one must stand in the finding's code or title (lower case).
    pub words: Vec<Vec<String>>,
    /// None of these may.
    pub never: Vec<String>,
    /// The unit that it is about.
    pub unit: Named,
}

/// Whom a finding may accuse.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// No rank, node or OST.
    Nobody,
    /// One of these.
    Must(Unit),
    /// One of these, or none of their kind.
    May(Unit),
}

/// Ranks, nodes or OSTs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// `rank`, `node` or `ost`.
    pub kind: String,
    /// Their numbers or names.
    pub of: Vec<String>,
}

impl Right {
    /// A finding with one word of each list that accuses nobody.
    #[must_use]
    pub fn words(words: &[&[&str]]) -> Self {
        let owned = |list: &&[&str]| list.iter().map(|word| (*word).to_owned()).collect();
        Self { words: words.iter().map(owned).collect(), never: Vec::new(), unit: Named::Nobody }
    }

    /// The same without these words.
    #[must_use]
    pub fn never(mut self, words: &[&str]) -> Self {
        self.never.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    /// The same about one of these units.
    #[must_use]
    pub fn about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::Must(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }

    /// The same about one of these units or none of their kind.
    #[must_use]
    pub fn or_about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::May(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }
}
