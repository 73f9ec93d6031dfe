//! The program confines itself by seccomp(2): from the moment that a filter may be in force, a system call that the program would
//! not make can end it. So the tracer makes ready what it needs, shuts its gate (`sys.rs`), and makes none any more: recording
//! goes on in memory that is there already, and the spool is left for `dxt-analyze recover`.
//!
//! PR_SET_NO_NEW_PRIVS alone is let be: it forbids nothing that the tracer does, and container runtimes, service managers and
//! sandboxes set it long before, or without, a filter.
//!
//! A filter may be in force when the library starts ([`may_start`]): exec(3) keeps it. There are two kinds, which the kernel does not tell
//! apart: a container's, made for whatever programs run in it, under which a call of the tracer's own that is refused is one that failed;
//! and a launcher's, made for what this very program needs, under which one more call may end it. Of those that are in force
//! here, a container's are in force for the first process of its PID namespace, too. If that has as many, all is as without a filter; if
//! it has fewer, or cannot be looked at, nothing is recorded.
//!
//! To find that out the tracer opens, reads and closes files of proc(5): the dynamic linker has done the same for each library just before,
//! in this process and under this filter. prctl(PR_GET_SECCOMP) is cheaper, but no program needs it to start, so it may be fatal, and is
//! asked only where there is no proc(5). The line that says so is written by write(2), the one call that is not known to be allowed.

#![expect(unsafe_code, reason = "open(2), read(2), write(2), close(2), prctl(2)")]

use crate::config::Environment;
use crate::notes::Note;
use crate::say::say;
use crate::{
    begin, budget, buffer, clock, errno, hooks, lifecycle, process, record, registry, signals, spool, sys, tls,
};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has been told.
static SAID: AtomicBool = AtomicBool::new(false);

/// Filters that are in force for a process, as /proc/<pid>/status tells (Linux 3.8, their number Linux 5.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filters {
    /// 0: none; 1: strict mode; 2: filters.
    mode: u32,
    /// How many; `None` where the kernel does not say.
    number: Option<u32>,
}

/// True if system calls of the tracer's own are no risk for the program, as far as filters are concerned; else says why nothing is recorded.
/// Makes no other call than said above. `DXT_SECCOMP=trust`: the filter is known to be harmless.
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
            b"dxt: a seccomp filter is in force that is not the container's: not tracing (DXT_SECCOMP=trust: it is harmless)\n",
        );
    }
    of_all
}

/// What prctl(2) says, where proc(5) says nothing: EINVAL from a kernel without filters.
fn is_filtered() -> bool {
    // SAFETY: only asks.
    let mode = unsafe { sys::syscall!(libc::SYS_prctl, libc::PR_GET_SECCOMP, 0_usize, 0_usize, 0_usize, 0_usize) };
    mode > 0 || mode < 0 && errno::save().value() != libc::EINVAL
}

/// Bytes of a line that are enough for what is looked for; longer ones are those of other things.
const LINE_BYTES: usize = 64;

/// Filters of the process whose status this is; `None` if it cannot be read. A kernel without filters does not mention any.
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
    // SAFETY: the name ends in NUL. The raw system call, since open(2) may be wrapped.
    let file = unsafe { sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    (file >= 0).then_some(file)
}

/// Writes a line to standard error by as few calls as can be, each of which the dynamic linker has made but the write. Standard error is opened
/// anew first, without waiting: a pipe that nobody reads refuses that, so no SIGPIPE comes of the line. A socket does, too, and is told nothing.
fn say_plainly(line: &[u8]) {
    let errno = errno::save();
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    if let Some(file) = open(c"/proc/self/fd/2", flags) {
        // SAFETY: opened above.
        unsafe { sys::syscall!(libc::SYS_close, file) };
        // Not through what was just opened: in a file it would begin at its start.
        // SAFETY: the buffer is ours.
        unsafe { sys::syscall!(libc::SYS_write, libc::STDERR_FILENO, line.as_ptr(), line.len()) };
    }
    errno.restore();
}

/// Runs `call`, which confines this thread or all of them if `succeeded` says so; `strict` mode forbids to read the processor's
/// counter, too (PR_SET_SECCOMP(2const), arch/x86/kernel/process.c).
pub(crate) fn confining<T>(strict: bool, call: impl FnOnce() -> T, succeeded: impl Fn(&T) -> bool) -> T {
    // A second filter finds the gate shut. A child of vfork(2) confines itself, not the process whose memory it runs in.
    if sys::is_shut() || !record::is_begun() || !process::is_own() {
        // The gate stays open here: what exec(3) is given is not looked at behind a filter.
        hooks::look_at_programs(false);
        return call();
    }
    let errno = errno::save();
    let kept = tls::current().while_away(make_ready);
    sys::shut();
    errno.restore();
    let result = if strict { without_counter(call, &succeeded) } else { call() };
    if succeeded(&result) {
        // A rank takes part in what all ranks do together, now or later: they would wait for it.
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

/// Runs `call`, behind which nobody may read the processor's counter if `succeeded` says so.
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

/// Makes ready for a time without system calls; true if what is recorded then outlives the process.
fn make_ready() -> bool {
    // A signal must end the process as if the tracer were not there: without one more call.
    signals::step_back();
    if !record::is_on() {
        return false;
    }
    if lifecycle::is_left_out_so_far() {
        spool::remove();
        budget::give_back();
        return false;
    }
    hooks::resolve_late();
    begin::begin();
    let Some(path) = spool::path() else {
        lifecycle::write_so_far("seccomp");
        tell(&[
            b"the program confines itself by seccomp(2): its calls from here on are not recorded, for want of a spool",
        ]);
        return false;
    };
    // What is backed now is all that there will be.
    buffer::back_ahead(&record::ARENA);
    if crate::mpi::world().is_some() {
        record::MEETINGS.back_ahead();
    }
    registry::back_ahead();
    spool::journal::back_ahead();
    // Nothing can be given back later.
    budget::give_back();
    tell(&[b"the program confines itself by seccomp(2): its trace is left to dxt-analyze recover, in ", path]);
    true
}

/// Once, whatever the program does how often.
fn tell(parts: &[&[u8]]) {
    if !SAID.swap(true, Ordering::Relaxed) {
        say(parts);
    }
}

/// In a forked child: whether it is confined, as its parent was. Then it can have no memory of its own and records nothing.
pub(crate) fn in_child() -> bool {
    SAID.store(false, Ordering::Relaxed);
    sys::in_child();
    sys::is_shut()
}

/// A confined process has forked.
pub(crate) fn in_parent() {
    if sys::is_shut() {
        Note::ConfinedChild.count();
    }
}
