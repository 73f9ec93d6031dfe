//! Detects if a thread is inside a library call (of MPI, of HDF5, or of a library that makes its own system calls). A call may be left
//! without returning: by longjmp(3) from a signal handler or callback, or by an exception. A nesting counter would then never return to
//! zero. So the stack pointer of the call is stored instead: once the thread's stack pointer is higher than the stored one, the call's
//! frame is gone and the call is over.
#![expect(unsafe_code, reason = "reads the stack pointer")]

use std::cell::Cell;

/// Number of stack bytes reserved between a wrapped function and its callee. Without this gap, a wrapped function that is entered after
/// another was left by a jump could seem to be called inside the other: its frame may lie slightly deeper.
const GAP_BYTES: usize = 1 << 10;
/// Distance from the stack pointer, in bytes, beyond which a frame must lie on another stack (of a signal handler or a coroutine).
const LARGEST_STACK: usize = 16 << 20;

/// Stack pointer of the innermost library call of one kind on this thread; 0 if the thread is inside no such call.
#[repr(transparent)]
pub(crate) struct Inside(Cell<usize>);

impl Inside {
    /// Returns the value for a thread that is inside no library call of this kind (of MPI, for example).
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// Returns 0 if the thread is certainly not inside a library call of this kind (of MPI, for example). A check for fast paths.
    #[inline(always)]
    pub(crate) fn raw(&self) -> usize {
        self.0.get()
    }

    /// True if the thread is inside a library call of this kind (of MPI, for example). May be wrong on a stack other than that call's; the
    /// only effect is that calls are attributed to the program instead of the library, or vice versa.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get() != 0 && is_alive(self.0.get(), stack_pointer())
    }

    /// Runs `call`, a library call of this kind (of MPI, for example), with the thread marked as inside such a call.
    #[inline(never)]
    pub(crate) fn run<T>(&self, call: impl FnOnce() -> T) -> T {
        let gap = [std::mem::MaybeUninit::<u8>::uninit(); GAP_BYTES];
        std::hint::black_box(&gap);
        self.enter(call)
    }

    #[inline(never)]
    fn enter<T>(&self, call: impl FnOnce() -> T) -> T {
        let here = stack_pointer();
        let before = self.0.replace(here);
        let result = call();
        // A user-level thread may have resumed on another kernel thread; `self` is of the former one, which may have ended.
        if super::is_of_this_thread(std::ptr::from_ref(self).addr()) {
            self.0.set(if before != 0 && is_alive(before, here) { before } else { 0 });
        }
        result
    }
}

/// Returns the caller's stack position, to be passed to [`is_below`] later.
#[inline(never)]
pub(crate) fn here() -> usize {
    stack_pointer()
}

/// True if the caller may still run on top of `frame`, a position returned by [`here`]: its stack is deeper by more than the gap, as in a
/// signal handler, or is another stack.
pub(crate) fn is_below(frame: usize) -> bool {
    is_alive(frame.saturating_sub(GAP_BYTES), stack_pointer())
}

/// True if the frame at stack position `frame` may still be active while code runs at position `here`.
fn is_alive(frame: usize, here: usize) -> bool {
    here <= frame || here - frame > LARGEST_STACK
}

/// Returns a stack pointer at least as low as the calling function's.
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only copies a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: only copies a register.
    unsafe {
        std::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls;

    #[inline(never)]
    fn nested(deep: u32, work: &mut dyn FnMut()) {
        let room = std::hint::black_box([0_u8; 200]);
        if deep == 0 {
            work();
        } else {
            nested(deep - 1, work);
        }
        std::hint::black_box(&room);
    }

    /// Simulates a call, `deep` stack frames down, that was left by a jump: the thread stays marked as inside.
    #[inline(never)]
    fn left(inside: &Inside, deep: u32) {
        nested(deep, &mut || {
            let noted = inside.run(|| inside.raw());
            inside.0.set(noted);
        });
    }

    #[test]
    fn calls_inside_are_inside_at_any_depth() {
        let inside = &tls::current().mpi;
        assert!(!inside.is_set());
        inside.run(|| {
            assert!(inside.is_set());
            nested(50, &mut || assert!(inside.is_set()));
            inside.run(|| assert!(inside.is_set()));
            assert!(inside.is_set());
        });
        assert!(!inside.is_set() && inside.raw() == 0);
    }

    #[test]
    fn a_call_that_was_left_is_over() {
        let inside = &tls::current().mpi;
        for deep in [0, 1, 5, 100] {
            left(inside, deep);
            assert!(inside.raw() != 0 && !inside.is_set(), "{deep}");
            // The next call is not affected by the abandoned call, and resets the mark.
            inside.run(|| assert!(inside.is_set()));
            assert_eq!(inside.raw(), 0, "{deep}");
        }
    }

    #[test]
    fn frames_far_away_are_of_another_stack() {
        assert!(is_alive(1 << 40, 1 << 30) && is_alive(1 << 30, 1 << 40));
        assert!(is_alive(1 << 30, 1 << 30) && !is_alive(1 << 30, (1 << 30) + 16));
    }
}
