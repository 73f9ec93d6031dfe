//! Determines the position of a C stream in the cheapest reliable way: its fields, else the position after the last call, else ftello(3).
#![expect(unsafe_code, reason = "C functions")]

use super::fields::{self, Fields};
use crate::handles::{Description, Mover};
use crate::{errno, file_status};
use libc::{FILE, size_t};
use trace_format::segment::NO_OFFSET;

unsafe extern "C" {
    /// Returns the number of bytes in the stream's output buffer (__fpending(3)).
    fn __fpending(stream: *mut FILE) -> size_t;
}

/// State of a C stream (position and buffer) before a call moves its position.
pub(super) struct Before {
    /// File position of the next byte to read or write; -1 if unknown.
    pub(super) offset: i64,
    /// Snapshot of the stream's fields; `None` if the tracer cannot interpret them.
    pub(super) fields: Option<Fields>,
}

/// Determines position and fields of a stream before a call moves the stream (`writes`: by writing). Preserves errno.
#[inline(always)]
pub(super) fn before(stream: *mut FILE, description: &Description, writes: bool) -> Before {
    let Some(fields) = fields::of(stream) else {
        description.stream().forget();
        return Before { offset: ask(stream, description, writes), fields: None };
    };
    let remembered = description.stream().take(fields.marks(), fields.waiting());
    let has_known = !(writes && description.appends()) && description.has_position();
    let known = if has_known { fields.position().or(remembered) } else { None };
    Before { offset: known.unwrap_or_else(|| ask(stream, description, writes)), fields: Some(fields) }
}

/// Examines a stream whose position is about to change, to count the bytes that the program has transferred without a recorded call.
pub(super) fn look(stream: *mut FILE, description: &Description) {
    match fields::of(stream) {
        Some(fields) => drop(description.stream().take(fields.marks(), fields.waiting())),
        None => description.stream().forget(),
    }
}

/// Returns the stream's current position by ftello(3) or the file size; -1 if it has none. `writes`: true for the position of the next write,
/// which on an appending stream is the end of the file. Preserves errno.
#[cold]
#[inline(never)]
pub(super) fn ask(stream: *mut FILE, description: &Description, writes: bool) -> i64 {
    if !description.has_position() {
        return NO_OFFSET;
    }
    let errno = errno::save();
    let position = if writes && description.appends() && !fields::is_wide(stream) {
        end_of_file(stream)
    } else {
        // SAFETY: the program's own open stream; ftello(3) leaves its buffer as it is.
        unsafe { libc::ftello(stream) }
    };
    errno.restore();
    position.max(NO_OFFSET)
}

/// Returns the position of an appending stream's next byte: the file size plus the bytes in the output buffer.
fn end_of_file(stream: *mut FILE) -> i64 {
    let Some(status) = file_status::of(fields::number_of(stream)) else { return NO_OFFSET };
    // SAFETY: the program's own open stream.
    status.size + unsafe { __fpending(stream) } as i64
}

/// Returns [`NO_OFFSET`]. Marked cold, so that the usual case is a branch not taken.
#[cold]
const fn nowhere() -> i64 {
    NO_OFFSET
}

/// Caches `position`, at which a call has left the stream, unless another thread may have moved the stream meanwhile (`mover`, the right of
/// this thread to move the position, was taken over).
#[inline(always)]
pub(super) fn remember(stream: *mut FILE, description: &Description, mover: &Mover, position: i64) {
    // The position of an appending stream is not cached, but queried each time.
    let position = if description.appends() { nowhere() } else { position };
    // Check the turn after reading the fields: a thread that took the turn over may be moving the stream.
    if let Some(marks) = fields::marks_of(stream)
        && description.has_turn(mover)
    {
        description.stream().put(position, marks);
    }
}
