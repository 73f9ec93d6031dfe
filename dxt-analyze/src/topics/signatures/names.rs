//! What operations are called in signatures.

use super::args::Notation;
use super::engine::print::Operations;
use super::views::{operation, shape};
use crate::model::{Op, Run};
use crate::topics::layers::parts::Form;
use trace_format::op::{Layer, OpClass, OpMode};

/// Ends the name of an operation under a strided file view: the innermost loops around it are one call.
const IN_VIEW: &str = "_in_view";

/// The operations of one interface of a run, in a notation.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Whose table of operations it is.
    pub run: &'a Run,
    /// The interface.
    pub layer: Layer,
    /// How they are called.
    pub notation: Notation,
}

impl Operations for Names<'_> {
    fn name(&self, op: u16) -> String {
        let known = operation(self.run, op);
        known.map_or_else(
            || format!("op{op}"),
            |known| match self.notation {
                Notation::Loops if shape(self.run, op).is_some() => word(&known.label(), op) + IN_VIEW,
                Notation::Loops => word(&known.label(), op),
                Notation::Iosig => iosig(known),
            },
        )
    }

    fn number(&self, name: &str) -> Option<u16> {
        let of_layer = |op: &u16| operation(self.run, *op).is_some_and(|op| op.layer == Some(self.layer));
        // Of several views, any: they have one name.
        let all = self.run.ops.len() * (1 + self.run.shapes.len());
        (0..all.min(usize::from(u16::MAX)) as u16).filter(of_layer).find(|op| self.name(*op) == name)
    }
}

/// A label as one word of the grammar: `write collective` is `write_collective`.
fn word(label: &str, op: u16) -> String {
    let word: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_name { word } else { format!("op{op}") }
}

/// The paper's names for MPI-IO, and names in their manner for the others. A trace has the offset of each call and does not tell `MPI_File_read`
/// from `MPI_File_read_at`: both are `MPI_READ_AT`.
fn iosig(op: &Op) -> String {
    let name = op.name.to_ascii_uppercase();
    match (op.layer, op.mode) {
        (Some(Layer::Mpiio), OpMode::Nonblocking) => {
            return format!("MPI_I{name}{}", if name.contains('_') { "" } else { "_AT" });
        }
        (Some(Layer::Mpiio), OpMode::Split) => return format!("MPI_{name}_BEGIN"),
        // io_submit and io_uring have their names.
        (Some(Layer::Posix), OpMode::Nonblocking) if !name.contains('_') => return format!("POSIX_AIO_{name}"),
        _ => {}
    }
    let form = match (op.layer, op.mode) {
        (Some(Layer::Mpiio), OpMode::Plain) => "_AT",
        (Some(Layer::Posix), OpMode::Vectored) => "V",
        (_, OpMode::Vectored) => "_MULTI",
        (_, OpMode::Collective) => "_ALL",
        (_, OpMode::Shared) => "_SHARED",
        (_, OpMode::Ordered) => "_ORDERED",
        _ => "",
    };
    match op.layer {
        Some(Layer::Mpiio) => format!("MPI_{name}{form}"),
        Some(Layer::Stdio) => format!("STDIO_F{name}"),
        _ => format!("{}_{name}{form}", op.layer_name()),
    }
}

/// Whether a call of an operation ends when its bytes are there: the program waits for it.
pub(super) fn waits(run: &Run, op: u16) -> bool {
    operation(run, op).is_some_and(|op| Form::of(op.mode) != Form::Unfinished)
}

/// Whether an operation writes.
pub(super) fn writes(run: &Run, op: u16) -> bool {
    operation(run, op).is_some_and(|op| op.class == Some(OpClass::Write))
}
