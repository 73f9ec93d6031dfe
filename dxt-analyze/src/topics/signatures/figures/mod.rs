//! The three figures of the IOSIG paper for one file: offsets over time with a colour per rank, request sizes over time, and a bar per
//! call with its bandwidth as height. Calls are binned while the trace is read, so that memory does not grow with the trace.
//!
//! - `choice`: file and time span.
//! - `pass`: bins, and single calls if they are few.
//! - `drawn`: figures from the bins; `words`: captions and tables.

pub mod choice;
pub mod drawn;
pub mod pass;
mod words;

use crate::model::Run;
use crate::progress::Bar;
use crate::render::Figure;
use crate::scan::scan;
use crate::shared::totals::{Totals, with_missing};

/// Returns the figures of a run. Reads the trace twice.
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
