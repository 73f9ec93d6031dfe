//! dlopen(3) and dlmopen(3), only to count what stays unseen: a library that is opened with RTLD_DEEPBIND finds the C library's
//! functions before these, and one in a namespace of its own has a C library of its own.
//!
//! Where a library is searched is decided by who calls (RUNPATH and $ORIGIN of the object that the return address lies in, ld.so(8)),
//! so these functions jump to the real ones and leave registers and stack as they came.
#![expect(unsafe_code, reason = "naked functions")]

use crate::notes::Note;
use crate::real::{Slot, slot};
use crate::record;
use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

static DLOPEN: Slot = slot!("dlopen");
static DLMOPEN: Slot = slot!("dlmopen");
/// The next definitions, once they have been found.
static NEXT_DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
static NEXT_DLMOPEN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds the next definitions. For the constructor.
pub(super) fn prepare() {
    find_dlopen();
    find_dlmopen();
}

extern "C" fn find_dlopen() -> *mut c_void {
    let address = DLOPEN.address();
    NEXT_DLOPEN.store(address, Ordering::Relaxed);
    address
}

extern "C" fn find_dlmopen() -> *mut c_void {
    let address = DLMOPEN.address();
    NEXT_DLMOPEN.store(address, Ordering::Relaxed);
    address
}

/// A library is about to be opened so that its calls are its own affair.
extern "C" fn unseen() {
    if record::is_on() {
        Note::OutOfReach.count();
    }
}

const _: () = assert!(libc::RTLD_DEEPBIND == 8 && libc::RTLD_NOLOAD == 4);

/// A function that counts a library by the conditions in front, which go to 1 to count it and to 2 to pass it by, and then goes on to the
/// next definition, with registers and stack as they came.
macro_rules! counted {
    (
        $(#[$doc:meta])*
        $name:ident, $next:ident, $find:ident;
        x86_64: $($x86_64:literal)+;
        aarch64: $($aarch64:literal)+;
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name that it wraps.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                $($x86_64,)+
                "1:",
                "push rdi", "push rsi", "push rdx",
                "call {unseen}",
                "pop rdx", "pop rsi", "pop rdi",
                "2:",
                "mov rax, qword ptr [rip + {next}]",
                "test rax, rax",
                "jne 3f",
                "push rdi", "push rsi", "push rdx",
                "call {find}",
                "pop rdx", "pop rsi", "pop rdi",
                "test rax, rax",
                "jne 3f",
                "ret",
                "3:",
                "jmp rax",
                unseen = sym unseen,
                next = sym $next,
                find = sym $find,
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                $($aarch64,)+
                "1:",
                "stp x29, x30, [sp, #-48]!", "stp x0, x1, [sp, #16]", "str x2, [sp, #32]",
                "bl {unseen}",
                "ldr x2, [sp, #32]", "ldp x0, x1, [sp, #16]", "ldp x29, x30, [sp], #48",
                "2:",
                "adrp x16, {next}",
                "ldr x16, [x16, :lo12:{next}]",
                "cbnz x16, 3f",
                "stp x29, x30, [sp, #-48]!", "stp x0, x1, [sp, #16]", "str x2, [sp, #32]",
                "bl {find}",
                "mov x16, x0",
                "ldr x2, [sp, #32]", "ldp x0, x1, [sp, #16]", "ldp x29, x30, [sp], #48",
                "cbnz x16, 3f",
                "mov x0, xzr",
                "ret",
                "3:",
                "br x16",
                unseen = sym unseen,
                next = sym $next,
                find = sym $find,
            );
        }
    };
}

counted! {
    /// dlopen(3). With RTLD_DEEPBIND and without RTLD_NOLOAD (8 of 12) it is counted.
    dlopen, NEXT_DLOPEN, find_dlopen;
    x86_64: "mov eax, esi" "and eax, 12" "cmp eax, 8" "jne 2f";
    aarch64: "and w9, w1, #12" "cmp w9, #8" "b.ne 2f";
}

counted! {
    /// dlmopen(3). Counted in any namespace but the program's (LM_ID_BASE, 0), and there as above.
    dlmopen, NEXT_DLMOPEN, find_dlmopen;
    x86_64: "mov eax, edx" "and eax, 12" "cmp eax, 8" "je 1f" "test eax, 4" "jne 2f" "test rdi, rdi" "je 2f";
    aarch64: "and w9, w2, #12" "cmp w9, #8" "b.eq 1f" "tbnz w9, #2, 2f" "cbz x0, 2f";
}
