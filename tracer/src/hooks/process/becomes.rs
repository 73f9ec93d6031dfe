//! Ways for a process to become another program. What it has done so far is written before.
#![expect(unsafe_code, reason = "C functions")]

use super::untraceable::{self, Program};
use crate::lifecycle;
use crate::notes::Note;
use crate::real::hooks;
use libc::{AT_FDCWD, c_char, c_int, c_void, pid_t};

type Strings = *const *const c_char;

/// Runs `call`, which returns only if it fails, and makes the process that program.
fn becoming(program: Program, call: impl FnOnce() -> c_int) -> c_int {
    let noted = untraceable::note(program);
    let stay = lifecycle::becoming_another();
    let result = call();
    lifecycle::stayed(stay);
    if noted {
        Note::Untraceable.take_back();
    }
    result
}

/// Runs `call`, which starts that program and answers with an error number.
fn spawning(program: Program, call: impl FnOnce() -> c_int) -> c_int {
    let result = call();
    if result == 0 {
        untraceable::note(program);
    }
    result
}

/// What execveat(2) is given.
fn below(directory: c_int, path: *const c_char, flags: c_int) -> Program {
    // SAFETY: null, or a string that the program passes to execveat(2).
    let is_empty = !path.is_null() && unsafe { path.read() } == 0;
    if is_empty && flags & libc::AT_EMPTY_PATH != 0 { Program::Open(directory) } else { Program::At(directory, path) }
}

hooks! { BECOMES, missing = -1;
    /// execve(2): what this program has done is written before the next one takes its place. In a child of vfork(2) there is
    /// nothing to write.
    [execve](path: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::At(AT_FDCWD, path), || real(path, argv, envp));
    /// execv(3). execl(3) comes here too.
    [execv](path: *const c_char, argv: Strings) -> c_int
        = |real| becoming(Program::At(AT_FDCWD, path), || real(path, argv));
    /// execvp(3). execlp(3) comes here too.
    [execvp](file: *const c_char, argv: Strings) -> c_int
        = |real| becoming(Program::Searched(file), || real(file, argv));
    /// execvpe(3).
    [execvpe](file: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::Searched(file), || real(file, argv, envp));
    /// fexecve(3).
    [fexecve](program: c_int, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::Open(program), || real(program, argv, envp));
    /// execveat(2).
    [execveat](directory: c_int, path: *const c_char, argv: *const *mut c_char, envp: *const *mut c_char, flags: c_int) -> c_int
        = |real| becoming(below(directory, path, flags), || real(directory, path, argv, envp, flags));
    /// posix_spawn(3), only to say that what is started cannot be traced.
    unlike "structures that are not looked into" [posix_spawn](id: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void, argv: Strings, envp: Strings) -> c_int
        = |real| spawning(Program::At(AT_FDCWD, path), || real(id, path, actions, attributes, argv, envp));
    /// posix_spawnp(3), likewise.
    unlike "structures that are not looked into" [posix_spawnp](id: *mut pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void, argv: Strings, envp: Strings) -> c_int
        = |real| spawning(Program::Searched(file), || real(id, file, actions, attributes, argv, envp));
}
