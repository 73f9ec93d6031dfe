//! Roles of streams (calls of one operation and caller on one file) in the pass in call order: effects of their calls on the checks.

use crate::model::{Run, Stream};
use trace_format::op::{Layer, OpClass, OpMode};

/// Kind of MPI-IO call, which decides how system reads inside it are attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Read,
    Write,
    CollectiveRead,
    CollectiveWrite,
    /// Nonblocking, split or other call: system reads inside it cannot be attributed to a single call.
    Other,
}

/// Effect of the calls of a stream (one operation, file and caller) on the checks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    None,
    Data {
        writes: bool,
        requests: bool,
        nested: bool,
        /// True if Darshan counted the order of these calls (sequential, consecutive): then the pass does not count it again.
        reported: bool,
    },
    Sync,
    /// Call that gives the file new content or a new name: bytes accessed before do not count as repeated later.
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
                Self::Data { writes: class == OpClass::Write, requests, nested: stream.nested, reported: false }
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
