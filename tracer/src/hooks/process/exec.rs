//! Wraps functions that execute another program (exec, posix_spawn). Before the current program is replaced, its trace is written.
#![expect(unsafe_code, reason = "C functions")]

use super::preload;
use super::untraceable::{self, Fate, Program, Strings};
use crate::environment::Variables;
use crate::notes::Note;
use crate::real::{Slot, hooks};
use crate::{config, lifecycle};
use libc::{AT_FDCWD, c_char, c_int, c_void, pid_t};

/// Runs `call`, which replaces this process's program and returns only on failure. `call` receives a new environment, or `None` for no change.
fn becoming(program: Program, environment: Strings, call: impl FnOnce(Option<Strings>) -> c_int) -> c_int {
    let fate = untraceable::look(program);
    let noted = fate.note();
    // True if the next program is expected to run but not to clean up this process's files, which must then be removed now.
    let stay = lifecycle::becoming_another(|| {
        (fate != Fate::Traced || !environment.is_null() && config::is_off(&Variables(environment)))
            && untraceable::will_run(program)
    });
    let result = preload::with(fate, || program.name(), environment, call);
    lifecycle::stayed(stay);
    if noted {
        Note::Untraceable.take_back();
    }
    result
}

/// Runs `call`, which starts another process and returns an error number. `call` receives a new environment, or `None` for no change.
fn spawning(program: Program, environment: Strings, call: impl FnOnce(Option<Strings>) -> c_int) -> c_int {
    let fate = untraceable::look(program);
    let result = preload::with(fate, || program.name(), environment, call);
    if result == 0 {
        fate.note();
    }
    result
}

/// Replaces the program by running `own`, which uses this process's environment, or `other` if the program needs a changed environment.
fn becoming_by_own(program: Program, own: impl FnOnce() -> c_int, other: impl FnOnce(Strings) -> c_int) -> c_int {
    becoming(program, untraceable::current(), |changed| match changed {
        Some(environment) => other(environment),
        None => own(),
    })
}

/// Returns the program that execveat(2) with these arguments would execute.
fn below(directory: c_int, path: *const c_char, flags: c_int) -> Program {
    // SAFETY: null, or a string that the program passes to execveat(2).
    let is_empty = !path.is_null() && unsafe { path.read() } == 0;
    if is_empty && flags & libc::AT_EMPTY_PATH != 0 { Program::Open(directory) } else { Program::At(directory, path) }
}

/// Calls `function`, the real execve(2) or execvpe(3); returns -1 if the C library lacks it.
fn next(function: &Slot, path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    let address = function.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: both functions have this C type.
    let function = unsafe { std::mem::transmute::<*mut c_void, Exec>(address) };
    // SAFETY: passes the program's own arguments, except for the environment, which lives until the call returns.
    unsafe { function(path, argv, envp) }
}

type Exec = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;

hooks! { BECOMES, missing = -1;
    /// Wraps execve(2). The trace of this program is written before the next program replaces it. A vfork(2) child has nothing to write.
    [execve](path: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::At(AT_FDCWD, path), envp, |changed| real(path, argv, changed.unwrap_or(envp)));
    /// Wraps execv(3). Also called by the wrapper of execl(3).
    [execv](path: *const c_char, argv: Strings) -> c_int
        = |real| becoming_by_own(Program::At(AT_FDCWD, path), || real(path, argv), |envp| next(&slots::execve.0, path, argv, envp));
    /// Wraps execvp(3). Also called by the wrapper of execlp(3).
    [execvp](file: *const c_char, argv: Strings) -> c_int
        = |real| becoming_by_own(Program::Searched(file), || real(file, argv), |envp| next(&slots::execvpe.0, file, argv, envp));
    [execvpe](file: *const c_char, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::Searched(file), envp, |changed| real(file, argv, changed.unwrap_or(envp)));
    [fexecve](program: c_int, argv: Strings, envp: Strings) -> c_int
        = |real| becoming(Program::Open(program), envp, |changed| real(program, argv, changed.unwrap_or(envp)));
    [execveat](directory: c_int, path: *const c_char, argv: *const *mut c_char, envp: *const *mut c_char, flags: c_int) -> c_int
        = |real| becoming(below(directory, path, flags), envp.cast(), |changed| {
            real(directory, path, argv, changed.map_or(envp, Strings::cast), flags)
        });
    /// Wraps posix_spawn(3): counts started programs that cannot be traced. A program that would fail if the tracer's library were
    /// preloaded is started without that library.
    unlike "structures that are not looked into" [posix_spawn](id: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void, argv: Strings, envp: Strings) -> c_int
        = |real| spawning(Program::At(AT_FDCWD, path), envp, |changed| real(id, path, actions, attributes, argv, changed.unwrap_or(envp)));
    /// Wraps posix_spawnp(3): counts started programs that cannot be traced. A program that would fail if the tracer's library were
    /// preloaded is started without that library.
    unlike "structures that are not looked into" [posix_spawnp](id: *mut pid_t, file: *const c_char, actions: *const c_void, attributes: *const c_void, argv: Strings, envp: Strings) -> c_int
        = |real| spawning(Program::Searched(file), envp, |changed| real(id, file, actions, attributes, argv, changed.unwrap_or(envp)));
}
