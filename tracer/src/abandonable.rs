//! Work that can be abandoned. If memory runs out, the work is left by a jump back to its start: its resources are leaked, and the code that
//! started it releases its own claims.
#![expect(unsafe_code, reason = "switches stacks")]

mod switch;

use crate::tls;

/// Runs `work` on the current stack; returns `None` if it was abandoned for lack of memory.
pub(crate) fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: stays on the current stack.
    unsafe { run(work, 0) }
}

/// Work to run and its result; stored on the stack of the code that starts the work.
struct Job<F, T> {
    work: Option<F>,
    result: Option<T>,
}

extern "C" fn start<T, F: FnOnce() -> T>(job: *mut u8) {
    // SAFETY: the `Job` of `run`, which waits for this call.
    let job = unsafe { &mut *job.cast::<Job<F, T>>() };
    job.result = job.work.take().map(|work| work());
}

/// Runs `work` on the stack whose upper end is `top`, or on the current stack if `top` is 0; `None` if it was abandoned.
///
/// # Safety
///
/// `top` is 0, or the upper end of a stack that belongs to the caller alone until this function returns.
pub(crate) unsafe fn run<T, F: FnOnce() -> T>(work: F, top: usize) -> Option<T> {
    let thread = tls::current();
    let (outer, busy) = (thread.scope.get(), thread.busy.get());
    let mut job = Job { work: Some(work), result: None };
    let mut saved = 0_usize;
    thread.scope.set((&raw mut saved).expose_provenance());
    // SAFETY: `start` gets the job it expects; the caller guarantees that the stack is free.
    unsafe { switch::enter(start::<T, F>, (&raw mut job).cast(), top, &raw mut saved) };
    thread.scope.set(outer);
    thread.busy.set(busy);
    job.result
}

/// Abandons the work in progress on this thread by a jump to its start, and so does not return. Returns only if no work is in progress.
pub(crate) fn abandon() {
    let scope = std::ptr::with_exposed_provenance::<usize>(tls::current().scope.get());
    // SAFETY: null, or `saved` of a `run` that waits on this thread.
    if let Some(saved) = unsafe { scope.as_ref() } {
        // SAFETY: set by `enter`, which waits. Frames in between are abandoned and run no destructors; what they own is leaked.
        unsafe { switch::leave(*saved) };
    }
}
