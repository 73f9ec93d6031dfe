//! Finds the real functions ("next definitions") behind all wrappers, and other symbols of other libraries. Only this module knows if a
//! dynamic linker (`loaded`) or the static linker (`linked`, in libdxt_static.a) resolves the symbols.
#![expect(unsafe_code, reason = "getauxval(3), a symbol for others to find")]

#[cfg(dxt_static)]
mod linked;
#[cfg(not(dxt_static))]
mod loaded;
mod ranges;

#[cfg(dxt_static)]
pub(crate) use linked::{
    Slot, Word, called, global, known, next, other_tracer, shared_libraries, slot, slot_again, variable, word, word_of,
};
#[cfg(not(dxt_static))]
pub(crate) use loaded::{
    Slot, called, global, global_or_loaded_symbol, global_symbol, loaded_symbol, next, next_symbol, object_path,
    other_tracer, slot, slot_again, variable,
};
pub(crate) use ranges::object_range;

use std::ffi::CStr;

/// Name of the ELF note (elf(5), PT_NOTE) that marks a program with a linked-in tracer.
pub(crate) const LINKED_NOTE: &[u8] = b"DXT tracer\0";

/// Name of a symbol that only libdxt_tracer.so exports.
const VERSION: &CStr = c"dxt_tracer_version";

/// Exported version string, by which another tracer in the process recognizes this one. Tracers of version 0.2.0 have no such symbol.
#[cfg(not(dxt_static))]
#[unsafe(no_mangle)]
#[used]
static dxt_tracer_version: [u8; env!("CARGO_PKG_VERSION").len() + 1] = {
    let (mut version, text) = ([0; _], env!("CARGO_PKG_VERSION").as_bytes());
    version.split_at_mut(text.len()).0.copy_from_slice(text);
    version
};

/// Another tracer library, which records in this process instead of this one.
pub(crate) struct Other {
    pub(crate) version: &'static [u8],
    pub(crate) path: &'static [u8],
}

/// Returns `name` as a C string; a macro must have appended the NUL.
#[cfg(not(dxt_static))]
pub(crate) const fn terminated(name: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a symbol's name holds no NUL"),
    }
}

/// True if the program has more privileges than the user who started it; the user must then not control its output (getauxval(3), AT_SECURE).
pub(crate) fn is_secure() -> bool {
    // SAFETY: no preconditions; the kernel has put the answer on the stack.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the address of _dl_find_object(3), which finds the module of an address without a lock; null before glibc 2.35.
#[cfg(target_arch = "x86_64")]
pub(crate) fn find_object() -> *mut std::ffi::c_void {
    global!("_dl_find_object")
}

/// Returns the end of the main thread's stack when the program started, where the kernel has put the arguments; null if unknown.
pub(crate) fn stack_end() -> *const std::ffi::c_long {
    let variable = global!("__libc_stack_end");
    // SAFETY: null, or the dynamic linker's variable: a pointer.
    unsafe { variable.cast::<*const std::ffi::c_long>().as_ref() }.copied().unwrap_or(std::ptr::null())
}

/// Neutral return value of a wrapped function that the C library lacks, by type; -1 would be wrong for some types.
pub(crate) trait Nothing {
    const NOTHING: Self;
}

impl<T> Nothing for *mut T {
    const NOTHING: Self = std::ptr::null_mut();
}

macro_rules! nothing {
    ($($type:ty = $value:expr),+) => { $(impl Nothing for $type { const NOTHING: Self = $value; })+ };
}

nothing!(() = (), i32 = 0, u32 = 0, i64 = 0, isize = 0, usize = 0);

pub(crate) fn none<T: Nothing>() -> T {
    crate::errno::set(libc::ENOSYS);
    T::NOTHING
}

/// Defines wrapped functions: `hooks! { TABLE; /// doc  [name, alias](arg: type, ...) -> type = |real| body; ... }`.
///
/// Each name becomes an exported C function with its own slot; in the body, `real` is the real function. `TABLE` lists all slots of the
/// family, which the constructor resolves. A wrapper whose real function the C library lacks returns `missing`.
///
/// If the libc crate declares the function, the entry must have the same type; `unlike "why"` before the names of an entry turns this check off.
///
/// `hooks! { TABLE, missing = value, with Count = c_int | i64; [name, alias; large name, alias](count: Count, ...) -> ...; }` defines
/// functions with int counts in `TABLE`, and functions with 64-bit counts (MPI 4.0, 19.2) in `large::TABLE`. Names after `;` are optional.
/// If the library lacks a function with 64-bit counts, the one with int counts is called: the module has to import `narrow`.
macro_rules! hooks {
    ($table:ident, missing = $missing:expr;
     $( $(#[$doc:meta])* $(unlike $why:literal)? [$($name:ident),+ $(=> $small:ident)?] $args:tt -> $ret:ty = |$real:ident| $body:expr; )+) => {
        pub(crate) static $table: &[&$crate::real::Slot] = &[$( $(&slots::$name.0,)+ )+];

        #[expect(non_upper_case_globals, reason = "a slot has its symbol's name")]
        mod slots {
            pub(super) struct Named(pub(super) $crate::real::Slot);
            $( $(
                pub(super) static $name: Named = Named($crate::real::slot!(stringify!($name)));
            )+ )+
        }

        $( $crate::real::hooks!(@names [$($name),+] [$($why)?] [$(#[$doc])*] $args -> $ret, [$($small)?] $missing, |$real| $body); )+
    };
    ($table:ident, missing = $missing:expr, with $($type:ident = $int:ty | $wide:ty),+;
     $( $(#[$doc:meta])* [$first:ident $(, $name:ident)* $(; $($wide_name:ident),+)?] $args:tt -> $ret:ty = |$real:ident| $body:expr; )+) => {
        $( type $type = $int; )+
        $crate::real::hooks! { $table, missing = $missing; $( $(#[$doc])* [$first $(, $name)*] $args -> $ret = |$real| $body; )+ }

        pub(super) mod large {
            use super::*;

            $( type $type = $wide; )+
            $crate::real::hooks! { $table, missing = $missing; $( $( [$($wide_name),+ => $first] $args -> $ret = |$real| $body; )? )+ }
        }
    };
    (@names [$($name:ident),+] $why:tt $docs:tt $args:tt -> $ret:ty, $small:tt $missing:expr, |$real:ident| $body:expr) => {
        $(
            $crate::real::hooks!(@one $name $docs $args -> $ret, $small $missing, |$real| $body);
            $crate::real::hooks!(@type $name $why $args -> $ret);
        )+
    };
    (@missing [] $missing:expr, $($arg:ident),*) => {
        $missing
    };
    (@missing [$small:ident] $missing:expr, $($arg:ident),*) => {{
        use narrow::{Arrays, Narrow, Tells};
        let mut arrays = Arrays::of(stringify!($small));
        $( Tells::tell(&$arg, &mut arrays); )*
        // SAFETY: the same call with the caller's arguments; arrays live until it has returned.
        let call = || Some(unsafe { super::$small($( Narrow::narrow($arg, &arrays)? ),*) });
        call().unwrap_or_else(|| arrays.too_large())
    }};
    (@type $name:ident [] ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty) => {
        const _: () = {
            const OURS: unsafe extern "C" fn($($type),*) -> $ret = $name;
            {
                // For a name that the libc crate lacks, this finds the wrapper itself, outside the block.
                #[allow(clippy::allow_attributes, clippy::wildcard_imports, unused_imports, reason = "any name")]
                use libc::*;
                $crate::real::same_type(OURS, $name);
            }
        };
    };
    (@type $name:ident [$why:literal] $args:tt -> $ret:ty) => {};
    (@one $name:ident [$(#[$doc:meta])*] ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty, $small:tt $missing:expr, |$real:ident| $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Callers must meet the requirements of the wrapped function; the arguments are passed on unchanged.
        #[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
        #[cfg_attr(dxt_static, unsafe(export_name = concat!("__wrap_", stringify!($name))))]
        #[cfg_attr(target_arch = "x86_64", unsafe(naked))]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            unsafe extern "C" fn body($($arg: $type),*) -> $ret {
                let address = slots::$name.0.address();
                if address.is_null() {
                    return $crate::real::hooks!(@missing $small $missing, $($arg),*);
                }
                // SAFETY: the symbol of this name has this C type.
                let function = unsafe {
                    std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $ret>(address)
                };
                // SAFETY: passes the caller's own arguments, or arguments that stand for them; the caller promised to meet this function's requirements.
                let $real = move |$($arg: $type),*| -> $ret { unsafe { function($($arg),*) } };
                $body
            }
            #[cfg(target_arch = "x86_64")]
            $crate::real::enter!(body);
            // SAFETY: passes the caller's own arguments.
            #[cfg(not(target_arch = "x86_64"))]
            unsafe { body($($arg),*) }
        }
    };
}
pub(crate) use hooks;

/// Assembly, first in a function: stores its return address, stack pointer and frame pointer at offset `place` in the thread's block
/// ([`crate::sites`]). Changes r10 and r11 only, which hold no argument and belong to the called function (System V ABI, 3.2.3).
#[cfg(target_arch = "x86_64")]
macro_rules! note_caller {
    () => {
        concat!(
            "mov r11, qword ptr [rip + dxt_thread_block@GOTTPOFF]\n",
            "mov r10, qword ptr [rsp]\n",
            "mov qword ptr fs:[r11 + {place}], r10\n",
            "mov qword ptr fs:[r11 + {place} + 8], rsp\n",
            "mov qword ptr fs:[r11 + {place} + 16], rbp",
        )
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use note_caller;

/// Body of a naked function: notes its caller and jumps to the function `$body`, with stack and arguments unchanged.
#[cfg(target_arch = "x86_64")]
macro_rules! enter {
    ($body:path) => {
        $crate::real::enter!($body, $crate::tls::CALLER)
    };
    ($body:path, $place:expr) => {
        std::arch::naked_asm!(
            $crate::real::note_caller!(),
            "jmp {body}",
            place = const $place,
            body = sym $body,
        )
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use enter;

/// Compiles only if both functions have the same type. Ensures that a wrapped function has the type that the libc crate declares.
pub(crate) const fn same_type<F: Copy>(_ours: F, _theirs: F) {}
