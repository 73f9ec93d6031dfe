//! Whether a thread is inside calls of a kind (MPI's, HDF5's, a library that makes its own system calls). A call may be left
//! without returning: by longjmp(3), out of a signal handler or a callback, or by an exception. A count would stay as it is for
//! ever, and the thread's calls would be taken for the library's. So what is kept is where the stack was: a frame below the
//! stack pointer is gone.
#![expect(unsafe_code, reason = "reads the stack pointer")]

use std::cell::Cell;

/// Stack between a wrapped function and what it calls. Without it, a wrapped function that is entered where one was left could
/// not be told from one that is called inside: its frame may reach a little deeper.
const GAP_BYTES: usize = 1 << 10;
/// A frame so far below the stack pointer, and farther, lies on another stack: a signal's or a coroutine's.
const LARGEST_STACK: usize = 16 << 20;

/// The stack pointer in the innermost such call of this thread; 0 if it is in none.
#[repr(transparent)]
pub(crate) struct Inside(Cell<usize>);

impl Inside {
    /// Not inside.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) const fn new() -> Self {
        Self(Cell::new(0))
    }

    /// Zero if the thread is certainly not inside: for paths that have no time.
    #[inline(always)]
    pub(crate) fn raw(&self) -> usize {
        self.0.get()
    }

    /// Whether the thread is inside. On another stack than that call, the answer may be wrong: what is called there is booked as
    /// the program's own, or as the library's, and nothing else comes of it.
    pub(crate) fn is_set(&self) -> bool {
        self.0.get() != 0 && is_alive(self.0.get(), stack_pointer())
    }

    /// Runs `call`, inside.
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
        // A user-level thread may have gone on with another thread, and this one may have ended.
        if crate::tls::is_of_this_thread(std::ptr::from_ref(self).addr()) {
            self.0.set(if before != 0 && is_alive(before, here) { before } else { 0 });
        }
        result
    }
}

/// Where this function's caller is on its stack, for [`is_below`].
#[inline(never)]
pub(crate) fn here() -> usize {
    stack_pointer()
}

/// Whether the code that asks may run on top of a frame that was `here` then: on a signal handler's, which lies deeper by more than the
/// gap, or on another stack.
pub(crate) fn is_below(frame: usize) -> bool {
    is_alive(frame.saturating_sub(GAP_BYTES), stack_pointer())
}

/// Whether a frame at `frame` can be one that the code at `here` was called from.
fn is_alive(frame: usize, here: usize) -> bool {
    here <= frame || here - frame > LARGEST_STACK
}

/// Where the stack is, at least as low as in the calling function.
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: copies a register.
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

    /// As if the call had been left: what it has noted stays behind.
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
            // The next call is one of its own, and nothing is left of the other one behind it.
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
