//! Records stdio calls that transfer bytes, with position and number of bytes.
#![expect(unsafe_code, reason = "ferror(3), feof(3)")]

use super::fields::{self, Fields};
use super::positions::{self, Before};
use crate::errno;
use crate::handles::{self, Description, Placed, Target, Used};
use crate::hooks::{admission, printing};
use crate::ops::Op;
use crate::record::{Call, End};
use crate::tls::Thread;
use libc::FILE;

/// Number of bytes that a stdio call has transferred, according to its result.
pub(super) enum Moved {
    Bytes(u64),
    /// At least this many bytes; the stream's position gives the number. More may have moved before the call failed or hit the end of file.
    AtLeast(u64),
    /// Known only from the stream's position, not from the call's result; the call has not failed.
    Unknown,
    /// Between `least` and `limit` bytes were read; the call does not report how many.
    Within {
        limit: usize,
        /// Lower bound in bytes, used for streams without a position.
        least: u64,
    },
}

impl Moved {
    /// Returns the lower bound of the bytes that a stdio call transferred; -1 if the call may have failed without transferring any byte.
    #[cold]
    fn least(&self) -> i64 {
        match *self {
            Self::Bytes(least) | Self::Within { least, .. } => least as i64,
            Self::AtLeast(0) => -1,
            Self::AtLeast(least) => least as i64,
            Self::Unknown => 0,
        }
    }
}

/// Returns the target (open file description) of the stream's descriptor, if its file is recorded.
#[inline(always)]
pub(super) fn target_of(stream: *mut FILE) -> Option<Target> {
    if stream.is_null() {
        return None;
    }
    let number = fields::number_of(stream);
    if number < 0 { None } else { handles::descriptor(number) }
}

/// Runs and records `call`, which transfers bytes of `stream`; `moved` extracts the number of bytes from the result of `call`.
#[inline(always)]
pub(super) fn transferring<T>(
    stream: *mut FILE,
    op: &'static Op,
    call: impl FnOnce() -> T,
    moved: impl FnOnce(&T) -> Moved,
) -> T {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = target_of(stream) else {
        let number = if stream.is_null() { -1 } else { fields::number_of(stream) };
        return printing::waiting(thread, number, op, call, |result| moved(result).least());
    };
    let description = target.description;
    let mover = description.turn();
    let before = positions::before(stream, description, op.writes());
    let timer = Call::begin(thread);
    let result = call();
    let end = crate::clock::of_call();
    let said = moved(&result);
    let Some(used) = target.used() else {
        description.settle(mover);
        timer.end_uncertain(end, op, said.least());
        return result;
    };
    let known = match said {
        Moved::Bytes(bytes) => Some(bytes),
        Moved::Within { limit, .. } => read_in_buffer(stream, &before, limit),
        Moved::AtLeast(_) | Moved::Unknown => None,
    };
    if let Some(length) = known {
        if description.is_plain(used) {
            timer.finish(used.file(), op, End { at: end, placed: Placed::at(before.offset), length });
        } else {
            let placed = placed(description, used, op, before.offset);
            timer.finish(used.file(), op, End { at: end, placed, length });
        }
        if before.offset >= 0 {
            positions::remember(stream, description, &mover, before.offset + length as i64);
        }
    } else {
        let had_failed = !op.writes() && before.fields.as_ref().is_some_and(Fields::has_error);
        let call = Short { thread, start: timer.start(), end, offset: before.offset, had_failed, said };
        let position = uncertain(stream, description, used, op, call);
        positions::remember(stream, description, &mover, position);
    }
    description.settle(mover);
    result
}

/// Returns the start offset of a stdio call (`offset`) with the open flags to record; marked as an estimate if other threads or processes
/// may have moved the file position.
#[cold]
fn placed(description: &Description, used: Used, op: &Op, offset: i64) -> Placed {
    let doubt = description.is_in_doubt(op.writes());
    Placed::about(offset, doubt && offset >= 0).by(used.manner(op.writes()))
}

/// Stdio call whose result does not tell the exact number of bytes.
struct Short {
    thread: &'static Thread,
    start: u64,
    end: u64,
    /// Stream position before the call, in bytes; -1 if unknown.
    offset: i64,
    /// True if the stream's error flag was already set before the call.
    had_failed: bool,
    said: Moved,
}

/// Records a call whose result does not tell the number of bytes: one segment for the bytes transferred, and another segment after it if
/// the call failed. Returns the stream's position after the call.
#[cold]
#[inline(never)]
fn uncertain(stream: *mut FILE, description: &Description, used: Used, op: &'static Op, call: Short) -> i64 {
    let errno = errno::save();
    let (least, may_have_failed) = match call.said {
        Moved::Bytes(least) | Moved::Within { least, .. } => (least, false),
        Moved::AtLeast(least) => (least, true),
        Moved::Unknown => (0, false),
    };
    let length = asked(stream, description, op, call.offset, least);
    let failed = may_have_failed && has_failed(stream, op, call.had_failed);
    let behind = if call.offset >= 0 { call.offset + length as i64 } else { call.offset };
    let timer = Call::since(call.thread, call.start);
    if length > 0 || !failed {
        let placed = placed(description, used, op, call.offset);
        timer.again().finish(used.file(), op, End { at: call.end, placed, length });
    }
    if failed {
        let error = if errno.value() == 0 { libc::EIO } else { errno.value() };
        timer.failed_with(error, used.file(), op, behind);
    }
    errno.restore();
    behind
}

/// True if a call that transferred less than requested has failed. A short write is a failure; a short read may have found the end of file.
/// Error and end of file each set a flag of the stream that stays until cleared, so only a newly set error flag counts (`had_failed`: set
/// before the call).
fn has_failed(stream: *mut FILE, op: &Op, had_failed: bool) -> bool {
    if op.writes() {
        return true;
    }
    // SAFETY: the program's own open stream.
    let error = unsafe { libc::ferror(stream) } != 0;
    // SAFETY: the program's own open stream.
    let end = unsafe { libc::feof(stream) } != 0;
    error && !had_failed || !end
}

/// Returns the number of bytes read by a call (of at most `limit` bytes) that needed only bytes already in the stream's buffer; `None` if
/// the call may have refilled the buffer.
#[inline(always)]
fn read_in_buffer(stream: *mut FILE, before: &Before, limit: usize) -> Option<u64> {
    let now = fields::of(stream)?;
    before.fields.as_ref()?.read_until(&now, limit)
}

/// Returns the number of bytes transferred, computed from the stream's position now and `before` the call; at least `least`.
fn asked(stream: *mut FILE, description: &Description, op: &Op, before: i64, least: u64) -> u64 {
    let mut length = least;
    if before >= 0 {
        let after = match fields::of(stream).and_then(|now| now.position()) {
            Some(position) if !(op.writes() && description.appends()) => position,
            _ => positions::ask(stream, description, op.writes()),
        };
        length = u64::try_from(after - before).unwrap_or(least).max(least);
    }
    length
}
