//! Wraps dlopen(3) and dlmopen(3), only to count libraries whose calls the tracer cannot see. A library opened with RTLD_DEEPBIND finds the
//! C library's functions before the tracer's wrappers; a library in a namespace of its own has its own C library.
//!
//! The library search path depends on the caller (RUNPATH and $ORIGIN of the object that contains the return address, ld.so(8)). So these
//! wrappers jump to the real functions, with registers and stack unchanged.
#![expect(unsafe_code, reason = "naked functions")]

use crate::notes::Note;
use crate::real::{Slot, slot};
use crate::record;
use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

static DLOPEN: Slot = slot!("dlopen");
static DLMOPEN: Slot = slot!("dlmopen");
/// Address of the real dlopen(3); null until resolved.
static NEXT_DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
/// Address of the real dlmopen(3); null until resolved.
static NEXT_DLMOPEN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Resolves the real functions. Called by the library's constructor.
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

/// Counts a library whose calls the tracer will not see.
extern "C" fn unseen() {
    if record::is_on() {
        Note::OutOfReach.count();
    }
}

const _: () = assert!(libc::RTLD_DEEPBIND == 8 && libc::RTLD_NOLOAD == 4);

/// Defines a wrapper that may count the library and then jumps to the real function, with registers and stack unchanged. The conditions in
/// assembly jump to label 1 to count the library, or to label 2 to skip the count.
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
        /// Callers must meet the requirements of the wrapped function of this name.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                // Call sites in a library that was unloaded are not those of one that is loaded in its place.
                "movabs rax, 0x9E3779B97F4A7C15",
                "add qword ptr [rip + {generation}], rax",
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
                generation = sym $crate::sites::GENERATION,
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
    /// Wraps dlopen(3). Counts the library as one whose calls the tracer cannot see if RTLD_DEEPBIND is set and RTLD_NOLOAD is not (flags &
    /// 12 == 8).
    dlopen, NEXT_DLOPEN, find_dlopen;
    x86_64: "mov eax, esi" "and eax, 12" "cmp eax, 8" "jne 2f";
    aarch64: "and w9, w1, #12" "cmp w9, #8" "b.ne 2f";
}

counted! {
    /// Wraps dlmopen(3). In the program's namespace (LM_ID_BASE, 0) it counts libraries like the wrapper of dlopen(3); in any other
    /// namespace always, unless RTLD_NOLOAD is set.
    dlmopen, NEXT_DLMOPEN, find_dlmopen;
    x86_64: "mov eax, edx" "and eax, 12" "cmp eax, 8" "je 1f" "test eax, 4" "jne 2f" "test rdi, rdi" "je 2f";
    aarch64: "and w9, w2, #12" "cmp w9, #8" "b.eq 1f" "tbnz w9, #2, 2f" "cbz x0, 2f";
}
