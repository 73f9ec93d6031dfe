//! Turns to move the file position of an open file description: the kernel serializes such calls on a regular file, and so does the tracer,
//! to see the kernel's order. Signal handlers may interrupt a call and move the position too, or leave the call by a jump.
#![expect(unsafe_code, reason = "lseek(2)")]

use super::{Description, Placed, Position};
use crate::handles::target::Target;
use crate::{threads, tls};
use std::sync::atomic::Ordering;

/// Bit of [`Description::mover`]: a signal handler interrupted the owner's call and has moved the position itself.
const NESTED: u32 = 1 << 31;

/// Returns a number that is unique among live threads, not 0, and lacks [`NESTED`]: from the address of the thread's block, without system call.
#[inline(always)]
fn thread_number() -> u32 {
    ((tls::number() / size_of::<tls::Thread>()) as u32 & !NESTED).max(1)
}

/// Returns the caller's stack address in units of 16 bytes, as a number that is not 0 and lacks [`NESTED`].
#[inline(always)]
fn frame_number() -> u32 {
    let here = 0_u8;
    ((std::hint::black_box(&raw const here).addr() >> 4) as u32 & !NESTED).max(1)
}

/// True if the call with [`frame_number`] `inner` is deeper in the stack, so that it may have interrupted the call with `outer`. False if
/// `outer` was left by a jump, since its frame no longer exists; also if the signal handler has a stack of its own at a higher address.
#[cold]
const fn is_within(inner: u32, outer: u32) -> bool {
    // Compare modulo 2^31, as a signed difference.
    ((inner.wrapping_sub(outer) << 1) as i32) < 0
}

impl Description {
    /// True if the thread of `mover` kept its turn (right to move the position) throughout the call, or needs no turn.
    #[inline(always)]
    pub(crate) fn has_turn(&self, mover: &Mover) -> bool {
        match mover.owner {
            0 => threads::is_single(),
            me => mover.alone && self.mover.load(Ordering::Acquire) == me,
        }
    }

    /// Sets the tracked position to `offset`: the call that holds the turn `mover` (right to move the position) has moved the file position
    /// there.
    pub(crate) fn moved_to(&self, mover: &Mover, offset: i64) {
        self.stream.forget();
        if self.is_kept_by(mover) {
            self.position.store(offset, Ordering::Relaxed);
        }
    }

    /// True if the turn (right to move the position) of `mover` prevents the reuse of this record for another file.
    #[inline(always)]
    fn is_kept_by(&self, mover: &Mover) -> bool {
        threads::is_single()
            || mover.is_inner
            || mover.owner != 0 && self.mover.load(Ordering::Acquire) & !NESTED == mover.owner
    }

    /// Takes this thread's turn before a call that moves the position. The kernel serializes calls that move the position of a regular
    /// file; taking turns, for a bounded time, shows the calls in the kernel's order. Pass the result to [`Self::moved`].
    #[inline(always)]
    pub(crate) fn moving(&self) -> Mover {
        if threads::is_single() {
            return self.moving_alone();
        }
        // Turns work only if all movers take one.
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 || self.others.load(Ordering::Acquire) {
            return Mover::AMONG_OTHERS;
        }
        self.moving_among_threads()
    }

    /// Takes the turn (right to move the position) in a process with one thread. If another turn has not ended, a signal handler
    /// interrupted that call or left it by a jump. The kernel is then asked for the position, since that call may have moved it or not. An
    /// interrupted call gets its turn back with [`NESTED`].
    #[inline(always)]
    fn moving_alone(&self) -> Mover {
        let owner = frame_number();
        let other = self.mover.load(Ordering::Relaxed);
        self.mover.store(owner, Ordering::Relaxed);
        let mover = Mover { owner, ..Mover::NONE };
        if other == 0 { mover } else { mover.after(other & !NESTED) }
    }

    /// Takes this thread's turn (right to move the position) like [`Self::moving`], but even if other processes move the position too: for
    /// C streams, whose own lock cannot be held safely.
    #[inline(always)]
    pub(crate) fn turn(&self) -> Mover {
        if threads::is_single() { Mover::NONE } else { self.moving_among_threads() }
    }

    #[inline(never)]
    fn moving_among_threads(&self) -> Mover {
        let me = thread_number();
        let mut waited = 0;
        while let Err(other) = self.mover.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
            // A signal handler that interrupted this thread's own turn must not wait. The kernel's order of the two calls is unknown.
            if other & !NESTED == me {
                self.mover.fetch_or(NESTED, Ordering::Relaxed);
                return Mover { is_inner: true, ..Mover::AMONG_OTHERS };
            }
            // Bound the wait: the thread may have been cancelled inside the call, or be reading from a slow device. Take its turn over, so
            // that nobody waits for it again. Since it may come back at any time, positions are uncertain from now on. Mark them after
            // taking the turn, so that the thread finds out before others stop taking turns, and before ending the turn, so that later
            // turns know.
            waited += 1;
            match waited {
                0..SPINS => std::hint::spin_loop(),
                SPINS..YIELDS => threads::give_way(),
                // A thread that the kernel has preempted gets its processor back only if others sleep.
                YIELDS..NAPS => threads::pause(NAP_NS),
                _ => {
                    self.mover.swap(me, Ordering::AcqRel);
                    self.share_with_others();
                    return Mover { owner: me, ..Mover::AMONG_OTHERS };
                }
            }
        }
        Mover { owner: me, ..Mover::NONE }
    }

    /// Ends the turn (right to move the position) of a call on `target` that moved `bytes` bytes (`appended`: to the end of the file).
    /// Returns the call's start offset.
    #[inline(always)]
    pub(crate) fn moved(&self, mover: Mover, target: Target, bytes: i64, appended: bool) -> Placed {
        let follows = self.kind.load(Ordering::Relaxed) == Position::Followed as u8;
        let mut placed = if follows && !appended && !mover.asks && self.is_kept_by(&mover) {
            Placed::about(self.position.fetch_add(bytes, Ordering::Relaxed), !mover.alone)
        } else {
            self.placed_by_asking(&mover, target, bytes)
        };
        if !self.ends(&mover) {
            self.moved_meanwhile(&mover, target, &mut placed);
        }
        placed
    }

    /// Ends a turn (right to move the position) during which another thread (which took the turn over) or a signal handler may have moved
    /// the position, and marks the offset `placed` as an estimate.
    #[cold]
    fn moved_meanwhile(&self, mover: &Mover, target: Target, placed: &mut Placed) {
        *placed = Placed::about(placed.offset, placed.offset >= 0);
        self.look_again(mover, target);
    }

    /// Ends a turn (right to move the position) during which a signal handler moved the position: asks the kernel for the position until no
    /// handler moves it meanwhile. With several threads the kernel is not asked, since each thread counts its own bytes.
    #[cold]
    fn look_again(&self, mover: &Mover, target: Target) {
        if !threads::is_single() {
            return self.turn_was_lost(mover);
        }
        loop {
            self.mover.store(mover.owner, Ordering::Relaxed);
            self.moved_by_others(mover, target, 0);
            if self.ends(mover) {
                return;
            }
        }
    }

    /// Computes a call's offset from the kernel's position, which is at the end of the transferred bytes. The offset is exact even for
    /// appended bytes, unless others move the position.
    #[cold]
    fn placed_by_asking(&self, mover: &Mover, target: Target, bytes: i64) -> Placed {
        let others = self.others.load(Ordering::Relaxed) || !mover.alone;
        let offset = self.moved_by_others(mover, target, bytes);
        // A call that moved nothing has an exact offset, regardless of other writers.
        Placed::about(offset, others && offset >= 0 && bytes > 0)
    }

    /// Asks the kernel for the position of `target`; returns the offset `bytes` before it, or -1 if the descriptor may refer to another file.
    #[cold]
    fn moved_by_others(&self, mover: &Mover, target: Target, bytes: i64) -> i64 {
        if self.kind.load(Ordering::Relaxed) == Position::None as u8 {
            return trace_format::segment::NO_OFFSET;
        }
        self.stream.forget();
        let errno = crate::errno::save();
        // SAFETY: asks the kernel for the position; moves nothing.
        let end = unsafe { crate::sys::syscall!(libc::SYS_lseek, target.number, 0_i64, libc::SEEK_CUR) };
        errno.restore();
        if end < 0 || !target.is_certain() {
            return trace_format::segment::NO_OFFSET;
        }
        if self.is_kept_by(mover) {
            self.position.store(end, Ordering::Relaxed);
        }
        (end - bytes).max(0)
    }

    /// Returns the file position in bytes; asks the kernel if necessary. Preserves errno.
    pub(crate) fn position_asked(&self, target: Target) -> i64 {
        match self.position(false) {
            trace_format::segment::NO_OFFSET => self.moved_by_others(&Mover::AMONG_OTHERS, target, 0),
            position => position,
        }
    }

    /// Ends the turn (right to move the position) of a call that has not moved this description's position.
    #[inline(always)]
    pub(crate) fn settle(&self, mover: Mover) {
        if !self.ends(&mover) {
            self.turn_was_lost(&mover);
        }
    }

    /// Ends the turn (right to move the position) of a call on `target` that has set the position.
    pub(crate) fn settle_moved(&self, mover: &Mover, target: Target) {
        if !self.ends(mover) {
            let errno = crate::errno::save();
            self.look_again(mover, target);
            errno.restore();
        }
    }

    /// Ends a turn (right to move the position). Returns false if another thread has taken the turn over, or a signal handler of this
    /// thread has moved the position meanwhile.
    #[inline(always)]
    fn ends(&self, mover: &Mover) -> bool {
        let Mover { owner, before, .. } = *mover;
        if owner == 0 {
            return true;
        }
        // A signal handler between load and store finds this turn, asks the kernel, and leaves the right position.
        if threads::is_single() && before == 0 && self.mover.load(Ordering::Relaxed) == owner {
            self.mover.store(0, Ordering::Relaxed);
            return true;
        }
        self.mover.compare_exchange(owner, before, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Ends a turn (right to move the position) during which a signal handler of this thread has moved the position. Does nothing if
    /// another thread has taken the turn over.
    #[cold]
    fn turn_was_lost(&self, mover: &Mover) {
        let interrupted = mover.owner | NESTED;
        let _ = self.mover.compare_exchange(interrupted, mover.before, Ordering::Release, Ordering::Relaxed);
    }
}

/// Number of checks of another thread's turn (right to move the position) after which this thread starts to yield the processor. Spinning
/// costs nothing extra if the other thread holds the kernel's or the stream's lock anyway.
const SPINS: u32 = 64;
/// Number of checks of another thread's turn (right to move the position) after which this thread starts to sleep between checks.
const YIELDS: u32 = 2_000;
/// Number of checks of another thread's turn (right to move the position) after which this thread takes the turn over, at least 0.2 s after
/// the first check.
const NAPS: u32 = YIELDS + 4_000;
const NAP_NS: i64 = 50_000;

/// Turn of a call: its right to move the file position of an open file description.
pub(crate) struct Mover {
    /// Owner number in [`Description::mover`]: of the thread, or of the stack frame in a process with one thread. 0 if no turn (right to
    /// move the position) was taken.
    owner: u32,
    /// Value that [`Description::mover`] gets when the turn (right to move the position) ends: 0, or the interrupted owner's number with
    /// [`NESTED`].
    before: u32,
    /// True if the position must be taken from the kernel when the turn (right to move the position) ends.
    asks: bool,
    /// True if no other thread can be in a call that moves the file position. False if the turn was taken over, or if some threads or
    /// processes move the position without turns.
    alone: bool,
    /// True if a signal handler makes the call and has interrupted a call of this thread that holds the turn (right to move the position).
    is_inner: bool,
}

impl Mover {
    /// No turn (exclusive right to move the position) is needed, because the process has one thread.
    const NONE: Self = Self { owner: 0, before: 0, asks: false, alone: true, is_inner: false };
    /// No turn (exclusive right to move the position) is taken, because other threads or processes move the position without one.
    const AMONG_OTHERS: Self = Self { alone: false, ..Self::NONE };

    /// Returns this turn (right to move the position), taken before the turn of `other` has ended: a signal handler interrupted that call,
    /// or left it by a jump.
    #[cold]
    const fn after(self, other: u32) -> Self {
        let before = if is_within(self.owner, other) { other | NESTED } else { 0 };
        Self { before, asks: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deeper_in_the_stack_is_within() {
        assert!(is_within(90, 100) && !is_within(100, 100) && !is_within(110, 100));
        // Frame numbers are compared modulo 2^31.
        assert!(is_within(NESTED - 5, 5) && !is_within(5, NESTED - 5));
    }

    #[inline(never)]
    fn deeper(description: &Description, settles: bool) -> u32 {
        let mover = std::hint::black_box(description).moving_alone();
        let before = mover.before;
        if settles {
            description.settle(mover);
        }
        before
    }

    #[test]
    fn an_interrupted_call_gets_its_turn_back_and_learns_of_it() {
        let description = Description::of_nothing(Position::Followed);
        let outer = description.moving_alone();
        // Two signal handlers in succession, then a handler that leaves its call by a jump.
        for settles in [true, true, false] {
            assert_eq!(deeper(&description, settles), outer.owner | NESTED);
        }
        assert!(!outer.asks && !description.ends(&outer), "it must ask for the position");
        // The call that the jump left is no longer on the stack.
        let next = description.moving_alone();
        assert!(next.asks && next.before == 0);
        description.settle(next);
        assert_eq!(description.mover.load(Ordering::Relaxed), 0);
        assert!(!description.moving_alone().asks);
    }
}
