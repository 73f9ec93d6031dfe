//! Wraps directory stream functions (opendir(3), closedir(3)) and closefrom(3). Only opendir(3) is recorded as a segment.
#![expect(unsafe_code, reason = "C functions")]

use super::metadata::opening_directory;
use super::opening::closing_range;
use crate::real::{hooks, none};
use crate::{handles, process, record};
use libc::{DIR, c_char, c_int, c_uint};

hooks! { CLOSING, missing = none();
    /// Wraps closefrom(3) (glibc 2.34 and later).
    [closefrom](first: c_int) -> ()
        = |real| {
            let first = first.max(0) as c_uint;
            let done = closing_range(first, c_uint::MAX, |from, last| {
                if (from, last) == (first, c_uint::MAX) {
                    return -1;
                }
                // SAFETY: part of the range that the program closes.
                unsafe { crate::sys::pass_on!(libc::SYS_close_range, from, last, 0) as c_int }
            });
            // The range is still whole, or close_range(2) is not available.
            if done != 0 {
                real(first as c_int);
            }
        };
    [opendir](name: *const c_char) -> *mut DIR
        = |real| opening_directory(name, || real(name));
    [closedir](directory: *mut DIR) -> c_int
        = |real| closing_directory(directory, || real(directory));
}

fn closing_directory(directory: *mut DIR, call: impl FnOnce() -> c_int) -> c_int {
    if directory.is_null() || !record::is_on() || !process::seems_own() {
        return call();
    }
    // SAFETY: the program's own open directory.
    let taken = handles::take(unsafe { libc::dirfd(directory) });
    let result = call();
    taken.close();
    result
}
