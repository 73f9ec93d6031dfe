//! Ways out of the process that skip destructors.
#![expect(unsafe_code, reason = "C functions")]

use crate::lifecycle::{self, Next};
use crate::real::{hooks, none};
use libc::c_int;

hooks! { ENDS, missing = none();
    /// _exit(2): no destructor runs, so the trace is written before it.
    unlike "it never returns, which an entry cannot say" [_exit](status: c_int) -> () = |real| { lifecycle::ending("_exit", Next::Gone); real(status) };
    /// _Exit(3): _exit(2) under ISO C's name.
    [_Exit](status: c_int) -> () = |real| { lifecycle::ending("_Exit", Next::Gone); real(status) };
}
