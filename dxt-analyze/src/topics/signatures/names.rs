//! Names of operations, as written in signatures.

use super::args::Notation;
use super::views::{operation, shape};
use crate::model::{Op, Run};
use crate::shared::layer_calls::Form;
use iosig::text::Operations;
use trace_format::op::{Layer, OpClass, OpMode};

/// Suffix of the name of an operation under a strided MPI file view: in the signature, the innermost loops around the operation are then a
/// single call.
const IN_VIEW: &str = "_in_view";

/// Names of an I/O interface's operations in one notation.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// Run whose table of operations supplies the names.
    pub run: &'a Run,
    /// I/O interface of the operations, e.g. MPI-IO.
    pub layer: Layer,
    /// Notation of the names: loops or IOSIG.
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
        // Operations under different file views have one name; any of them fits.
        let all = self.run.ops.len() * (1 + self.run.shapes.len());
        (0..all.min(usize::from(u16::MAX)) as u16).filter(of_layer).find(|op| self.name(*op) == name)
    }
}

/// Converts a label to a single word for the signature grammar: `write collective` becomes `write_collective`.
fn word(label: &str, op: u16) -> String {
    let word: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_name { word } else { format!("op{op}") }
}

/// Returns the operation's name in the IOSIG paper for MPI-IO, and a similar name for other interfaces.
///
/// A trace has the offset of each call and does not distinguish `MPI_File_read` from `MPI_File_read_at`: both are named `MPI_READ_AT`.
fn iosig(op: &Op) -> String {
    let name = op.name.to_ascii_uppercase();
    match (op.layer, op.mode) {
        (Some(Layer::Mpiio), OpMode::Nonblocking) => {
            return format!("MPI_I{name}{}", if name.contains('_') { "" } else { "_AT" });
        }
        (Some(Layer::Mpiio), OpMode::Split) => return format!("MPI_{name}_BEGIN"),
        // Operations of io_submit and io_uring keep their names.
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

/// True if calls of this operation return only after their bytes have been transferred (neither nonblocking nor split).
pub(super) fn waits(run: &Run, op: u16) -> bool {
    operation(run, op).is_some_and(|op| Form::of(op.mode) != Form::Unfinished)
}

pub(super) fn writes(run: &Run, op: u16) -> bool {
    operation(run, op).is_some_and(|op| op.class == Some(OpClass::Write))
}
