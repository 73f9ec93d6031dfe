//! True faults of a case with their costs, and criteria for right findings. Both are stored in the manifest of the traces.

use serde::{Deserialize, Serialize};

/// Trace of a case, with its true faults and their costs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truth {
    /// Name of the case. The trace is `NAME.dxt`, unless `log` differs.
    pub name: String,
    /// Path of the trace (a file or directory), relative to the manifest.
    pub log: String,
    /// True if the case belongs to the short list of cases.
    pub short: bool,
    /// True if the trace records the job's barriers.
    pub barriers: bool,
    /// Command-line options that give the analyzer information which the trace lacks.
    #[serde(default)]
    pub options: Vec<String>,
    /// Run time of the faulty job, in ns.
    pub run_ns: u64,
    /// True cost of all faults: run time minus that of the fault-free twin, in ns.
    pub truth_ns: u64,
    /// Faults in order of cost, largest first; empty for a healthy case.
    pub faults: Vec<Injected>,
}

/// Fault injected into a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Injected {
    /// Description of the fault.
    pub cause: String,
    /// True cost of the fault: run time minus that of the same job without this fault, in ns.
    pub truth_ns: u64,
    /// Criteria for a right finding; one of them must be met.
    pub right: Vec<Right>,
}

impl Injected {
    /// Returns the cause with its numbers rounded to four digits: the last digits of a drawn number depend on the processor.
    pub(super) fn rounded(&self) -> String {
        let word = |word: &str| word.parse().map_or_else(|_| word.to_owned(), |number: f64| format!("{number:.3e}"));
        self.cause.split(' ').map(word).collect::<Vec<String>>().join(" ")
    }
}

/// Criterion by which a finding counts as naming a fault: code and facts. Titles do not count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Right {
    /// Codes of right findings, the most likely first.
    pub codes: Vec<String>,
    /// Word in the fact `operation`, such as `read`. A finding that states no operation is accepted.
    pub operation: Option<String>,
    /// Names of facts that the finding must have.
    pub has: Vec<String>,
    /// Names of facts that the finding must not have.
    pub lacks: Vec<String>,
    /// Rank, node or OST that the finding must or may accuse.
    pub unit: Named,
}

/// Rule on the ranks, nodes or OSTs that a finding accuses.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// The finding must accuse no rank, node or OST.
    Nobody,
    /// The finding must accuse at least one of these units, and no other of their kind.
    Must(Unit),
    /// The finding may accuse these units, but no other of their kind.
    May(Unit),
}

/// Set of ranks, nodes or OSTs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unit {
    /// `rank`, `node` or `ost`.
    pub kind: String,
    /// Numbers or names of the ranks, nodes or OSTs.
    pub of: Vec<String>,
}

impl Right {
    /// Returns a criterion that requires one of these codes, and that no rank, node or OST is accused.
    #[must_use]
    pub fn codes(codes: &[&str]) -> Self {
        let codes = codes.iter().map(|code| (*code).to_owned()).collect();
        Self { codes, operation: None, has: Vec::new(), lacks: Vec::new(), unit: Named::Nobody }
    }

    /// Rejects findings that state an operation without this word in its name.
    #[must_use]
    pub fn of(mut self, operation: &str) -> Self {
        self.operation = Some(operation.into());
        self
    }

    /// Requires that the finding has this fact.
    #[must_use]
    pub fn with(mut self, fact: &str) -> Self {
        self.has.push(fact.into());
        self
    }

    /// Requires that the finding does not have this fact.
    #[must_use]
    pub fn without(mut self, fact: &str) -> Self {
        self.lacks.push(fact.into());
        self
    }

    /// Requires that the finding accuses one of these ranks, nodes or OSTs.
    #[must_use]
    pub fn about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::Must(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }

    /// Permits that the finding accuses one of these ranks, nodes or OSTs, but no other of their kind.
    #[must_use]
    pub fn or_about(mut self, kind: &str, of: &[String]) -> Self {
        self.unit = Named::May(Unit { kind: kind.into(), of: of.to_vec() });
        self
    }
}
