//! System calls of the tracer's own, past syscall(2), which is wrapped like other functions: with its answers, -1 and errno.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::c_long;

/// An argument of a system call, as wide as a register.
pub(crate) trait Argument {
    /// The register's content.
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

/// `syscall!(libc::SYS_fstat, number, &raw mut stat)`: as syscall(2).
macro_rules! syscall {
    ($number:expr $(, $argument:expr)* $(,)?) => {
        $crate::sys::call($number, [$($crate::sys::Argument::register($argument)),*])
    };
}
pub(crate) use syscall;

/// Makes a system call; see [`syscall!`].
///
/// # Safety
/// What the system call asks of its arguments.
#[inline(always)]
pub(crate) unsafe fn call<const N: usize>(number: c_long, arguments: [usize; N]) -> c_long {
    const { assert!(N <= 6) };
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: the caller's promise; what is left over is not looked at.
    let answer = unsafe { kernel(number, all) };
    // The last page of numbers are errors (Linux, include/linux/err.h: MAX_ERRNO).
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
    // SAFETY: the kernel's calling convention (syscall(2)); it changes rcx and r11, and the memory that it is told to.
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
    // SAFETY: the kernel's calling convention (syscall(2)).
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
    fn answers_are_those_of_syscall() {
        let (mut ends, mut byte) = ([0; 2], 0_u8);
        // SAFETY: the array has room for two descriptors.
        assert_eq!(unsafe { syscall!(libc::SYS_pipe2, ends.as_mut_ptr(), 0) }, 0);
        // SAFETY: one byte is there.
        assert_eq!(unsafe { syscall!(libc::SYS_write, ends[1], b"x".as_ptr(), 1) }, 1);
        // SAFETY: one byte has room.
        assert_eq!(unsafe { syscall!(libc::SYS_read, ends[0], &raw mut byte, 1) }, 1);
        assert_eq!(byte, b'x');
        // SAFETY: nothing is written to; the descriptor is not one.
        assert_eq!(unsafe { syscall!(libc::SYS_lseek, -1, 0_i64, libc::SEEK_CUR) }, -1);
        assert_eq!(crate::errno::save().value(), libc::EBADF);
        for end in ends {
            // SAFETY: ours, and nobody else's.
            assert_eq!(unsafe { syscall!(libc::SYS_close, end) }, 0);
        }
    }
}
