//! Real functions behind the wrappers, in a program into which the tracer is linked statically (libdxt_static.a, `dxt-run --link-flags`).
//! The linker has filled a table of weak references; functions absent from the link are null.
//!
//! With `--wrap=write`, a reference to `write` in any object of the link means `__wrap_write`, the tracer's function, and `__real_write`
//! means the C library's (ld(1)). No strong reference to the C library's function remains, so `-u write` extracts it from its archive. Each
//! entry (word) of the table has a symbol that names the function. scripts/link-flags gets these symbols, and the symbols of the libraries
//! in the link, from nm(1), and derives the linker options from their intersection. There is no other list.
#![expect(unsafe_code, reason = "symbols that the linker fills in")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

// ELF note that marks a program with a linked-in tracer (`LINKED_NOTE`).
std::arch::global_asm!(
    ".pushsection .note.dxt,\"a\",%note",
    ".p2align 2",
    ".long 12, 4, 1",
    ".ascii \"DXT tracer\\0\\0\"",
    ".p2align 2",
    ".long 1",
    ".popsection",
);

/// Table entry with two addresses that the linker has found for a function, such as `write`: that of `__real_write`, the function behind
/// the wrapper, and that of the plain name `write`. Either may be null.
#[repr(C)]
pub(crate) struct Word {
    behind: AtomicPtr<c_void>,
    plain: AtomicPtr<c_void>,
}

impl Word {
    /// Returns the address of the real function, or null if the static link has no such function.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        // Relaxed suffices: the word does not change once the program runs.
        let behind = self.behind.load(Ordering::Relaxed);
        if behind.is_null() { self.plain.load(Ordering::Relaxed) } else { behind }
    }
}

/// Reference to the table entry with the addresses of one wrapped function's real implementation.
pub(crate) struct Slot(&'static Word);

impl Slot {
    pub(crate) const fn new(word: &'static Word) -> Self {
        Self(word)
    }

    /// Returns the address of the real function, or null if the static link has no such function.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        self.0.address()
    }

    /// Does nothing: the linker has resolved the function already.
    pub(crate) fn find_ahead(&self) {}

    #[inline(always)]
    pub(crate) fn known_address(&self) -> *mut c_void {
        self.0.address()
    }

    /// Returns false: after static linking, the library of a function is unknown.
    pub(crate) fn is_of(&self, _parts: &[&[u8]]) -> bool {
        false
    }
}

/// Defines the table entry ([`Word`]) with the symbol `dxt_<kind>_<name>`, and refers to it. `$behind`, `$plain`: symbols whose addresses
/// the entry holds, such as `__real_write` and `write`; 0 for none.
macro_rules! word {
    ($kind:literal, $name:expr, $behind:expr, $plain:expr $(, $weak:expr)?) => {{
        mod word {
            std::arch::global_asm!(
                ".pushsection .data.rel.ro.dxt_linked,\"aw\"",
                ".p2align 3",
                concat!(".weak __real_", $name),
                $(concat!(".weak ", $weak),)?
                concat!(".globl dxt_", $kind, "_", $name),
                concat!(".hidden dxt_", $kind, "_", $name),
                concat!("dxt_", $kind, "_", $name, ":"),
                concat!(".quad ", $behind, ", ", $plain),
                ".popsection",
            );
        }
        $crate::real::word_of!($kind, $name)
    }};
}
pub(crate) use word;

/// Refers to a function's table entry ([`Word`], addresses of the real function) that another macro call defines.
macro_rules! word_of {
    ($kind:literal, $name:expr) => {{
        // SAFETY: a word of this type made by the assembler; the linker has filled it in before any code runs.
        #[expect(unsafe_code, reason = "a symbol that the linker fills in")]
        unsafe extern "C" {
            #[link_name = concat!("dxt_", $kind, "_", $name)]
            safe static WORD: $crate::real::Word;
        }
        &WORD
    }};
}
pub(crate) use word_of;

/// Makes the [`Slot`] of a wrapped function, which gives the address of the real function: `slot!("write")`.
macro_rules! slot {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::word!("real", $name, concat!("__real_", $name), "0"))
    };
}
pub(crate) use slot;

/// Makes a slot for the address of a real function like [`slot`], if another module has a slot for the same function too.
macro_rules! slot_again {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::word_of!("real", $name))
    };
}
pub(crate) use slot_again;

/// Defines the table entry of a function that the tracer itself calls and that may be wrapped too.
macro_rules! known {
    ($name:expr) => {
        $crate::real::word!("known", $name, concat!("__real_", $name), $name, $name)
    };
}
pub(crate) use known;

/// Makes a slot for the address of a function that the tracer itself calls: `called!("PMPI_Init")`.
macro_rules! called {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::known!($name))
    };
}
pub(crate) use called;

/// Returns the address of a variable or function: `global!("ompi_mpi_byte")`; null if the link lacks it.
macro_rules! global {
    ($name:expr) => {
        $crate::real::known!($name).address()
    };
}
pub(crate) use global;

pub(crate) use global as next;
pub(crate) use global as variable;

/// Returns another tracer that records instead of this one: a libdxt_tracer.so loaded by the dynamic linker in addition to this linked-in tracer.
pub(crate) fn other_tracer() -> Option<super::Other> {
    if !has_dynamic_linker() {
        return None;
    }
    // A dynamically linked program has dlsym(3), or else an old C library and no preloaded library.
    let dlsym = word!("seen", "dlsym", "0", "dlsym", "dlsym").address();
    // SAFETY: dlsym(3) has this C type.
    let dlsym = unsafe { std::mem::transmute::<*mut c_void, Option<Dlsym>>(dlsym) }?;
    // SAFETY: the name ends in NUL.
    let version = unsafe { dlsym(libc::RTLD_DEFAULT, super::VERSION.as_ptr()) };
    // SAFETY: null, or a string of that library.
    let version = (!version.is_null()).then(|| unsafe { CStr::from_ptr(version.cast()) })?;
    Some(super::Other { version: version.to_bytes(), path: b"libdxt_tracer.so" })
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const libc::c_char) -> *mut c_void;

/// True if the program was loaded by a dynamic linker (getauxval(3), AT_BASE).
pub(crate) fn has_dynamic_linker() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::getauxval(libc::AT_BASE) != 0 }
}

/// Returns the number of shared libraries in the process, except the C library's own; the tracer does not see their calls.
pub(crate) fn shared_libraries() -> u64 {
    if has_dynamic_linker() { super::ranges::libraries() } else { 0 }
}
