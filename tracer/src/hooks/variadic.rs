//! Exported names of variadic functions, which are implemented in C (variadic.c). From this kind of library the linker exports only symbols
//! defined in Rust; so each name is a jump to C that preserves registers and stack, which hold the arguments.
#![expect(unsafe_code, reason = "naked functions")]

#[cfg(target_arch = "aarch64")]
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
            $crate::real::enter!($target, $crate::tls::VARIADIC_CALLER);
            #[cfg(target_arch = "aarch64")]
            naked_asm!("b {target}", target = sym $target);
        }
    )+ };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("a jump to a C function must be written for this processor, in tracer/src/hooks/variadic.rs");

variadic! {
    /// Wraps execl(3); passes the arguments, as an array, to the wrapper of execv(3).
    execl = dxt_execl;
    /// Wraps execlp(3); passes the arguments, as an array, to the wrapper of execvp(3).
    execlp = dxt_execlp;
    /// Wraps execle(3); passes the arguments, as an array, to the wrapper of execve(2).
    execle = dxt_execle;
    fprintf = dxt_fprintf;
    printf = dxt_printf;
    dprintf = dxt_dprintf;
    /// Wraps fscanf(3) as older programs call it.
    fscanf = dxt_fscanf;
    /// Wraps scanf(3) as older programs call it.
    scanf = dxt_scanf;
    /// Wraps fscanf(3) as C99 programs call it.
    __isoc99_fscanf = dxt_isoc99_fscanf;
    /// Wraps scanf(3) as C99 programs call it.
    __isoc99_scanf = dxt_isoc99_scanf;
    /// Wraps fscanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_fscanf = dxt_isoc23_fscanf;
    /// Wraps scanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_scanf = dxt_isoc23_scanf;
    /// Wraps fprintf(3) as compiled with _FORTIFY_SOURCE.
    __fprintf_chk = dxt_fprintf_chk;
    /// Wraps printf(3) as compiled with _FORTIFY_SOURCE.
    __printf_chk = dxt_printf_chk;
    /// Wraps dprintf(3) as compiled with _FORTIFY_SOURCE.
    __dprintf_chk = dxt_dprintf_chk;
    fwprintf = dxt_fwprintf;
    wprintf = dxt_wprintf;
    /// Wraps fwscanf(3) as older programs call it.
    fwscanf = dxt_fwscanf;
    /// Wraps wscanf(3) as older programs call it.
    wscanf = dxt_wscanf;
    /// Wraps fwscanf(3) as C99 programs call it.
    __isoc99_fwscanf = dxt_isoc99_fwscanf;
    /// Wraps wscanf(3) as C99 programs call it.
    __isoc99_wscanf = dxt_isoc99_wscanf;
    /// Wraps fwscanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_fwscanf = dxt_isoc23_fwscanf;
    /// Wraps wscanf(3) as C23 programs call it (glibc 2.38).
    __isoc23_wscanf = dxt_isoc23_wscanf;
    /// Wraps fwprintf(3) as compiled with _FORTIFY_SOURCE.
    __fwprintf_chk = dxt_fwprintf_chk;
    /// Wraps wprintf(3) as compiled with _FORTIFY_SOURCE.
    __wprintf_chk = dxt_wprintf_chk;
}
