//! Saves and restores errno. errno belongs to the program: the tracer preserves its value in all work between a call and the return to the program.
#![expect(unsafe_code, reason = "__errno_location(3)")]

#[derive(Clone, Copy)]
pub(crate) struct Errno(libc::c_int);

fn location() -> *mut libc::c_int {
    // SAFETY: the function has no preconditions.
    unsafe { libc::__errno_location() }
}

/// Returns this thread's errno.
pub(crate) fn save() -> Errno {
    // SAFETY: the C library gives each thread a valid location.
    Errno(unsafe { location().read() })
}

impl Errno {
    pub(crate) fn restore(self) {
        // SAFETY: as in `save`.
        unsafe { location().write(self.0) }
    }

    pub(crate) fn value(self) -> libc::c_int {
        self.0
    }
}

/// Sets errno for a call to a wrapped function that the C library lacks.
pub(crate) fn set(value: libc::c_int) {
    Errno(value).restore();
}
