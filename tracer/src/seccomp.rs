//! Programs that confine themselves by seccomp(2): once a filter may be in force, a system call that the program would not make can end it.
//! The tracer therefore prepares all it needs, shuts its gate (`sys.rs`) and makes no more system calls. Recording continues in existing
//! memory, and the spool is left to `dxt-analyze recover`.
//!
//! PR_SET_NO_NEW_PRIVS alone changes nothing: it forbids nothing that the tracer does. Container runtimes, service managers and sandboxes
//! set it long before, or without, a filter.
//!
//! A filter may be in force when the library starts ([`may_start`]), since exec(3) keeps it. The kernel does not distinguish two kinds:
//! - a container's, made for any program, under which a refused call of the tracer merely fails;
//! - a launcher's, made for this very program, under which one more call may end it.
//!
//! A container's filters also apply to the first process of its PID namespace. If that process has as many filters, tracing starts as
//! without a filter. If it has fewer, or cannot be inspected, nothing is recorded.
//!
//! To find out, the tracer opens, reads and closes files of proc(5): the dynamic linker just did the same for each library, in this process
//! under this filter. prctl(PR_GET_SECCOMP) is cheaper, but no program needs it to start, so it may be fatal: it is used only without
//! proc(5). The message about it uses write(2), the one call not known to be allowed.

#![expect(unsafe_code, reason = "open(2), read(2), write(2), close(2), prctl(2)")]

use crate::config::{self, Environment};
use crate::notes::Note;
use crate::say::say;
use crate::{
    begin, budget, buffer, clock, end_of_recording, errno, process, record, registry, signals, spool, sys, tls,
};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// True once the user has been informed of the confinement.
static SAID: AtomicBool = AtomicBool::new(false);

/// True if programs are inspected before they are started. False while tracing is off, since no system calls may be made then.
static INSPECTS: AtomicBool = AtomicBool::new(false);

/// Switches the inspection of programs that are about to be started on (true) or off.
pub(crate) fn inspect_programs(inspects: bool) {
    INSPECTS.store(inspects, Ordering::Relaxed);
}

/// True if programs are inspected before they are started.
pub(crate) fn inspects_programs() -> bool {
    INSPECTS.load(Ordering::Relaxed)
}

/// Seccomp filters of a process, from /proc/<pid>/status (Linux 3.8, their number Linux 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filters {
    /// Seccomp mode. 0: none; 1: strict mode; 2: filters.
    mode: u32,
    /// Number of filters; `None` if the kernel does not report it.
    number: Option<u32>,
}

/// True if no seccomp filter makes the tracer's system calls a risk for the program; otherwise prints why nothing is recorded. Makes only
/// the calls named above. `DXT_SECCOMP=trust` means: the filter is known to be harmless.
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

/// Asks prctl(2) if a seccomp filter is in force; used without proc(5). A kernel without filters answers EINVAL.
fn is_filtered() -> bool {
    // SAFETY: only a query.
    let mode = unsafe { sys::syscall!(libc::SYS_prctl, libc::PR_GET_SECCOMP, 0_usize, 0_usize, 0_usize, 0_usize) };
    mode > 0 || mode < 0 && errno::save().value() != libc::EINVAL
}

/// Bytes kept of each line of the status file: enough for the lines of interest.
const LINE_BYTES: usize = 64;

/// Reads a process's seccomp filters from its status file; `None` if that fails. A kernel without filters reports none.
fn filters_of(status: &CStr) -> Option<Filters> {
    let file = open(status, libc::O_RDONLY | libc::O_CLOEXEC)?;
    let mut found = Filters { mode: 0, number: None };
    let (mut line, mut length, mut bytes) = ([0_u8; LINE_BYTES], 0, [0_u8; 1024]);
    let mut left = true;
    while left {
        // SAFETY: the buffer is ours.
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
    // SAFETY: opened above.
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

/// Writes a line to standard error. Uses only system calls that the dynamic linker has made too, except write(2). First opens standard
/// error anew without blocking: that fails for a pipe without a reader, which avoids SIGPIPE. It also fails for a socket, which then gets
/// no message.
fn say_plainly(line: &[u8]) {
    let errno = errno::save();
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    if let Some(file) = open(c"/proc/self/fd/2", flags) {
        // SAFETY: opened above.
        unsafe { sys::syscall!(libc::SYS_close, file) };
        // Not through the new descriptor: in a file it would write at the start.
        // SAFETY: the buffer is ours.
        unsafe { sys::syscall!(libc::SYS_write, libc::STDERR_FILENO, line.as_ptr(), line.len()) };
    }
    errno.restore();
}

/// Runs `call`, which confines this thread or all threads by seccomp if `succeeded` returns true. `strict`: strict mode, which also forbids
/// reading the processor's counter (PR_SET_SECCOMP(2const), arch/x86/kernel/process.c). `resolve`: resolves the functions that are otherwise
/// resolved at their first call.
pub(crate) fn confining<T>(strict: bool, resolve: fn(), call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    // A second filter finds the gate shut. A vfork(2) child confines itself, not the process whose memory it uses.
    if sys::is_shut() || !record::is_begun() || !process::is_own() {
        // The gate stays open here: arguments of exec(3) are not inspected under a filter.
        inspect_programs(false);
        return call();
    }
    let errno = errno::save();
    let kept = tls::current().while_away(|| make_ready(resolve));
    sys::shut();
    errno.restore();
    let result = if strict { without_counter(call, &succeeded) } else { call() };
    if succeeded(&result) {
        // A muted rank still takes part in collective steps, or others would wait for it.
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

/// Runs `call`, after which the processor's counter may no longer be read if `succeeded` returns true for its result.
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

/// Prepares for the time when system calls are forbidden; true if calls recorded from then on survive the process (in a spool).
fn make_ready(resolve: fn()) -> bool {
    // A signal must end the process without any additional system call, as if the tracer were absent.
    signals::step_back();
    if !record::is_on() {
        return false;
    }
    // Set before recording begins.
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
            b"the program confines itself with seccomp(2): its later calls are not recorded, because there is no spool",
        ]);
        return false;
    };
    // No memory can be backed later.
    buffer::back_ahead(&record::ARENA);
    if crate::mpi::world().is_some() {
        record::SYNC_POINTS.back_ahead();
    }
    registry::back_ahead();
    spool::journal::back_ahead();
    // Nothing can be returned later.
    budget::give_back();
    tell(&[
        b"the program confines itself with seccomp(2): at its end, write its trace with dxt-analyze recover, from ",
        path,
    ]);
    true
}

/// Prints a message once, however often the program confines itself.
fn tell(parts: &[&[u8]]) {
    if !SAID.swap(true, Ordering::Relaxed) {
        say(parts);
    }
}

/// True if a forked child is confined like its parent: it cannot get memory of its own and records nothing.
pub(crate) fn in_child() -> bool {
    SAID.store(false, Ordering::Relaxed);
    sys::in_child();
    sys::is_shut()
}

/// Counts a fork of a process confined by seccomp, since the child records nothing; the count is stored in the trace.
pub(crate) fn in_parent() {
    if sys::is_shut() {
        Note::ConfinedChild.count();
    }
}
