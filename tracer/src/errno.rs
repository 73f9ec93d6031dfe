//! errno belongs to the program: whatever the tracer does between a call and its return to the program, the value stays.
#![expect(unsafe_code, reason = "__errno_location(3)")]

/// A saved errno.
#[derive(Clone, Copy)]
pub(crate) struct Errno(libc::c_int);

fn location() -> *mut libc::c_int {
    // SAFETY: no preconditions.
    unsafe { libc::__errno_location() }
}

/// This thread's errno.
pub(crate) fn save() -> Errno {
    // SAFETY: the C library gives each thread a valid location.
    Errno(unsafe { location().read() })
}

impl Errno {
    /// Puts it back.
    pub(crate) fn restore(self) {
        // SAFETY: as in `save`.
        unsafe { location().write(self.0) }
    }

    /// Its value.
    pub(crate) fn value(self) -> libc::c_int {
        self.0
    }
}

/// Sets errno, for a wrapped function that the C library does not have.
pub(crate) fn set(value: libc::c_int) {
    Errno(value).restore();
}
