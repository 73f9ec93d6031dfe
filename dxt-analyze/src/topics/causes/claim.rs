//! A finding and the calls that it explains.

use crate::cube::Cube;
use crate::findings::{Code, Finding, Saving, Severity};
use crate::model::FileId;
use crate::replay::Savings;
use crate::words::Words;
use crate::words::common::LostOn;

/// A finding and the calls that it explains.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Finding; [`super::price::price`] sets its saving and severity.
    pub finding: Finding,
    /// Saving per cell, ns.
    pub savings: Savings,
    /// Run time saved besides, in waits of ranks, ns.
    pub waiting_ns: f64,
    /// Explained time of MPI-IO and HDF5 calls outside of system calls, ns, summed over processes.
    pub outside_ns: f64,
    /// True if the finding explains why calls are long, while others of its code only describe how calls are made.
    pub says_why: bool,
    /// True if the calls wait for each other at storage targets.
    pub is_load: bool,
    /// Bounds of an uncertain saving, as parts of it: low, high.
    pub range: Option<(f64, f64)>,
    /// Upper bound of the severity: `Warn` if the calls may be necessary.
    pub at_most: Severity,
    /// Severity and saving of the finding if no other is fixed before, once known.
    pub alone: Option<(Severity, Option<Saving>)>,
}

impl Claim {
    /// Makes a claim about calls that would be shorter.
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

    /// Creates a claim whose words name the file with most of the lost time.
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

/// Returns the file with most of the lost time.
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
