//! What all calls have in common that move a stream's bytes.
#![expect(unsafe_code, reason = "ferror(3)")]

use super::fields;
use super::positions::{self, Before};
use crate::handles::{self, Description};
use crate::ops::Op;
use crate::record::{self, Call};
use libc::FILE;

/// What a call says that it has moved.
pub(super) enum Moved {
    /// Exactly so many bytes.
    Bytes(u64),
    /// So many bytes at least, the position knows: some may have been moved before the call failed or found the end.
    AtLeast(u64),
    /// At most `limit` bytes were read, at least `least`; the call does not say how many.
    Within {
        /// Most bytes.
        limit: usize,
        /// Fewest bytes, for streams without a position.
        least: u64,
    },
}

/// The description behind the stream, if it is recorded.
#[inline(always)]
pub(super) fn description_of(stream: *mut FILE) -> Option<&'static Description> {
    if stream.is_null() {
        return None;
    }
    let number = fields::number_of(stream);
    if number < 0 { None } else { handles::descriptor(number) }
}

/// Runs `call`, which moves bytes of `stream`; `moved` says how many, from its result.
#[inline(always)]
pub(super) fn transferring<T>(
    stream: *mut FILE,
    op: &'static Op,
    call: impl FnOnce() -> T,
    moved: impl FnOnce(&T) -> Moved,
) -> T {
    let Some(thread) = record::thread() else { return call() };
    let Some(description) = description_of(stream) else { return call() };
    let mover = description.turn();
    let before = positions::before(stream, description, op.writes());
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::now();
    let length = match moved(&result) {
        Moved::Bytes(bytes) => Some(bytes),
        Moved::AtLeast(least) => asked(stream, description, op, &before, least),
        Moved::Within { limit, least } => match read_in_buffer(stream, &before, limit) {
            Some(bytes) => Some(bytes),
            None => asked(stream, description, op, &before, least),
        },
    };
    if let Some(length) = length {
        timer.end_at(end, description.file(), op, before.offset, length);
        if before.offset >= 0 {
            positions::remember(stream, description, &mover, before.offset + length as i64);
        }
    }
    description.settle(mover);
    result
}

/// Bytes read by one call that found all it wanted in the buffer.
#[inline(always)]
fn read_in_buffer(stream: *mut FILE, before: &Before, limit: usize) -> Option<u64> {
    let now = fields::of(stream)?;
    before.fields.as_ref()?.read_until(&now, limit)
}

/// Bytes moved, as the position tells; none if the call failed without moving any.
#[cold]
#[inline(never)]
fn asked(stream: *mut FILE, description: &Description, op: &Op, before: &Before, least: u64) -> Option<u64> {
    let mut length = least;
    if before.offset >= 0 {
        let after = match fields::of(stream).and_then(|now| now.position()) {
            Some(position) if !(op.writes() && description.appends()) => position,
            _ => positions::ask(stream, description, op.writes()),
        };
        length = u64::try_from(after - before.offset).unwrap_or(least).max(least);
    }
    // SAFETY: the program's own open stream.
    (length > 0 || unsafe { libc::ferror(stream) } == 0).then_some(length)
}
