//! The three figures of the IOSIG paper for one file: offsets over time with a colour per rank; request sizes over time; and one bar per
//! call, whose height is the call's bandwidth. Calls are binned while the trace is read, so that memory does not grow with the trace.
//!
//! - `choice`: choice of the file, the calls and the time span.
//! - `pass`: binning of calls; stores single calls if there are few.
//! - `drawing`: drawing of the figures; `words`: captions and tables.

pub mod choice;
pub mod drawing;
pub mod pass;
mod words;

use crate::model::Run;
use crate::progress::Bar;
use crate::render::Figure;
use crate::scan::scan;
use crate::shared::totals::{Totals, with_missing};

/// Returns the figures for the file with most bytes. Reads the trace twice.
#[must_use]
pub fn figures(run: &Run) -> Vec<Figure> {
    let bar = Bar::new(run.segments(), "totals");
    let (totals, _) = scan(run, &Totals, &bar);
    drop(bar);
    let Some(choice) = choice::choose(run, &with_missing(run, totals)) else { return Vec::new() };
    let bar = Bar::new(run.segments(), "figures");
    let (drawing, _) = scan(run, &pass::Drawing(&choice), &bar);
    drawing::figures(run, &choice, drawing)
}
