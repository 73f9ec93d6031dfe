//! Waits for operations that go on meanwhile, as the program makes them.

use crate::model::{Process, Run, Stream, Within};
use crate::topics::causes::reading::cells::looked_at;
use trace_format::op::OpClass;

/// Whether calls wait for operations that go on meanwhile.
#[must_use]
pub fn is_wait(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    op.class == Some(OpClass::Wait) && op.name == "wait"
}

/// Whether a call of a library that waits for operations does nothing but wait: then how it does so is no matter, and the outermost call is the
/// one that counts. Else its reads and writes are on record themselves.
#[must_use]
pub fn are_whole(run: &Run, process: &Process) -> bool {
    let inside = process.streams.iter().filter(|stream| stream.within() > Within::Nothing && looked_at(run, stream));
    let mut classes = inside.map(|stream| run.op(stream).class);
    !classes.any(|class| matches!(class, Some(OpClass::Read | OpClass::Write)))
}
