//! A thread was about to become another program, all others wait for what comes of it, and it is doing something else by now: a
//! signal handler has left the failing exec(3) by a jump. Should it make another call, it notices itself (`ends::left_behind`); here
//! is how those who wait find out if it makes none.
#![expect(unsafe_code, reason = "gettid(2)")]

use crate::job;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The thread's id; 0: nobody is waited for.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// How many looks in a row have found it elsewhere.
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);
/// When somebody looked last, in ns of CLOCK_MONOTONIC.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// One thread looks, so often.
const LOOKS_EVERY_NS: u64 = 250_000_000;
/// A look may come just before the call or behind it, and one that succeeds runs in the kernel for a while: so many in a row are none of these.
const MOST_LOOKS: u32 = 4;

/// This thread is about to become another program.
pub(crate) fn wait_for_this_thread() {
    // SAFETY: gettid has no preconditions.
    let thread = unsafe { crate::sys::syscall!(libc::SYS_gettid) };
    ELSEWHERE.store(0, Ordering::Relaxed);
    THREAD.store(i32::try_from(thread).unwrap_or(0), Ordering::Release);
}

/// It has become none.
pub(crate) fn wait_no_more() {
    THREAD.store(0, Ordering::Release);
}

/// Called now and then by those who wait, at `now` (ns of CLOCK_MONOTONIC): whether they wait for nothing.
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

/// Whether a thread of this process is in execve(2) or execveat(2); `None` if that cannot be told (proc(5), /proc/pid/syscall: the number
/// of the system call that it is blocked in, or the word `running`).
fn is_in_exec(thread: i32) -> Option<bool> {
    // Nothing is allocated: there may be no memory, and nobody to go back to.
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
