//! Where functions are in a program that this tracer is linked into (libdxt_static.a, `dxt-run --link-flags`): the linker has
//! filled a table of weak references, in which what the program was linked without is null.
//!
//! With `--wrap=write`, `write` in any object of the link means `__wrap_write`, which is ours, and `__real_write` the C library's
//! (ld(1)). Since nobody names that strongly any more, `-u write` has it taken out of its archive. Each word of the table is a
//! symbol that says so: scripts/link-flags asks nm(1) for them and for what the libraries of the link have, and makes of what both
//! know the options. There is no other list.
#![expect(unsafe_code, reason = "symbols that the linker fills in")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

// The note whose name is `LINKED_NOTE`.
std::arch::global_asm!(
    ".pushsection .note.dxt,\"a\",%note",
    ".p2align 2",
    ".long 12, 4, 1",
    ".ascii \"DXT tracer\\0\\0\"",
    ".p2align 2",
    ".long 1",
    ".popsection",
);

/// What the linker has found of a function: the definition behind a wrapped name, and that of the plain name.
#[repr(C)]
pub(crate) struct Word {
    behind: AtomicPtr<c_void>,
    plain: AtomicPtr<c_void>,
}

impl Word {
    /// Address of the definition, or null if there is none.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        // Relaxed is enough: the word does not change once the program runs.
        let behind = self.behind.load(Ordering::Relaxed);
        if behind.is_null() { self.plain.load(Ordering::Relaxed) } else { behind }
    }
}

/// One symbol that is looked for.
pub(crate) struct Slot(&'static Word);

impl Slot {
    /// The slot of a word.
    pub(crate) const fn new(word: &'static Word) -> Self {
        Self(word)
    }

    /// Address of the next definition, or null if there is none.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        self.0.address()
    }

    /// Nothing has to be looked up.
    pub(crate) fn find_ahead(&self) {}

    /// The same as [`Self::address`].
    #[inline(always)]
    pub(crate) fn known_address(&self) -> *mut c_void {
        self.0.address()
    }

    /// Whether the next definition is of a certain library: nobody knows any more.
    pub(crate) fn is_of(&self, _parts: &[&[u8]]) -> bool {
        false
    }
}

/// A word of the table, `dxt_<kind>_<name>`, that holds these two symbols or 0.
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

/// A word that stands elsewhere.
macro_rules! word_of {
    ($kind:literal, $name:expr) => {{
        // SAFETY: the assembler's, of this type; the linker has filled it in before anything runs.
        #[expect(unsafe_code, reason = "a symbol that the linker fills in")]
        unsafe extern "C" {
            #[link_name = concat!("dxt_", $kind, "_", $name)]
            safe static WORD: $crate::real::Word;
        }
        &WORD
    }};
}
pub(crate) use word_of;

/// The slot of a wrapped function: `slot!("write")`.
macro_rules! slot {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::word!("real", $name, concat!("__real_", $name), "0"))
    };
}
pub(crate) use slot;

/// As [`slot`], of a function whose slot stands elsewhere too.
macro_rules! slot_again {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::word_of!("real", $name))
    };
}
pub(crate) use slot_again;

/// The word of what the tracer itself uses, and may be wrapped besides.
macro_rules! known {
    ($name:expr) => {
        $crate::real::word!("known", $name, concat!("__real_", $name), $name, $name)
    };
}
pub(crate) use known;

/// The slot of a function that the tracer itself calls: `called!("PMPI_Init")`.
macro_rules! called {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::known!($name))
    };
}
pub(crate) use called;

/// Address of a variable or function: `global!("ompi_mpi_byte")`; null if there is none.
macro_rules! global {
    ($name:expr) => {
        $crate::real::known!($name).address()
    };
}
pub(crate) use global;

pub(crate) use global as next;
pub(crate) use global as variable;

/// The tracer that records in place of this one: libdxt_tracer.so, where a dynamic linker has loaded that besides the program.
pub(crate) fn other_tracer() -> Option<super::Other> {
    if !has_dynamic_linker() {
        return None;
    }
    // A program that is linked dynamically has dlsym(3), or an old C library and nothing preloaded.
    let dlsym = word!("seen", "dlsym", "0", "dlsym", "dlsym").address();
    // SAFETY: dlsym(3) has this C type.
    let dlsym = unsafe { std::mem::transmute::<*mut c_void, Option<Dlsym>>(dlsym) }?;
    // SAFETY: the name ends in NUL.
    let version = unsafe { dlsym(libc::RTLD_DEFAULT, super::VERSION.as_ptr()) };
    // SAFETY: null, or that library's string.
    let version = (!version.is_null()).then(|| unsafe { CStr::from_ptr(version.cast()) })?;
    Some(super::Other { version: version.to_bytes(), path: b"libdxt_tracer.so" })
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const libc::c_char) -> *mut c_void;

/// Whether the program has been loaded by a dynamic linker (getauxval(3), AT_BASE).
pub(crate) fn has_dynamic_linker() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::getauxval(libc::AT_BASE) != 0 }
}

/// Shared libraries of the process, but for the C library's own: what they do by themselves is not seen.
pub(crate) fn shared_libraries() -> u64 {
    if has_dynamic_linker() { super::ranges::libraries() } else { 0 }
}
