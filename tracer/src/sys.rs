//! The tracer's own system calls. Results are like those of syscall(2) (-1 and errno); that function is not used, since it is wrapped.
//!
//! All of them pass a gate. Once the program has confined itself by seccomp (`seccomp.rs`), a system call that the program itself would not
//! make could end it. The gate is then shut: every system call of the tracer fails with EPERM without reaching the kernel.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Makes a system call that the program itself has requested, with arguments like [`syscall!`]: made even if the tracer's own are
/// forbidden.
macro_rules! pass_on {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::sys::pass($number, [$($crate::sys::Argument::register($argument)),*])
    };
}
pub(crate) use pass_on;

/// True if the gate of the tracer's system calls is shut: the tracer makes no more system calls.
static SHUT: AtomicBool = AtomicBool::new(false);
/// True if a seccomp filter may be in force: [`shut`] no longer waits for system calls in progress.
static CONFINED: AtomicBool = AtomicBool::new(false);
/// Number of the tracer's system calls in progress.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);
/// Maximum number of checks by [`shut`] if a system call of the tracer is still in progress. Checks after the first `YIELDS` are 1 ms
/// apart. After the last check, `shut` proceeds: a call blocked in the kernel has already passed any filter, and a call left by a jump
/// never returns.
const MOST_WAITS: u32 = 1_100;
const YIELDS: u32 = 1_000;

/// Permission for the tracer to make system calls, until dropped. [`shut`] waits for all such permissions.
pub(crate) struct Claim(());

/// Requests permission for the tracer to make system calls; `None` once they are forbidden (gate shut).
#[inline]
pub(crate) fn claim() -> Option<Claim> {
    // Announces first, then checks: either the thread that shuts the gate sees this call, or this call sees the gate shut.
    UNDER_WAY.fetch_add(1, Ordering::SeqCst);
    let claim = Claim(());
    if SHUT.load(Ordering::SeqCst) { None } else { Some(claim) }
}

impl Drop for Claim {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}

/// True if the gate of the tracer's system calls is shut: the tracer may make no more system calls.
#[inline]
pub(crate) fn is_shut() -> bool {
    SHUT.load(Ordering::Relaxed)
}

/// Shuts the gate, so that the tracer makes no more system calls, and waits until those in progress are done. The calling thread must not
/// be inside the gate.
pub(crate) fn shut() {
    SHUT.store(true, Ordering::SeqCst);
    let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    for waited in 0..MOST_WAITS {
        if UNDER_WAY.load(Ordering::SeqCst) == 0 {
            break;
        }
        // System calls are safe here: no filter is in force yet.
        if waited < YIELDS {
            // SAFETY: no preconditions.
            unsafe { pass(libc::SYS_sched_yield, []) };
        } else {
            // SAFETY: the time is a local variable; the remaining time after a signal is ignored.
            unsafe { pass_on!(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>()) };
        }
    }
    CONFINED.store(true, Ordering::SeqCst);
}

/// Resets the gate of the tracer's system calls in a forked child: system calls in progress on other threads do not exist in the child.
pub(crate) fn in_child() {
    UNDER_WAY.store(0, Ordering::SeqCst);
}

/// Opens the gate of the tracer's system calls again, because the program has not confined itself by seccomp after all.
pub(crate) fn open() {
    CONFINED.store(false, Ordering::SeqCst);
    SHUT.store(false, Ordering::SeqCst);
}

/// Argument of a system call: a value that converts to a register's width.
pub(crate) trait Argument {
    fn register(self) -> usize;
}

macro_rules! integers {
    ($($type:ty),+) => { $(
        impl Argument for $type {
            #[inline(always)]
            fn register(self) -> usize {
                self as usize
            }
        }
    )+ };
}

integers!(i32, u32, i64, u64, usize);

impl<T> Argument for *const T {
    #[inline(always)]
    fn register(self) -> usize {
        self.expose_provenance()
    }
}

impl<T> Argument for *mut T {
    #[inline(always)]
    fn register(self) -> usize {
        self.expose_provenance()
    }
}

/// `syscall!(libc::SYS_fstat, number, &raw mut stat)`: makes a system call of the tracer's own, with results like syscall(2).
macro_rules! syscall {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::sys::call($number, [$($crate::sys::Argument::register($argument)),*])
    };
}
pub(crate) use syscall;

/// Makes a system call of the tracer's own; see [`syscall!`]. Fails with EPERM once such calls are forbidden (gate shut).
///
/// # Safety
/// The arguments must meet the requirements of the system call.
#[inline]
pub(crate) unsafe fn call<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    let Some(_leave) = claim() else {
        crate::errno::set(libc::EPERM);
        return -1;
    };
    // SAFETY: the arguments meet the caller's promise.
    unsafe { pass(number, arguments) }
}

/// `finish!(libc::SYS_close, number)`: like [`syscall!`], for a thread that holds a [`Claim`] and releases a lock or a descriptor.
macro_rules! finish {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::sys::to_finish($number, [$($crate::sys::Argument::register($argument)),*])
    };
}
pub(crate) use finish;

/// Makes a system call that releases a resource, for a thread inside the gate; see [`finish!`]. Allowed after the gate is shut, as long as
/// [`shut`] still waits for this thread. Later it fails with EPERM: leaking the resource is better than ending the program.
///
/// # Safety
/// The arguments must meet the requirements of the system call.
#[inline]
pub(crate) unsafe fn to_finish<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    UNDER_WAY.fetch_add(1, Ordering::SeqCst);
    let _leave = Claim(());
    if CONFINED.load(Ordering::SeqCst) {
        crate::errno::set(libc::EPERM);
        return -1;
    }
    // SAFETY: the arguments meet the caller's promise.
    unsafe { pass(number, arguments) }
}

/// Makes a system call that the program itself has requested, even if the tracer's own are forbidden.
///
/// # Safety
/// The arguments must meet the requirements of the system call.
#[inline(always)]
pub(crate) unsafe fn pass<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    const { assert!(N <= 6) };
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: the arguments meet the caller's promise; surplus arguments are ignored by the kernel.
    let answer = unsafe { kernel(number, all) };
    // Results from -4095 to -1 are negated errno values (Linux, include/linux/err.h: MAX_ERRNO).
    if (-4095..0).contains(&answer) {
        crate::errno::set(-answer as i32);
        return -1;
    }
    answer
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn kernel(number: c_long, arguments: [usize; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    let answer: c_long;
    // SAFETY: follows the kernel's calling convention (syscall(2)): the kernel changes rcx, r11, and the memory given in the arguments.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn kernel(number: c_long, arguments: [usize; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    let answer: c_long;
    // SAFETY: follows the kernel's calling convention (syscall(2)).
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    answer
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("a system call must be written for this processor, in tracer/src/sys.rs");

#[cfg(test)]
mod tests {
    #[test]
    fn a_shut_gate_lets_nothing_but_the_programs_own_through() {
        // Runs in a process of its own, since other tests make system calls that a shut gate would refuse.
        let child = std::env::var_os("DXT_TEST_GATE");
        if child.is_none() {
            let exe = std::env::current_exe().unwrap();
            let mut again = std::process::Command::new(exe);
            again.args(["--exact", "sys::tests::a_shut_gate_lets_nothing_but_the_programs_own_through"]);
            assert!(again.env("DXT_TEST_GATE", "1").output().unwrap().status.success());
            return;
        }
        super::shut();
        // SAFETY: no preconditions.
        assert_eq!(unsafe { syscall!(libc::SYS_getpid) }, -1);
        assert_eq!(crate::errno::save().value(), libc::EPERM);
        // SAFETY: no preconditions.
        assert!(unsafe { pass_on!(libc::SYS_getpid) } > 0);
        super::open();
        // SAFETY: no preconditions.
        assert!(unsafe { syscall!(libc::SYS_getpid) } > 0);
    }

    #[test]
    fn answers_are_those_of_syscall() {
        let (mut ends, mut byte) = ([0; 2], 0_u8);
        // SAFETY: the array has room for two descriptors.
        assert_eq!(unsafe { syscall!(libc::SYS_pipe2, ends.as_mut_ptr(), 0) }, 0);
        // SAFETY: the buffer has one byte.
        assert_eq!(unsafe { syscall!(libc::SYS_write, ends[1], b"x".as_ptr(), 1) }, 1);
        // SAFETY: the buffer has room for one byte.
        assert_eq!(unsafe { syscall!(libc::SYS_read, ends[0], &raw mut byte, 1) }, 1);
        assert_eq!(byte, b'x');
        // SAFETY: no memory is written, and -1 is no descriptor.
        assert_eq!(unsafe { syscall!(libc::SYS_lseek, -1, 0_i64, libc::SEEK_CUR) }, -1);
        assert_eq!(crate::errno::save().value(), libc::EBADF);
        for end in ends {
            // SAFETY: this test alone uses the descriptor.
            assert_eq!(unsafe { syscall!(libc::SYS_close, end) }, 0);
        }
    }
}
