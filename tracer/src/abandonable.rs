//! Runs work that can be abandoned: if memory runs out, a jump returns to the start of the work. Resources that the work holds are leaked;
//! those that its caller holds are released as usual.
#![expect(unsafe_code, reason = "switches stacks")]

mod switch;

use crate::tls;

/// Runs `work` on the current stack; returns `None` if the work was abandoned for lack of memory.
pub(crate) fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: stays on the current stack.
    unsafe { run(work, 0) }
}

/// Abandonable work to run, and its result. Lies on the stack of the code that starts the work.
struct Job<F, T> {
    work: Option<F>,
    result: Option<T>,
}

extern "C" fn start<T, F: FnOnce() -> T>(job: *mut u8) {
    // SAFETY: `job` is the `Job` of `run`, which waits for this call.
    let job = unsafe { &mut *job.cast::<Job<F, T>>() };
    job.result = job.work.take().map(|work| work());
}

/// Runs `work` on the stack whose upper end is `top`, or on the current stack if `top` is 0. Returns `None` if the work was abandoned.
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

/// Abandons this thread's work in progress by a jump to its start (never returns then). Returns only if no work is in progress.
pub(crate) fn abandon() {
    let scope = std::ptr::with_exposed_provenance::<usize>(tls::current().scope.get());
    // SAFETY: `scope` is null, or the address of `saved` in a `run` that waits on this thread.
    if let Some(saved) = unsafe { scope.as_ref() } {
        // SAFETY: `saved` was set by `enter`, which waits. Frames in between are abandoned and run no destructors; their resources are leaked.
        unsafe { switch::leave(*saved) };
    }
}
