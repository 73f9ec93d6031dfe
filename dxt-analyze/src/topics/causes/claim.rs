//! Claims: a claim is a finding together with the calls that it explains and the time that it would save.

use crate::cube::Cube;
use crate::findings::{Code, Finding, Saving, Severity};
use crate::model::FileId;
use crate::replay::Savings;
use crate::words::Words;
use crate::words::common::LostOn;

/// Claim: a finding, the calls that it explains, and the time saved without their cause.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The finding. Its saving and severity are set last, by [`super::price::price`].
    pub finding: Finding,
    /// Time saved per cell (calls of one process, time window, stream and size), ns.
    pub savings: Savings,
    /// Run time saved in waits of other ranks, in addition to `savings`, ns.
    pub waiting_ns: f64,
    /// Time in MPI-IO and HDF5 calls that the finding explains, without the system calls inside them, ns, summed over processes.
    pub outside_ns: f64,
    /// True if the finding explains why its calls are long; false if it only describes how they are made. (A code can have findings of both
    /// kinds.)
    pub says_why: bool,
    /// True if the cause is load: calls wait for each other at storage targets.
    pub is_load: bool,
    /// Lower and upper bound of an uncertain saving, as factors of the saving.
    pub range: Option<(f64, f64)>,
    /// Upper bound of the finding's severity: `Warn` if the program may need the calls.
    pub at_most: Severity,
    /// Severity and saving of the finding if only its cause were fixed; `None` until they are computed.
    pub alone: Option<(Severity, Option<Saving>)>,
}

impl Claim {
    /// Creates a claim from a finding and the time saved per cell (group of similar calls of a process); other fields get their defaults.
    #[must_use]
    pub fn new(finding: Finding, savings: Savings) -> Self {
        Self {
            finding,
            savings,
            waiting_ns: 0.0,
            outside_ns: 0.0,
            says_why: false,
            is_load: false,
            range: None,
            at_most: Severity::High,
            alone: None,
        }
    }

    /// Creates a claim (finding with its saving) whose sentence names the file with most of the time saved.
    pub(super) fn on_files(
        cube: &Cube<'_>,
        code: Code,
        savings: Savings,
        words: impl FnOnce(Option<LostOn>) -> Words,
    ) -> Self {
        let words = words(lost_on(cube, &savings));
        Self::new(Finding::new(code, words), savings)
    }
}

/// Returns the file with most of the time saved, and its share of that time, %; `None` if `savings` has no file.
pub(super) fn lost_on(cube: &Cube<'_>, savings: &[(u32, f64)]) -> Option<LostOn> {
    let mut by: std::collections::BTreeMap<FileId, f64> = std::collections::BTreeMap::new();
    for (index, ns) in savings {
        if let Some(cell) = cube.cells.get(*index as usize) {
            *by.entry(cell.file).or_default() += ns;
        }
    }
    let all: f64 = by.values().sum();
    let (file, ns) = by.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let file = cube.run.file(*file)?.name.clone();
    Some(LostOn { file, percent: ns * 100.0 / all.max(1.0), files: by.len() as u64 })
}
