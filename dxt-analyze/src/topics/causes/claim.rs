//! A finding and the calls that it explains.

use super::grid::Grid;
use super::replay::Savings;
use crate::findings::{Code, Finding, Severity};
use crate::model::FileId;
use crate::words::Words;
use crate::words::common::LostOn;

/// A finding and the calls that it explains.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is said.
    pub finding: Finding,
    /// By how much which calls would be shorter.
    pub savings: Savings,
    /// What the run time would be shorter by besides: time in which ranks wait, ns.
    pub waiting_ns: f64,
    /// Time of calls of MPI-IO and HDF5 outside of system calls that it explains besides, ns, summed over processes.
    pub outside_ns: f64,
    /// Whether it says why calls take as long as they do, where others of its code only tell how they are made.
    pub says_why: bool,
    /// Whether it is of calls that wait at storage targets for each other.
    pub is_load: bool,
    /// Where what it saves is not known but between two bounds: these as parts of what it says.
    pub range: Option<(f64, f64)>,
    /// How severe it is at most: what may be needful is no more than a warning, whatever it takes.
    pub at_most: Severity,
}

impl Claim {
    /// Of calls that would be shorter.
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
        }
    }

    /// Creates a claim whose words name the file with most of the lost time.
    pub(super) fn on_files(
        grid: &Grid<'_>,
        code: Code,
        savings: Savings,
        words: impl FnOnce(Option<LostOn>) -> Words,
    ) -> Self {
        let words = words(lost_on(grid, &savings));
        Self::new(Finding::new(code, words), savings)
    }
}

/// Returns the file with most of the lost time.
pub(super) fn lost_on(grid: &Grid<'_>, savings: &[(u32, f64)]) -> Option<LostOn> {
    let mut by: std::collections::BTreeMap<FileId, f64> = std::collections::BTreeMap::new();
    for (index, ns) in savings {
        if let Some(entry) = grid.entries.get(*index as usize) {
            *by.entry(entry.file).or_default() += ns;
        }
    }
    let all: f64 = by.values().sum();
    let (file, ns) = by.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let file = grid.run.file(*file)?.name.clone();
    Some(LostOn { file, percent: ns * 100.0 / all.max(1.0), files: by.len() as u64 })
}
