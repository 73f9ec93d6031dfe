//! True faults of a case (simulated job) with their costs, and criteria for right findings. Both are stored in the manifest of the traces.

use serde::{Deserialize, Serialize};

/// Trace of a case (simulated job), with the true faults and their costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    /// Name of the case (simulated job); the trace is `NAME.dxt` unless `log` states another path.
    pub name: String,
    /// Path of the trace (a file or directory), relative to the manifest.
    pub log: String,
    /// True if the case (simulated job) is on the short list of cases (option `--short`).
    pub short: bool,
    /// True if the trace records the job's barriers.
    pub barriers: bool,
    /// Command-line options with which the analyzer gets information that the trace lacks.
    #[serde(default)]
    pub options: Vec<String>,
    /// Run time of the faulty job, in ns.
    pub run_ns: u64,
    /// True cost of all faults together, in ns: run time of the faulty job minus run time of the fault-free twin.
    pub truth_ns: u64,
    /// Faults of the case, largest cost first; empty for a healthy case.
    pub faults: Vec<Injected>,
}

/// Fault injected into a simulated job, with its cost and the findings that name it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Injected {
    /// Description of the fault in words.
    pub cause: String,
    /// True cost of the fault, in ns: run time of the faulty job minus run time of the same job without this fault.
    pub truth_ns: u64,
    /// Criteria by which a finding counts as naming the fault; it must meet one of them.
    pub right: Vec<Right>,
}

impl Injected {
    /// Returns the description of the fault with numbers rounded to four digits, because the last digits of a drawn number depend on the
    /// processor.
    pub(super) fn rounded(&self) -> String {
        let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), |number: f64| format!("{number:.3e}"));
        self.cause.split(' ').map(word).collect::<Vec<String>>().join(" ")
    }
}

/// Criterion for findings that name a fault, by code and facts; titles do not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Right {
    /// Codes of findings that name the fault, most likely code first.
    pub codes: Vec<String>,
    /// Word that the finding's fact `operation` must contain, such as `read`. Findings that state no operation are accepted.
    pub operation: Option<String>,
    /// Names of facts that the finding must state to count as right.
    pub has: Vec<String>,
    /// Names of facts that the finding must not state to count as right.
    pub lacks: Vec<String>,
    /// Ranks, nodes or OSTs that the finding must or may accuse of being slow.
    pub unit: Named,
}

/// Rule on the ranks, nodes or OSTs that a finding accuses.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// The finding must accuse no rank, node or OST.
    Nobody,
    /// The finding must accuse at least one of the given units, and no other unit of their kind.
    Must(Unit),
    /// The finding may accuse the given units, but no other unit of their kind.
    May(Unit),
}

/// Set of units (ranks, nodes or OSTs) that a finding may accuse of being slow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// Kind of the accused units: `rank`, `node` or `ost`.
    pub kind: String,
    /// Numbers or names of the ranks, nodes or OSTs in the set.
    pub of: Vec<String>,
}

impl Right {
    /// Creates a criterion that requires one of `codes` and that the finding accuses no rank, node or OST.
    #[must_use]
    pub fn codes(codes: &[&str]) -> Self {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        Self { codes, operation: None, has: Vec::new(), lacks: Vec::new(), unit: Named::Nobody }
    }

    /// Rejects findings that state an operation without the word `operation`.
    #[must_use]
    pub fn of(mut self, operation: &str) -> Self {
        self.operation = Some(operation.into());
        self
    }

    /// Requires that the finding has the fact `fact`.
    #[must_use]
    pub fn with(mut self, fact: &str) -> Self {
        self.has.push(fact.into());
        self
    }

    /// Requires that the finding does not have the fact `fact`.
    #[must_use]
    pub fn without(mut self, fact: &str) -> Self {
        self.lacks.push(fact.into());
        self
    }

    /// Requires that the finding accuses one of the ranks, nodes or OSTs (`kind`) in `of`, and no other.
    #[must_use]
    pub fn about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::Must(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }

    /// Permits that the finding accuses ranks, nodes or OSTs (`kind`) in `of`, but no others of that kind.
    #[must_use]
    pub fn or_about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::May(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }
}
