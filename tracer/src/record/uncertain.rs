//! Records calls whose file is known only afterwards or not at all: another thread changed the descriptor, or the call is asynchronous.

use super::{Call, End};
use crate::errno;
use crate::handles::Sent;
use crate::handles::pending::Pending;
use crate::notes::Note;
use crate::ops::{Op, POSIX_SEEK, STDIO_SEEK};
use crate::registry;
use trace_format::segment::NO_OFFSET;

impl Call {
    /// Records the call on the pseudo-file for unknown files (`<uncertain>`), unless the call failed with EBADF. `end`: time of return in
    /// clock ticks; `result`: return value. Preserves errno.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_uncertain(self, end: u64, op: &'static Op, result: i64) {
        self.end_uncertain_with(end, op, result, errno::save().value());
    }

    /// Records the call like [`Self::end_uncertain`], with error number `error`, for a call that does not set errno.
    #[cold]
    pub(crate) fn end_uncertain_with(self, end: u64, op: &'static Op, result: i64, error: i32) {
        let errno = errno::save();
        let length = u64::try_from(result);
        if (length.is_ok() || error != libc::EBADF)
            && let Some(file) = registry::uncertain_file()
        {
            Note::Uncertain.count();
            match length {
                Ok(length) => {
                    // The call may have moved the position of any file.
                    if op.is_data() || [&POSIX_SEEK, &STDIO_SEEK].iter().any(|seek| std::ptr::eq(op, *seek)) {
                        crate::handles::doubt_positions();
                    }
                    self.finish(file, op, End { length, ..End::at(end) });
                }
                Err(_) => self.failed_with(error, file, op, NO_OFFSET),
            }
        }
        errno.restore();
    }

    /// Records blocking time like [`Self::kept`]. `sent` is the file of the asynchronous operation, as found at its submission; `end`: end
    /// of the blocking call, in clock ticks.
    pub(crate) fn kept_for(self, end: u64, sent: Sent, op: &'static Op) {
        match sent.settled() {
            Sent::To(file) => self.kept(end, file, op),
            Sent::Uncertain => self.end_uncertain_with(end, op, 0, 0),
            Sent::Untold | Sent::If(..) => {}
        }
    }

    /// Records an asynchronous operation that completed at `end` (clock ticks) with `result`; a negative result is an error number. Preserves errno.
    pub(crate) fn end_pending(self, end: u64, pending: &Pending, result: i64) {
        let op = pending.op;
        match (pending.to, u64::try_from(result)) {
            (Sent::To(file), Ok(moved)) => {
                let length = if op.is_data() { moved } else { pending.length };
                self.finish(file, op, End { at: end, placed: pending.placed(), length });
            }
            (Sent::To(file), Err(_)) => self.failed_with(-result as i32, file, op, pending.offset),
            (Sent::Uncertain, _) => self.end_uncertain_with(end, op, result, -result as i32),
            (Sent::Untold | Sent::If(..), _) => {}
        }
    }
}
