//! Standard streams stdin(3) and stdout(3): variables of the C library, which a program may change.
#![expect(unsafe_code, reason = "variables of the C library")]

use libc::FILE;

unsafe extern "C" {
    static stdin: *mut FILE;
    static stdout: *mut FILE;
}

/// Returns stdin, from which getchar(3) and others read.
#[inline(always)]
pub(super) fn input() -> *mut FILE {
    // SAFETY: the C library sets it before any constructor runs; a program that changes it must keep other threads from using it.
    unsafe { stdin }
}

/// Returns stdout, to which printf(3) and others write.
#[inline(always)]
pub(super) fn output() -> *mut FILE {
    // SAFETY: the C library sets it before any constructor runs; a program that changes it must keep other threads from using it.
    unsafe { stdout }
}
