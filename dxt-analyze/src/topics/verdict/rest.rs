//! Time in calls that no finding explains: what remains after all findings of the verdict.

use super::result::Rest;
use super::severity::saves;
use super::weigh::Card;
use crate::findings::{About, Code, Explains, Finding, Saving};
use crate::hypotheses::{Counterfactual, Explained, Hypothesis};
use crate::model::class::CLASSES;
use crate::topics::Whole;
use crate::words;

/// Returns the share of the time in calls that no finding explains, and its largest part; `None` without time in calls. `left`: unexplained
/// time by cell (similar calls of one process), ns; `cards`: findings of the verdict.
pub(super) fn rest(whole: &Whole<'_>, left: &[f64], cards: &[Card]) -> Option<Rest> {
    let (cube, ledger) = (&whole.causes.cube, &whole.ledger.result);
    let (io_ns, processes) = (ledger.job.io_ns() as f64, ledger.processes as f64);
    // Time of MPI-IO and HDF5 outside of system calls belongs to no cell, and neither do waits.
    let is_outside = |of: Hypothesis| {
        matches!(of.explains, Explained::Library | Explained::Both)
            || of.instead.is_some_and(|(_, instead)| instead == Counterfactual::Waiting)
    };
    let outside = cards.iter().any(|card| is_outside(Hypothesis::of(card.finding.code)));
    let library_ns = if outside { 0.0 } else { super::outside::neither(whole) * processes };
    let waits = cards.iter().filter(|card| Hypothesis::of(card.finding.code).explains == Explained::Waits);
    let waits = waits.map(|card| saves(&card.finding));
    let waits_ns = waits.sum::<u64>() as f64 * processes;
    let leaf = || cube.cells.iter().zip(left).filter(|(cell, _)| cell.leaf);
    let all = leaf().map(|(cell, _)| cell.sums.time_ns as f64).sum::<f64>().max(io_ns);
    if all <= 0.0 {
        return None;
    }
    let by_class = CLASSES
        .map(|class| (class, leaf().filter(|(cell, _)| cell.class == class).map(|(_, left)| *left).sum::<f64>()));
    let (class, most) = by_class.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let sum: f64 = by_class.iter().map(|(_, ns)| ns).sum::<f64>() + library_ns;
    let (largest, most) = if library_ns > most {
        ("MPI-IO and HDF5 outside of system calls", library_ns)
    } else {
        (class.plural(), most)
    };
    let (sum, most) = ((sum - waits_ns).max(0.0), (most - waits_ns).max(0.0));
    Some(Rest { share: (sum / all).min(1.0), largest: largest.into(), largest_share: most / all })
}

/// Creates a finding about the class of calls with most unexplained time.
pub(super) fn uncovered(rest: &Rest) -> Finding {
    Finding {
        about: About { operation: Some(rest.largest.clone()), ..About::default() },
        saving: Some(Saving {
            saves_ns: 0,
            saves_low_ns: None,
            saves_high_ns: None,
            explains: Explains { time_ns: 0, millionths: 0 },
        }),
        ..Finding::new(Code::UNCOVERED, words::verdict::uncovered(&rest.largest, rest.largest_share))
    }
}
