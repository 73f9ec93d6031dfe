//! Wraps vfork(2) and clone(2). After the first call, a process with another ID may run in this memory, whose calls must not be recorded as
//! this process's. Before the first call, the process ID need not be checked.
//!
//! Both functions return twice, or on another stack. So each wrapper is a jump that preserves all but scratch registers.
#![expect(unsafe_code, reason = "naked functions")]

use super::readable::{Answer, Pages};
use crate::real::{Slot, slot};
use crate::{errno, without_tls};
use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_void};

static VFORK_SLOT: Slot = slot!("vfork");
static CLONE_SLOT: Slot = slot!("clone");

pub(crate) static SHARING: &[&Slot] = &[&VFORK_SLOT, &CLONE_SLOT];

/// Prepares for a vfork(2) by the program and returns the address of vfork(2), or of fork(2) in a C library without vfork.
extern "C" fn before_vfork() -> *mut c_void {
    without_tls::vforking();
    let address = VFORK_SLOT.address();
    if address.is_null() { libc::fork as *mut c_void } else { address }
}

/// Prepares for a clone(2) by the program and returns the address of clone(2), which exists since the program has called it.
extern "C" fn before_clone(_run: *const c_void, _stack: *const c_void, flags: c_int) -> *mut c_void {
    without_tls::cloning(u64::from(flags as u32));
    CLONE_SLOT.address()
}

/// Size of the shortest `struct clone_args`, in bytes (CLONE_ARGS_SIZE_VER0); every version begins with the flags.
const ARGUMENTS_BYTES: usize = 64;

/// Prepares for a vfork(2), clone(2) or clone3(2) made through syscall(2); `first` and `second` are the call's first two arguments.
pub(super) extern "C" fn before_system_call(number: c_long, first: usize, second: usize) {
    match number {
        libc::SYS_clone => without_tls::cloning(first as u64),
        libc::SYS_clone3 => {
            let errno = errno::save();
            let mut pages = Pages::new();
            let is_there =
                second >= ARGUMENTS_BYTES && pages.add(first, size_of::<u64>()) && pages.ask() == Answer::Readable;
            errno.restore();
            // SAFETY: checked above to be readable.
            without_tls::cloning(if is_there { unsafe { (first as *const u64).read_unaligned() } } else { 0 });
        }
        _ => without_tls::vforking(),
    }
}

/// Wraps vfork(2), which is not recorded; the tracer prepares for a child that shares its memory.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[unsafe(naked)]
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_vfork"))]
pub(crate) unsafe extern "C" fn vfork() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("sub rsp, 8", "call {before}", "add rsp, 8", "jmp rax", before = sym before_vfork);
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "br x16",
        before = sym before_vfork,
    );
}

/// Wraps clone(2), which is not recorded; the tracer prepares for a process that may share its memory.
///
/// # Safety
/// Callers must meet the requirements of the wrapped function of this name.
#[unsafe(naked)]
#[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
#[cfg_attr(dxt_static, unsafe(export_name = "__wrap_clone"))]
pub(crate) unsafe extern "C" fn clone() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "call {before}",
        "mov r11, rax",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp r11",
        before = sym before_clone,
    );
    #[cfg(target_arch = "aarch64")]
    naked_asm!(
        "stp x29, x30, [sp, #-80]!",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "br x16",
        before = sym before_clone,
    );
}
