//! Exported names of variadic functions. They are implemented in C (variadic.c), but from this kind of library the linker exports only
//! symbols defined in Rust; so each name is a jump that preserves registers and stack, which hold the arguments.
#![expect(unsafe_code, reason = "naked functions")]

use std::arch::naked_asm;

macro_rules! variadic {
    ($( $(#[$doc:meta])* $name:ident = $target:ident; )+) => { $(
        unsafe extern "C" {
            fn $target();
        }

        $(#[$doc])*
        ///
        /// # Safety
        /// Callers must meet the requirements of the wrapped function; the arguments are passed on unchanged.
        #[unsafe(naked)]
        #[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
        #[cfg_attr(dxt_static, unsafe(export_name = concat!("__wrap_", stringify!($name))))]
        pub(crate) unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!("jmp {target}", target = sym $target);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("b {target}", target = sym $target);
        }
    )+ };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("a jump to a C function must be written for this processor, in tracer/src/hooks/variadic.rs");

variadic! {
    /// execl(3), implemented through execv(3).
    execl = dxt_execl;
    /// execlp(3), implemented through execvp(3).
    execlp = dxt_execlp;
    /// execle(3), implemented through execve(2).
    execle = dxt_execle;
    /// fprintf(3), implemented through vfprintf(3).
    fprintf = dxt_fprintf;
    /// printf(3), implemented through vprintf(3).
    printf = dxt_printf;
    /// dprintf(3), implemented through vdprintf(3).
    dprintf = dxt_dprintf;
    /// fscanf(3) as older programs call it, implemented through vfscanf(3).
    fscanf = dxt_fscanf;
    /// scanf(3) as older programs call it, implemented through vscanf(3).
    scanf = dxt_scanf;
    /// fscanf(3) as C99 programs call it.
    __isoc99_fscanf = dxt_isoc99_fscanf;
    /// scanf(3) as C99 programs call it.
    __isoc99_scanf = dxt_isoc99_scanf;
    /// fscanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_fscanf = dxt_isoc23_fscanf;
    /// scanf(3) as C23 programs call it.
    __isoc23_scanf = dxt_isoc23_scanf;
    /// fprintf(3) as compiled with _FORTIFY_SOURCE.
    __fprintf_chk = dxt_fprintf_chk;
    /// printf(3) as compiled with _FORTIFY_SOURCE.
    __printf_chk = dxt_printf_chk;
    /// dprintf(3) as compiled with _FORTIFY_SOURCE.
    __dprintf_chk = dxt_dprintf_chk;
    /// fwprintf(3), implemented through vfwprintf(3).
    fwprintf = dxt_fwprintf;
    /// wprintf(3), implemented through vwprintf(3).
    wprintf = dxt_wprintf;
    /// fwscanf(3) as older programs call it, implemented through vfwscanf(3).
    fwscanf = dxt_fwscanf;
    /// wscanf(3) as older programs call it, implemented through vwscanf(3).
    wscanf = dxt_wscanf;
    /// fwscanf(3) as C99 programs call it.
    __isoc99_fwscanf = dxt_isoc99_fwscanf;
    /// wscanf(3) as C99 programs call it.
    __isoc99_wscanf = dxt_isoc99_wscanf;
    /// fwscanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_fwscanf = dxt_isoc23_fwscanf;
    /// wscanf(3) as C23 programs call it.
    __isoc23_wscanf = dxt_isoc23_wscanf;
    /// fwprintf(3) as compiled with _FORTIFY_SOURCE.
    __fwprintf_chk = dxt_fwprintf_chk;
    /// wprintf(3) as compiled with _FORTIFY_SOURCE.
    __wprintf_chk = dxt_wprintf_chk;
}
