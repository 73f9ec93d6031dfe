//! gets(3), which C no longer has and old programs call. Not where the tracer is linked into a program: linkers warn of its name.
#![expect(unsafe_code, reason = "C functions")]

use super::characters::reading_line;
use super::standard::input;
use crate::real::{hooks, none};
use libc::{c_char, size_t};

hooks! { GETS, missing = none();
    /// gets(3).
    [gets, _IO_gets](line: *mut c_char) -> *mut c_char
        = |real| reading_line(input(), usize::MAX, || real(line));
    /// gets(3) as programs compiled with _FORTIFY_SOURCE call it.
    [__gets_chk](line: *mut c_char, space: size_t) -> *mut c_char
        = |real| reading_line(input(), usize::MAX, || real(line, space));
}
