//! The first finding against the truth: simulated jobs with one injected fault or more, whose cause and cost are known, and jobs
//! with none. The short form; scripts/verdicts.sh runs all, and real programs too.

use dxt_synth::faults::{Choice, Score, Totals, scores, table, write};
use std::path::Path;

/// What must not get worse. Raise these when verdicts get better.
mod at_least {
    /// Of the jobs with a fault, those whose first finding is the strongest fault.
    pub(super) const FIRST_RIGHT: usize = 26;
    /// Those that have it among the first three.
    pub(super) const IN_THREE: usize = 26;
    /// Faults besides the strongest that are found at all.
    pub(super) const FURTHER_FOUND: usize = 3;
    /// Healthy jobs with nothing above `info`.
    pub(super) const QUIET: usize = 7;
    /// Right findings whose savings are within a factor of 2 of the truth.
    pub(super) const PROMISED_WELL: usize = 26;
    /// Right findings with the severity that the loss has.
    pub(super) const SEVERITY_FITS: usize = 26;
}

/// Cases with a `high` finding that names no fault of the case.
const MISLEADING: usize = 0;

#[test]
fn the_first_finding_is_the_injected_fault() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let truths = write(folder.path(), &Choice { short: true, only: None, ..Choice::default() }).expect("logs");
    let analyzer = Path::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let scores: Vec<Score> = scores(analyzer, folder.path(), &truths).expect("a verdict on each log");
    let totals = Totals::of(&scores);
    let bounds = [
        ("first finding right", totals.first_right, at_least::FIRST_RIGHT),
        ("in the first three", totals.in_three, at_least::IN_THREE),
        ("further faults found", totals.further_found, at_least::FURTHER_FOUND),
        ("healthy and quiet", totals.quiet, at_least::QUIET),
        ("savings within 2 x", totals.promised_well, at_least::PROMISED_WELL),
        ("severity right", totals.severity_fits, at_least::SEVERITY_FITS),
    ];
    for (what, is, bound) in bounds {
        assert!(is >= bound, "{what}: {is}, not {bound} or more\n{}", table(&scores));
    }
    assert_eq!(totals.misleading, MISLEADING, "misleading\n{}", table(&scores));
}
