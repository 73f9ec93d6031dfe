//! Claims: a claim is a finding together with the calls that it explains and the time that it would save.

use crate::cube::{Cell, Cube};
use crate::findings::{Code, Finding, Saving, Severity};
use crate::hypotheses::{Basis, Hypothesis};
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
    /// Origin of the savings.
    pub basis: Basis,
    /// True if the finding explains why its calls are long; false if it only describes how they are made. (A code can have findings of both
    /// kinds.)
    pub says_why: bool,
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
            basis: Hypothesis::of(finding.code).basis,
            finding,
            savings,
            waiting_ns: 0.0,
            outside_ns: 0.0,
            says_why: false,
            range: None,
            at_most: Severity::High,
            alone: None,
        }
    }

    /// Returns the run time saved, ns; 0 without a price.
    #[must_use]
    pub fn saves_ns(&self) -> u64 {
        self.finding.saving.map_or(0, |saving| saving.saves_ns)
    }

    /// True if the saving is large enough for a finding of its own.
    #[must_use]
    pub fn is_worth(&self, cube: &Cube<'_>) -> bool {
        self.saves_ns() as f64 >= cube.run.length_ns() as f64 * cube.run.thresholds.least_run_share
    }

    /// Limits the savings of a claim that promises another form of I/O to the usual part of each cell's time: the time less `excess`, ns, by cell.
    pub(super) fn leave(&mut self, cube: &Cube<'_>, excess: &[f64]) {
        for (index, ns) in self.savings.iter_mut().filter(|_| self.basis == Basis::Form) {
            let time = cube.cells.get(*index as usize).map_or(0.0, Cell::time_ns);
            let excess = excess.get(*index as usize).copied().unwrap_or_default();
            *ns *= (1.0 - excess / time.max(1.0)).max(0.0);
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

/// Returns the excess of calls over their peers that claims explain, by cell, ns.
pub(crate) fn excess<'c>(cube: &Cube<'_>, claims: impl IntoIterator<Item = &'c Claim>) -> Vec<f64> {
    let mut out = vec![0.0; cube.cells.len()];
    for (index, ns) in claims.into_iter().filter(|claim| claim.basis == Basis::Excess).flat_map(|claim| &claim.savings)
    {
        if let Some(of) = out.get_mut(*index as usize) {
            *of += ns;
        }
    }
    out
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
