//! What a stream's calls are to the ordered pass.

use crate::model::{Run, Stream};
use trace_format::op::{Layer, OpClass, OpMode};

/// Calls of MPI-IO, by what is known of the reads beneath them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Read,
    Write,
    CollectiveRead,
    CollectiveWrite,
    /// Its reads beneath belong to no call alone.
    Other,
}

/// What a stream's calls are to this pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    None,
    Data {
        writes: bool,
        requests: bool,
        nested: bool,
        /// Whether another tool has counted how these followed each other.
        told: bool,
    },
    Sync,
    /// The file gets another content or another name.
    Replace,
    Caller(Caller),
}

impl Role {
    pub(super) fn of(run: &Run, stream: &Stream) -> Self {
        let op = run.op(stream);
        if stream.failed {
            return Self::None;
        }
        match op.class {
            Some(class @ (OpClass::Read | OpClass::Write)) if stream.storage => {
                let requests = matches!(op.layer, Some(Layer::Posix | Layer::Mpiio));
                Self::Data { writes: class == OpClass::Write, requests, nested: stream.nested, told: false }
            }
            Some(class @ (OpClass::Read | OpClass::Write)) if op.layer == Some(Layer::Mpiio) && !stream.nested => {
                Self::Caller(match (op.mode, class) {
                    (OpMode::Plain | OpMode::Shared, OpClass::Read) => Caller::Read,
                    (OpMode::Plain | OpMode::Shared, _) => Caller::Write,
                    (OpMode::Collective | OpMode::Ordered, OpClass::Read) => Caller::CollectiveRead,
                    (OpMode::Collective | OpMode::Ordered, _) => Caller::CollectiveWrite,
                    _ => Caller::Other,
                })
            }
            Some(OpClass::Sync) => Self::Sync,
            Some(OpClass::Metadata)
                if matches!(op.name.as_str(), "truncate" | "unlink" | "rename" | "set_size" | "delete") =>
            {
                Self::Replace
            }
            _ => Self::None,
        }
    }
}
