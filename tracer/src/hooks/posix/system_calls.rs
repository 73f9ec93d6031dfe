//! Wraps syscall(2): system calls that programs make directly, as language runtimes and some libraries do. System calls in the table below
//! are recorded like the C functions of the same name.
//!
//! All other system calls must find registers and stack as the caller left them: a call may return on another stack (clone(2)), or be made
//! by an allocator or signal handler before this library is initialized. So `syscall` is a few instructions that check a table and jump on.
#![expect(unsafe_code, reason = "a naked function, C functions")]

use super::super::{process, uring};
use super::copies::{copying, from, to};
use super::kernel_aio;
use super::metadata::{on_descriptor, size};
use super::naming::{changing, mounting, parting, unmounting, unsharing};
use super::opening::{closing, closing_range_with, controlling, duplicating, opening, opening_elsewhere, replacing};
use super::positions::{seeking, syncing};
use super::sharing::before_system_call;
use super::transfers::{Vector, at_either, at_offset, at_position};
use crate::ops::{
    POSIX_ALLOCATE, POSIX_DATA_SYNC, POSIX_READ, POSIX_READV, POSIX_SYNC, POSIX_TRUNCATE, POSIX_WRITE, POSIX_WRITEV,
};
use crate::real::{Slot, slot};
use crate::{lifecycle, record, sys, tls};
use libc::{c_int, c_long, c_void, iovec, off_t};
use std::arch::naked_asm;
use std::sync::atomic::{AtomicPtr, Ordering};
use trace_format::segment::NO_OFFSET;

static SYSCALL: Slot = slot!("syscall");
/// Address of the real syscall(2), once the constructor has resolved it.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

pub(crate) fn prepare() {
    NEXT.store(SYSCALL.address(), Ordering::Relaxed);
}

/// Number of system call numbers that the table covers; calls from this number on are passed on unrecorded.
const NUMBERS: usize = 512;

/// System calls after which another process may run in this memory; the tracer notes the call and passes it on unchanged.
const SHARING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_clone,
    libc::SYS_clone3,
];

/// System call number of io_pgetevents(2), which the libc crate lacks (Linux, <asm/unistd_64.h> and <asm-generic/unistd.h>).
const IO_PGETEVENTS: c_long = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

/// Wraps syscall(2).
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[unsafe(naked)]
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_syscall"))]
pub(crate) unsafe extern "C" fn syscall() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        "cmp rdi, {numbers}",
        "jae 2f",
        "lea rax, [rip + {table}]",
        "movzx eax, byte ptr [rax + rdi]",
        "cmp eax, 1",
        "je 3f",
        "jb 2f",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "call {shared}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "2:",
        "mov rax, qword ptr [rip + {next}]",
        "test rax, rax",
        "je {plain}",
        "jmp rax",
        "3:",
        crate::real::note_caller!(),
        "jmp {recorded}",
        place = const crate::tls::CALLER,
        numbers = const NUMBERS,
        table = sym IS_RECORDED,
        recorded = sym recorded,
        next = sym NEXT,
        plain = sym plain,
        shared = sym before_system_call,
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "cmp x0, #{numbers}",
        "b.hs 2f",
        "adrp x16, {table}",
        "add x16, x16, :lo12:{table}",
        "ldrb w16, [x16, x0]",
        "cbz w16, 2f",
        "tbnz w16, #1, 4f",
        "b {recorded}",
        "4:",
        "stp x29, x30, [sp, #-80]!",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "bl {shared}",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "2:",
        "adrp x16, {next}",
        "ldr x16, [x16, :lo12:{next}]",
        "cbz x16, 3f",
        "br x16",
        "3:",
        "b {plain}",
        numbers = const NUMBERS,
        table = sym IS_RECORDED,
        recorded = sym recorded,
        next = sym NEXT,
        plain = sym plain,
        shared = sym before_system_call,
    );
}

/// Makes the system call directly, while the real syscall(2) is not yet resolved.
unsafe extern "C" fn plain(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    // SAFETY: passes the caller's own arguments.
    unsafe { sys::pass(number, [a, b, c, d, e, f]) }
}

type Syscall = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

/// Calls the real syscall(2) with the caller's arguments. Arguments that were not passed are whatever the registers hold, as in the C library.
unsafe fn next(number: c_long, arguments: [usize; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    let address = NEXT.load(Ordering::Relaxed);
    let function = if address.is_null() {
        plain
    } else {
        // SAFETY: syscall(2) takes a number and up to six registers.
        unsafe { std::mem::transmute::<*mut c_void, Syscall>(address) }
    };
    // SAFETY: passes the caller's own arguments.
    unsafe { function(number, a, b, c, d, e, f) }
}

fn pointer<T>(register: usize) -> *mut T {
    std::ptr::with_exposed_provenance_mut(register)
}

/// Makes and records a system call that is in the table of recorded system calls.
unsafe extern "C" fn recorded(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    // SAFETY: passes the caller's own arguments.
    let call = || unsafe { next(number, [a, b, c, d, e, f]) };
    // Before the start of the library, the caller may be an allocator in the middle of an allocation.
    if !record::is_begun() || tls::current().is_in_library() {
        return call();
    }
    act(number, [a, b, c, d, e, f], call)
}

/// Defines, from one table, the system calls that [`syscall`] sends to [`recorded`], and the action for each.
macro_rules! table {
    (
        |$number:ident, $registers:pat_param, $call:ident| { $($begin:tt)* }
        $($(#[$cfg:meta])* $($name:path)|+ => $done:expr,)+
    ) => {
        /// Action of the wrapped syscall(2), by system call number: 0 passes the call on, 1 records it, 2 notes it and passes it on.
        static IS_RECORDED: [u8; NUMBERS] = {
            let mut table = [0; NUMBERS];
            $($(#[$cfg])* { $(table[$name as usize] = 1;)+ })+
            let mut at = 0;
            while at < SHARING.len() {
                assert!(table[SHARING[at] as usize] == 0, "both recorded and passed on");
                table[SHARING[at] as usize] = 2;
                at += 1;
            }
            table
        };

        /// Makes the system call `$number` with the arguments `$registers` through `$call`, and records it.
        fn act($number: c_long, $registers: [usize; 6], $call: impl Fn() -> c_long + Copy) -> c_long {
            $($begin)*
            match $number {
                $($(#[$cfg])* $($name)|+ => $done,)+
                _ => $call(),
            }
        }
    };
}

table! {
    |number, [a, b, c, d, _e, f], call| {
        let (whole, small) = (|| call() as isize, || call() as c_int);
        let (descriptor, offset) = (a as c_int, d as off_t);
        let (buffer, pieces) = (pointer::<c_void>(b), Vector(pointer::<iovec>(b), c as c_int));
    }
    libc::SYS_read => at_position(descriptor, &POSIX_READ, buffer, whole) as c_long,
    libc::SYS_write => at_position(descriptor, &POSIX_WRITE, buffer, whole) as c_long,
    libc::SYS_readv => at_position(descriptor, &POSIX_READV, pieces, whole) as c_long,
    libc::SYS_writev => at_position(descriptor, &POSIX_WRITEV, pieces, whole) as c_long,
    libc::SYS_pread64 => at_offset(descriptor, &POSIX_READ, buffer, offset, whole) as c_long,
    libc::SYS_pwrite64 => at_offset(descriptor, &POSIX_WRITE, buffer, offset, whole) as c_long,
    // The offset is passed in two halves; with 64-bit registers the lower half holds all of it (preadv(2)).
    libc::SYS_preadv => at_offset(descriptor, &POSIX_READV, pieces, offset, whole) as c_long,
    libc::SYS_pwritev => at_offset(descriptor, &POSIX_WRITEV, pieces, offset, whole) as c_long,
    libc::SYS_preadv2 => at_either(descriptor, &POSIX_READV, pieces, offset, f as c_int, whole) as c_long,
    libc::SYS_pwritev2 => at_either(descriptor, &POSIX_WRITEV, pieces, offset, f as c_int, whole) as c_long,
    libc::SYS_copy_file_range | libc::SYS_splice => {
        copying(|| [from(descriptor, pointer(b)), to(c as c_int, pointer(d))], whole) as c_long
    },
    libc::SYS_sendfile => {
        copying(|| [from(b as c_int, pointer(c)), to(descriptor, std::ptr::null())], whole) as c_long
    },
    libc::SYS_lseek => seeking(descriptor, call),
    libc::SYS_fsync => syncing(descriptor, &POSIX_SYNC, small).into(),
    libc::SYS_fdatasync => syncing(descriptor, &POSIX_DATA_SYNC, small).into(),
    libc::SYS_ftruncate => on_descriptor(descriptor, &POSIX_TRUNCATE, NO_OFFSET, size(b as off_t), small).into(),
    libc::SYS_fallocate => on_descriptor(descriptor, &POSIX_ALLOCATE, c as off_t, size(d as off_t), small).into(),
    libc::SYS_close => closing(descriptor, small).into(),
    libc::SYS_close_range => closing_range_with(a as u32, b as u32, c as u32, |first, last| {
        // SAFETY: part of the range that the program closes.
        let part = || unsafe { sys::pass_on!(libc::SYS_close_range, first, last, c) as c_int };
        if (first, last) == (a as u32, b as u32) { small() } else { part() }
    }).into(),
    libc::SYS_dup => duplicating(descriptor, small).into(),
    libc::SYS_dup3 => replacing(descriptor, b as c_int, small).into(),
    libc::SYS_fcntl => controlling(descriptor, b as c_int, c, small).into(),
    libc::SYS_openat => opening(descriptor, pointer(b), c as c_int, small).into(),
    libc::SYS_openat2 => {
        // SAFETY: the call succeeded, so the kernel has read the structure, which begins with the flags.
        let flags = || unsafe { pointer::<u64>(c).read_unaligned() };
        opening_elsewhere(descriptor, pointer(b), || flags() as c_int, small).into()
    },
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open => opening(libc::AT_FDCWD, pointer(a), b as c_int, small).into(),
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat => opening(libc::AT_FDCWD, pointer(a), 0, small).into(),
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2 => replacing(descriptor, b as c_int, small).into(),
    libc::SYS_io_submit => kernel_aio::submitting(a, b as c_long, pointer(c), kernel_aio::by_errno, call),
    libc::SYS_io_getevents | IO_PGETEVENTS => kernel_aio::collecting(a, pointer(d), call),
    libc::SYS_io_destroy => kernel_aio::destroying(a, call),
    libc::SYS_io_uring_setup => uring::setting_up(pointer(b), call),
    libc::SYS_io_uring_enter => uring::entering(descriptor, b as u32, d as u32, call),
    libc::SYS_io_uring_register => uring::registering(descriptor, b as u32, pointer(c), d as u32, call),
    libc::SYS_prctl => process::by_prctl(a, b, c, call),
    libc::SYS_seccomp => process::by_seccomp(a, b, c, call),
    libc::SYS_exit_group => {
        lifecycle::ending("exit_group", lifecycle::Next::Gone);
        call()
    },
    // These system calls are not recorded; see `naming`.
    libc::SYS_unshare => unsharing(a as c_int, call),
    libc::SYS_chroot | libc::SYS_pivot_root | libc::SYS_setns => parting(call),
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename | libc::SYS_symlink => changing(call),
    libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_symlinkat => changing(call),
    libc::SYS_mount | libc::SYS_move_mount => mounting(call),
    libc::SYS_umount2 => unmounting(pointer(a), small).into(),
    libc::SYS_wait4 | libc::SYS_waitid => changing(call),
}
