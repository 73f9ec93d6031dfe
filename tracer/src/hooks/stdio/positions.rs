//! Where a stream is, at the lowest price that is certain: from its fields, from where the last call left it, from
//! ftello(3).
#![expect(unsafe_code, reason = "fstat(2), C functions")]

use super::fields::{self, Fields};
use crate::errno;
use crate::handles::{Description, Mover};
use libc::{FILE, size_t};
use trace_format::segment::NO_OFFSET;

unsafe extern "C" {
    /// Bytes in the stream's output buffer (__fpending(3)).
    fn __fpending(stream: *mut FILE) -> size_t;
}

/// A stream before a call.
pub(super) struct Before {
    /// Where its next byte is read from or written to; -1 if nobody knows.
    pub(super) offset: i64,
    /// Its fields, if they can be understood.
    pub(super) fields: Option<Fields>,
}

/// Looks at a stream that is about to be moved. Keeps errno.
#[inline(always)]
pub(super) fn before(stream: *mut FILE, description: &Description, writes: bool) -> Before {
    let fields = fields::of(stream);
    if let Some(fields) = &fields {
        let remembered = description.stream().take(fields.marks(), fields.waiting());
        if !(writes && description.appends())
            && description.has_position()
            && let Some(offset) = fields.position().or(remembered)
        {
            return Before { offset, fields: Some(*fields) };
        }
    } else {
        description.stream().forget();
    }
    Before { offset: ask(stream, description, writes), fields }
}

/// Looks at a stream whose position is about to be something else: counts what the program has moved by itself.
pub(super) fn look(stream: *mut FILE, description: &Description) {
    match fields::of(stream) {
        Some(fields) => drop(description.stream().take(fields.marks(), fields.waiting())),
        None => description.stream().forget(),
    }
}

/// The position now. Keeps errno.
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

/// Where a stream that appends will put its next byte: behind the file's end and what waits in its buffer.
fn end_of_file(stream: *mut FILE) -> i64 {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    if unsafe { crate::sys::syscall!(libc::SYS_fstat, fields::number_of(stream), &raw mut stat) } != 0 {
        return NO_OFFSET;
    }
    // SAFETY: the program's own open stream.
    stat.st_size + unsafe { __fpending(stream) } as i64
}

/// Not where the stream is known to be. Apart, so that the usual case is a jump that is not taken.
#[cold]
const fn nowhere() -> i64 {
    NO_OFFSET
}

/// A call has left the stream at `position`: remembers it for the next one, if this thread still has its turn.
#[inline(always)]
pub(super) fn remember(stream: *mut FILE, description: &Description, mover: &Mover, position: i64) {
    // Where a stream that appends is, is asked each time.
    let position = if description.appends() { nowhere() } else { position };
    // The turn is looked at after the fields: whoever took it over may be moving them.
    if let Some(fields) = fields::of(stream)
        && description.has_turn(mover)
    {
        description.stream().put(position, fields.marks());
    }
}
