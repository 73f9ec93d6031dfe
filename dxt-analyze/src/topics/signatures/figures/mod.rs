//! The three figures of the IOSIG paper, of one file: offsets over time with a colour per rank, request sizes over time, and a bar per call as high as its
//! bandwidth. They are binned while the trace is read, so that what they need does not grow with it.
//!
//! * `choice`: which file, from when until when; `pass`: the bins and, where they are few, the calls; `drawn`: what of that is drawn, `words`: what is said beside.

pub mod choice;
pub mod drawn;
pub mod pass;
mod words;

use crate::model::Run;
use crate::progress::Bar;
use crate::render::Figure;
use crate::scan::scan;
use crate::shared::totals::{Totals, with_missing};

/// The figures of a run, by two readings of their own.
#[must_use]
pub fn figures(run: &Run) -> Vec<Figure> {
    let bar = Bar::new(run.segments(), "totals");
    let (totals, _) = scan(run, &Totals, &bar);
    drop(bar);
    let Some(choice) = choice::choose(run, &with_missing(run, totals)) else { return Vec::new() };
    let bar = Bar::new(run.segments(), "figures");
    let (drawing, _) = scan(run, &pass::Drawing(&choice), &bar);
    drawn::figures(run, &choice, drawing)
}
