//! Calls that wait for asynchronous operations, such as MPI_Wait.

use crate::cube::reading::cells::looked_at;
use crate::model::{Process, Run, Stream, Within};
use trace_format::op::OpClass;

/// True if calls of a stream wait for asynchronous operations.
#[must_use]
pub fn is_wait(run: &Run, stream: &Stream) -> bool {
    let op = run.op(stream);
    op.class == Some(OpClass::Wait) && op.name == "wait"
}

/// True if the process makes no recorded reads or writes inside library calls: then a library call that waits for asynchronous operations
/// counts as the wait, not the calls inside it.
#[must_use]
pub fn are_whole(run: &Run, process: &Process) -> bool {
    let inside = process.streams.iter().filter(|stream| stream.within() > Within::Nothing && looked_at(run, stream));
    let mut classes = inside.map(|stream| run.op(stream).class);
    !classes.any(|class| matches!(class, Some(OpClass::Read | OpClass::Write)))
}
