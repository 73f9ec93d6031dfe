//! What all calls have in common that move a stream's bytes.
#![expect(unsafe_code, reason = "ferror(3), feof(3)")]

use super::fields::{self, Fields};
use super::positions::{self, Before};
use crate::errno;
use crate::handles::{self, Description, Mover};
use crate::ops::Op;
use crate::record::{self, Call};
use libc::FILE;

/// What a call says that it has moved.
pub(super) enum Moved {
    /// Exactly so many bytes.
    Bytes(u64),
    /// So many bytes at least, the position knows: some may have been moved before the call failed or found the end.
    AtLeast(u64),
    /// The position knows; the call has not failed.
    Unknown,
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
        Moved::Bytes(bytes) => Ok(bytes),
        Moved::AtLeast(least) => Err((least, true)),
        Moved::Unknown => Err((0, false)),
        Moved::Within { limit, least } => read_in_buffer(stream, &before, limit).ok_or((least, false)),
    };
    match length {
        Ok(length) => {
            timer.end_at(end, description.file(), op, before.offset, length);
            if before.offset >= 0 {
                positions::remember(stream, description, &mover, before.offset + length as i64);
            }
        }
        Err((least, short)) => {
            uncertain(stream, description, op, &before, least, Ended { timer, end, mover: &mover, short });
        }
    }
    description.settle(mover);
    result
}

/// A call that has returned.
struct Ended<'a> {
    timer: Call,
    end: u64,
    mover: &'a Mover,
    /// It has moved less than it might have.
    short: bool,
}

/// Records a call that does not say how many bytes it has moved, or that has failed: what it moved before that is one
/// segment, that it failed another one, behind those bytes.
#[cold]
#[inline(never)]
fn uncertain(
    stream: *mut FILE,
    description: &Description,
    op: &'static Op,
    before: &Before,
    least: u64,
    call: Ended<'_>,
) {
    let errno = errno::save();
    let length = asked(stream, description, op, before, least);
    let Ended { timer, end, mover, short } = call;
    let failed = short && has_failed(stream, op, before);
    if length > 0 || !failed {
        timer.again().end_at(end, description.file(), op, before.offset, length);
        if before.offset >= 0 {
            positions::remember(stream, description, mover, before.offset + length as i64);
        }
    }
    if failed {
        let offset = if before.offset >= 0 { before.offset + length as i64 } else { before.offset };
        let error = if errno.value() == 0 { libc::EIO } else { errno.value() };
        timer.failed_with(error, description.file(), op, offset);
    }
    errno.restore();
}

/// Whether a call that moved less than it might have has failed: one that writes has, one that reads may have found the end
/// of the file. Either leaves a mark on the stream, which stays until it is cleared: of a failure only a new one means something.
fn has_failed(stream: *mut FILE, op: &Op, before: &Before) -> bool {
    if op.writes() {
        return true;
    }
    // SAFETY: the program's own open stream.
    let error = unsafe { libc::ferror(stream) } != 0;
    // SAFETY: likewise.
    let end = unsafe { libc::feof(stream) } != 0;
    let old = before.fields.as_ref().is_some_and(Fields::has_error);
    error && !old || !end
}

/// Bytes read by one call that found all it wanted in the buffer.
#[inline(always)]
fn read_in_buffer(stream: *mut FILE, before: &Before, limit: usize) -> Option<u64> {
    let now = fields::of(stream)?;
    before.fields.as_ref()?.read_until(&now, limit)
}

/// Bytes moved, as the position tells.
fn asked(stream: *mut FILE, description: &Description, op: &Op, before: &Before, least: u64) -> u64 {
    let mut length = least;
    if before.offset >= 0 {
        let after = match fields::of(stream).and_then(|now| now.position()) {
            Some(position) if !(op.writes() && description.appends()) => position,
            _ => positions::ask(stream, description, op.writes()),
        };
        length = u64::try_from(after - before.offset).unwrap_or(least).max(least);
    }
    length
}
