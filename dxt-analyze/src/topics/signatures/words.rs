//! Formatting of signatures, file names and numbers for the output.

use super::args::{Notation, Options};
use super::axes::Axes;
use super::names::Names;
use super::views::unrolled;
use crate::model::{FileId, Run};
use iosig::text::print_nest;
use iosig::{Loop, notation};
use trace_format::op::Layer;

/// Converts a number to `u64`; saturates at the maximum.
pub(super) fn small(bytes: u128) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Returns the name of the file with index `file`; `?` if unknown.
pub(super) fn file(run: &Run, file: FileId) -> String {
    run.file(file).map_or_else(|| "?".into(), |file| file.name.clone())
}

/// Formats a pattern as text, in the notation that `options` selects.
pub(super) fn written(run: &Run, layer: Layer, nest: &Loop, file: &str, options: &Options) -> String {
    let nest = &unrolled(run, nest);
    let operations = Names { run, layer, notation: options.notation };
    match options.notation {
        Notation::Loops => print_nest(nest, &operations),
        Notation::Iosig => notation::Notation { operations: &operations, file, limit: options.tolerance }.nest(nest),
    }
}

/// Formats accesses without a pattern as text; the text is empty in loop notation.
pub(super) fn unknown(axes: &Axes, options: &Options) -> String {
    match options.notation {
        Notation::Loops => String::new(),
        Notation::Iosig => axes.pattern_signature.clone(),
    }
}

/// Returns the text of a signature for a table cell; for an empty signature, `no pattern` or the pattern's name in IOSIG's notation.
pub(super) fn shown<'a>(signature: &'a str, axes: &'a Axes) -> &'a str {
    match signature {
        "" if axes.spatial == "random" => "no pattern",
        "" => &axes.pattern_signature,
        _ => signature,
    }
}
