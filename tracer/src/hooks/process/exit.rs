//! Wraps functions that end the process without running destructors.
#![expect(unsafe_code, reason = "C functions")]

use crate::lifecycle::{self, Next};
use crate::real::{hooks, none};
use libc::c_int;

hooks! { ENDS, missing = none();
    /// Wraps _exit(2). No destructor runs, so the trace is written before the call.
    unlike "it never returns, which an entry cannot say" [_exit](status: c_int) -> () = |real| { lifecycle::ending("_exit", Next::Gone); real(status) };
    /// Wraps _Exit(3), ISO C's name of _exit(2).
    [_Exit](status: c_int) -> () = |real| { lifecycle::ending("_Exit", Next::Gone); real(status) };
}
