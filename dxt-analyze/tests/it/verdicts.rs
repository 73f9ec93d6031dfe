//! Test that a report's first finding is right, on simulated jobs with injected faults of known cause and cost, and on healthy jobs. Uses
//! the short list of cases; scripts/verdicts.sh runs all cases, and real programs.

use dxt_synth::faults::{Choice, Score, Totals, scores, table, write};
use std::path::Path;

/// Lower bounds of the analyzer's scores; raise them when verdicts improve.
mod at_least {
    /// Minimum number of faulty jobs whose first finding names the strongest fault.
    pub(super) const FIRST_RIGHT: usize = 27;
    /// Minimum number of faulty jobs of which one of the first three findings names the strongest fault.
    pub(super) const IN_THREE: usize = 27;
    /// Minimum number of further faults (other than the strongest of a job) that any finding names.
    pub(super) const FURTHER_FOUND: usize = 3;
    /// Minimum number of healthy jobs (without faults) that get no finding above severity `info`.
    pub(super) const QUIET: usize = 7;
    /// Minimum number of findings on the strongest fault whose promised saving is within a factor of 2 of the fault's true cost.
    pub(super) const PROMISED_WELL: usize = 27;
    /// Minimum number of findings on the strongest fault whose severity fits the time lost to it.
    pub(super) const SEVERITY_FITS: usize = 27;
}

/// Upper bound of the number of cases with a `high` finding that names no fault of the case.
const MISLEADING: usize = 0;

/// The simulator judges by code: a code that the analyzer does not have would be a criterion that no finding meets.
#[test]
fn the_simulator_knows_only_codes_that_exist() {
    let known: Vec<&str> = dxt_analyze::topics::codes().iter().map(|code| code.name()).collect();
    let unknown: Vec<&&str> = dxt_synth::faults::CODES.iter().filter(|code| !known.contains(code)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn the_first_finding_is_the_injected_fault() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let truths = write(folder.path(), &Choice { short: true, only: None, ..Choice::default() }).expect("logs");
    let analyzer = Path::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let scores: Vec<Score> = scores(analyzer, folder.path(), &truths, &[]).expect("a verdict on each log");
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
