//! Exec watchdog. All threads wait for the outcome of one thread's exec(3); a signal handler may leave the failing exec(3) by a jump, so
//! that they wait in vain. The exec thread itself notices at its next call (`end_of_recording::left_behind`); if it makes none, the waiting
//! threads notice here.
#![expect(unsafe_code, reason = "gettid(2)")]

use crate::job;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// Kernel id of the thread that called exec(3), or 0.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// Number of successive checks that found the thread `THREAD` outside of exec(3).
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);
/// Time of the last check if the thread is still in exec(3), in ns of CLOCK_MONOTONIC.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// Interval between checks if a thread is still in exec(3), in ns. One waiting thread makes each check.
const LOOKS_EVERY_NS: u64 = 250_000_000;
/// Number of successive checks needed to conclude that the thread left exec(3). One check may fall just before or after the system call,
/// and a successful exec(3) runs in the kernel for a while.
const MOST_LOOKS: u32 = 4;

/// Starts the watchdog, which detects that a thread has left exec(3). Called by the thread that is about to call exec(3).
pub(crate) fn wait_for_this_thread() {
    // SAFETY: gettid has no preconditions.
    let thread = unsafe { crate::sys::syscall!(libc::SYS_gettid) };
    ELSEWHERE.store(0, Ordering::Relaxed);
    THREAD.store(i32::try_from(thread).unwrap_or(0), Ordering::Release);
}

/// Stops the watchdog, because exec(3) has failed.
pub(crate) fn wait_no_more() {
    THREAD.store(0, Ordering::Release);
}

/// True if the watched thread has certainly left exec(3), so that waiting for the outcome is pointless. Called now and then by waiting
/// threads. `now`: ns of CLOCK_MONOTONIC.
pub(crate) fn is_certain(now: u64) -> bool {
    let (thread, last) = (THREAD.load(Ordering::Acquire), LOOKED.load(Ordering::Relaxed));
    let is_early = now.saturating_sub(last) < LOOKS_EVERY_NS;
    if thread == 0 || is_early || LOOKED.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    match is_in_exec(thread) {
        Some(false) => ELSEWHERE.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_LOOKS,
        _ => {
            ELSEWHERE.store(0, Ordering::Relaxed);
            false
        }
    }
}

/// True if `thread` of this process is in execve(2) or execveat(2); `None` if unknown. Reads /proc/pid/syscall (proc(5)): the number of the
/// system call in which the thread is blocked, or the word `running`.
fn is_in_exec(thread: i32) -> Option<bool> {
    // Allocates nothing: memory may have run out, and there is no work to abandon here.
    let (mut name, mut text) = ([0; 64], [0; 64]);
    write!(name.split_last_mut()?.1, "/proc/self/task/{thread}/syscall").ok()?;
    let said = job::read_file(&name, &mut text)?;
    let word = said.split(|byte| byte.is_ascii_whitespace()).next()?;
    let number = std::str::from_utf8(word).ok()?.parse::<i64>();
    Some(number.is_ok_and(|number| [libc::SYS_execve, libc::SYS_execveat].contains(&number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_something_else_is_found_out() {
        wait_for_this_thread();
        if is_in_exec(THREAD.load(Ordering::Relaxed)).is_none() {
            eprintln!("skipped here: /proc/self/task/N/syscall cannot be read");
            return;
        }
        let at = |look: u64| is_certain(1 + look * LOOKS_EVERY_NS);
        assert!(!at(1) && !at(1) && !at(2) && !at(3));
        assert!(at(4));
        wait_for_this_thread();
        assert!(!at(5));
        wait_no_more();
        assert!(!at(6) && !at(7) && !at(8) && !at(9) && !at(10));
    }
}
