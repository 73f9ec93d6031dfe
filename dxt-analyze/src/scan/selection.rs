//! Checks that a selection leaves something of a run: options that each match something may match nothing in combination.

use super::{Lost, Reader};
use crate::exit::UsageError;
use crate::model::{ProcessId, Run, StreamIx};
use rayon::prelude::*;

/// Returns true if the selection of `run` contains a call or a counter. With a time window, blocks are decoded until the first selected
/// call is found; otherwise no block is decoded.
#[must_use]
pub fn has_any(run: &Run) -> bool {
    let sums = run.processes.iter().any(|process| {
        !(process.missing.is_empty()
            && process.met.is_empty()
            && process.profiles.is_empty()
            && process.whole.is_empty()
            && process.heat.is_empty())
    });
    let with_some = run
        .numbered_processes()
        .filter(|(_, process)| !process.blocks.is_empty() && process.streams.iter().any(|stream| stream.chosen));
    if sums || run.window.is_none() {
        return sums || with_some.count() > 0;
    }
    let blocks: Vec<(ProcessId, u32)> = with_some
        .flat_map(|(number, process)| (0..process.blocks.len() as u32).map(move |block| (number, block)))
        .collect();
    let in_it = |reader: &mut Reader, (number, block)| {
        let mut lost = Lost::default();
        // A block that cannot be decoded may contain a selected call.
        reader
            .block(run, number, block, &mut lost)
            .is_none_or(|block| block.streams.iter().any(|stream| *stream != StreamIx::LEFT_OUT))
    };
    blocks.into_par_iter().map_init(Reader::default, in_it).any(|is_in| is_in)
}

/// Checks that the selection of `run` is not empty.
///
/// # Errors
/// Fails with the names of the options whose combination selects nothing.
pub fn check(run: &Run) -> Result<(), UsageError> {
    if run.selection.is_empty() || has_any(run) {
        return Ok(());
    }
    let words: Vec<String> = run.selection.iter().map(|(name, value)| format!("{name} {value}")).collect();
    Err(UsageError(match words.as_slice() {
        [one] => format!("{one} selects no calls"),
        several => format!("{} together select no calls, although each of them alone selects some", several.join(" ")),
    }))
}
