//! Ways for a process to become another program. What it has done so far is written before.
#![expect(unsafe_code, reason = "C functions")]

use crate::lifecycle;
use crate::real::hooks;
use libc::{c_char, c_int};

type Strings = *const *const c_char;

/// Runs `call`, which returns only if it fails.
fn becoming(call: impl FnOnce() -> c_int) -> c_int {
    let set_aside = lifecycle::becoming_another();
    let result = call();
    lifecycle::stayed(set_aside);
    result
}

hooks! { BECOMES, missing = -1;
    /// execve(2): what this program has done is written before the next one takes its place. In a child of vfork(2) there is
    /// nothing to write.
    [execve](path: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(|| real(path, argv, envp));
    /// execv(3). execl(3) comes here too.
    [execv](path: *const c_char, argv: Strings) -> c_int
        = |real| becoming(|| real(path, argv));
    /// execvp(3). execlp(3) comes here too.
    [execvp](file: *const c_char, argv: Strings) -> c_int
        = |real| becoming(|| real(file, argv));
    /// execvpe(3).
    [execvpe](file: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(|| real(file, argv, envp));
    /// fexecve(3).
    [fexecve](program: c_int, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(|| real(program, argv, envp));
    /// execveat(2).
    [execveat](directory: c_int, path: *const c_char, argv: *const *mut c_char, envp: *const *mut c_char, flags: c_int) -> c_int
        = |real| becoming(|| real(directory, path, argv, envp, flags));
}
