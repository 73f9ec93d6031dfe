//! Handles programs that confine themselves by seccomp(2): once a filter is in force, it may kill the program at a system call that the
//! program itself would not make. The tracer therefore prepares all it needs, shuts the gate of its system calls (`sys.rs`) and makes no
//! more of them. Recording continues in existing memory, and the spool is left to `dxt-analyze recover`.
//!
//! PR_SET_NO_NEW_PRIVS alone changes nothing, since it forbids nothing that the tracer does. Container runtimes, service managers and
//! sandboxes set it long before a filter, or without one.
//!
//! A filter may be in force when the library starts ([`may_start`]), since exec(3) keeps filters. The kernel does not distinguish two kinds:
//! - a container's filter, made for any program, under which a refused call of the tracer merely fails;
//! - a launcher's filter, made for this very program, under which one more call may end it.
//!
//! A container's filters also apply to the first process of its PID namespace. If that process has as many filters as this one, tracing
//! starts as without a filter. If it has fewer, or cannot be inspected, nothing is recorded.
//!
//! To find out, the tracer opens, reads and closes files of proc(5): the dynamic linker has just made the same system calls for each
//! library, in this process under this filter. prctl(PR_GET_SECCOMP) is cheaper, but may be fatal, since no program needs it to start; it
//! is used only without proc(5). The message about the filter uses write(2), the only call not known to be allowed.

#![expect(unsafe_code, reason = "open(2), read(2), write(2), close(2), prctl(2)")]

use crate::config::{self, Environment};
use crate::notes::Note;
use crate::say::say;
use crate::{
    begin, budget, buffer, clock, end_of_recording, errno, process, record, registry, signals, spool, sys, tls,
};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// True once the user has been informed that the program confines itself.
static SAID: AtomicBool = AtomicBool::new(false);

/// True if the tracer inspects the programs that this program is about to start. False while tracing is off: no system calls may be made
/// then.
static INSPECTS: AtomicBool = AtomicBool::new(false);

pub(crate) fn inspect_programs(inspects: bool) {
    INSPECTS.store(inspects, Ordering::Relaxed);
}

pub(crate) fn inspects_programs() -> bool {
    INSPECTS.load(Ordering::Relaxed)
}

/// Seccomp filters of a process, from /proc/<pid>/status (mode: Linux 3.8, number of filters: Linux 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filters {
    /// Seccomp mode of the process. 0: none; 1: strict mode; 2: filters.
    mode: u32,
    /// Number of seccomp filters of the process; `None` if the kernel does not report it.
    number: Option<u32>,
}

/// True if no seccomp filter makes the tracer's system calls a risk for the program. Otherwise prints why nothing is recorded. Makes only
/// the system calls named in the documentation of this module. `DXT_SECCOMP=trust` means that the filter is known to be harmless.
pub(crate) fn may_start(environment: &impl Environment) -> bool {
    if environment.get(c"DXT_SECCOMP") == Some(b"trust") {
        return true;
    }
    let of_all = match filters_of(c"/proc/self/status") {
        Some(Filters { mode: 0, .. }) => true,
        Some(own) => filters_of(c"/proc/1/status") == Some(own),
        None => !is_filtered(),
    };
    if !of_all {
        say_plainly(
            b"dxt: a seccomp filter other than the container's is active: not tracing (if the filter is harmless, set DXT_SECCOMP=trust)\n",
        );
    }
    of_all
}

/// True if a seccomp filter is in force, by prctl(2); used without proc(5). A kernel without filters answers EINVAL.
fn is_filtered() -> bool {
    // SAFETY: the call changes nothing.
    let mode = unsafe { sys::syscall!(libc::SYS_prctl, libc::PR_GET_SECCOMP, 0_usize, 0_usize, 0_usize, 0_usize) };
    mode > 0 || mode < 0 && errno::save().value() != libc::EINVAL
}

/// Number of bytes kept of each line of a process's status file: enough for the lines of interest.
const LINE_BYTES: usize = 64;

/// Reads the seccomp filters of a process from its status file; returns `None` on failure. A kernel without filters reports none.
fn filters_of(status: &CStr) -> Option<Filters> {
    let file = open(status, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let mut found = Filters { mode: 0, number: None };
    let (mut line, mut length, mut bytes) = ([0_u8; LINE_BYTES], 0, [0_u8; 1024]);
    let mut left = true;
    while left {
        // SAFETY: the buffer is a local variable.
        let got = unsafe { sys::syscall!(libc::SYS_read, file, bytes.as_mut_ptr(), bytes.len()) };
        left = got > 0;
        for byte in bytes.iter().take(usize::try_from(got).unwrap_or(0)) {
            if *byte != b'\n' {
                line.get_mut(length).into_iter().for_each(|place| *place = *byte);
                length += 1;
                continue;
            }
            let whole = line.get(..length).unwrap_or_default();
            if let Some(mode) = number_behind(b"Seccomp:", whole) {
                found.mode = mode;
            } else if let Some(number) = number_behind(b"Seccomp_filters:", whole) {
                found.number = Some(number);
            }
            length = 0;
        }
    }
    // SAFETY: the descriptor was opened above.
    unsafe { sys::syscall!(libc::SYS_close, file) };
    Some(found)
}

fn number_behind(name: &[u8], line: &[u8]) -> Option<u32> {
    std::str::from_utf8(line.strip_prefix(name)?).ok()?.trim().parse().ok()
}

fn open(path: &CStr, flags: libc::c_int) -> Option<libc::c_long> {
    // SAFETY: the name ends in NUL. Raw system call, since open(2) may be wrapped.
    let file = unsafe { sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    (file >= 0).then_some(file)
}

/// Writes a line to standard error. Apart from write(2), uses only system calls that the dynamic linker has made too. First opens standard
/// error anew, without blocking: that fails for a pipe without a reader, which avoids SIGPIPE, and also for a socket, which then gets no
/// message.
fn say_plainly(line: &[u8]) {
    let errno = errno::save();
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    if let Some(file) = open(c"/proc/self/fd/2", flags) {
        // SAFETY: the descriptor was opened above.
        unsafe { sys::syscall!(libc::SYS_close, file) };
        // The new descriptor is not used: in a file it would write at the start.
        // SAFETY: the buffer belongs to the caller.
        unsafe { sys::syscall!(libc::SYS_write, libc::STDERR_FILENO, line.as_ptr(), line.len()) };
    }
    errno.restore();
}

/// Runs `call`, which confines this thread or all threads by seccomp if `succeeded` returns true for the result. `strict`: strict mode,
/// which also forbids reading the processor's counter (PR_SET_SECCOMP(2const), arch/x86/kernel/process.c). `resolve`: resolves the
/// functions that are otherwise resolved at their first call.
pub(crate) fn confining<T>(strict: bool, resolve: fn(), call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    // A second filter finds the gate shut. A vfork(2) child confines itself, not the process whose memory it uses.
    if sys::is_shut() || !record::is_begun() || !process::is_own() {
        // The gate stays open here; without inspections, exec(3) under the filter makes no extra system call.
        inspect_programs(false);
        return call();
    }
    let errno = errno::save();
    let kept = tls::current().while_away(|| make_ready(resolve));
    sys::shut();
    errno.restore();
    let result = if strict { without_counter(call, &succeeded) } else { call() };
    if succeeded(&result) {
        // A muted rank still takes part in the collective steps; otherwise other ranks would wait for it.
        if !kept && record::is_on() {
            record::set_state(record::State::Muted);
        }
    } else {
        let errno = errno::save();
        sys::open();
        signals::stand_in_again();
        errno.restore();
    }
    result
}

/// Runs `call` with the clock stopped. If `succeeded` returns true for the result, the clock stays stopped, since the processor's counter
/// may not be read any longer.
pub(crate) fn without_counter<T>(call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    if !record::is_begun() {
        return call();
    }
    clock::stop();
    let result = call();
    if succeeded(&result) {
        Note::StoppedClock.count();
    } else {
        clock::go_on();
    }
    result
}

/// Prepares for the time when system calls are forbidden. Returns true if calls recorded from then on survive the process (in a spool).
fn make_ready(resolve: fn()) -> bool {
    // A signal must end the process without an additional system call, as if the tracer were absent.
    signals::step_back();
    if !record::is_on() {
        return false;
    }
    let Some(config) = config::current() else { return false };
    if end_of_recording::is_left_out_so_far(config) {
        spool::remove();
        budget::give_back();
        return false;
    }
    resolve();
    begin::begin();
    let Some(path) = spool::path() else {
        end_of_recording::write_so_far(config, "seccomp");
        tell(&[
            b"the program confines itself with seccomp(2): its later calls are not recorded, because there is no spool (DXT_SPOOL sets its directory)",
        ]);
        return false;
    };
    // Commits memory now, since no system call may commit memory later.
    buffer::back_ahead(&record::ARENA);
    if crate::mpi::world().is_some() {
        record::SYNC_POINTS.back_ahead();
    }
    registry::back_ahead();
    spool::journal::back_ahead();
    // Reservations are returned now, since no system call can return them later.
    budget::give_back();
    tell(&[
        b"the program confines itself with seccomp(2): at its end, write its trace with dxt-analyze recover, from ",
        path,
    ]);
    true
}

/// Prints a message (`parts`, concatenated) about the program's confinement once, however often the program confines itself.
fn tell(parts: &[&[u8]]) {
    if !SAID.swap(true, Ordering::Relaxed) {
        say(parts);
    }
}

/// True if a forked child is confined like its parent: the child cannot get memory of its own and records nothing.
pub(crate) fn in_child() -> bool {
    SAID.store(false, Ordering::Relaxed);
    sys::in_child();
    sys::is_shut()
}

/// Counts a fork of a process confined by seccomp, because the child records nothing. The trace stores the count.
pub(crate) fn in_parent() {
    if sys::is_shut() {
        Note::ConfinedChild.count();
    }
}
