//! Wraps gets(3), which only old programs call. Not wrapped if the tracer is linked statically, since linkers warn about the name.
#![expect(unsafe_code, reason = "C functions")]

use super::characters::reading_line;
use super::standard::input;
use crate::real::{hooks, none};
use libc::{c_char, size_t};

hooks! { GETS, missing = none();
    [gets, _IO_gets](line: *mut c_char) -> *mut c_char
        = |real| reading_line(input(), usize::MAX, || real(line));
    /// Wraps gets(3) as compiled with _FORTIFY_SOURCE.
    [__gets_chk](line: *mut c_char, space: size_t) -> *mut c_char
        = |real| reading_line(input(), usize::MAX, || real(line, space));
}
