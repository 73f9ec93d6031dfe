//! Functions for sanitizer runtimes. In a program compiled with -fsanitize=thread, ThreadSanitizer sees this library's calls to the C
//! library (memcpy(3)) but not the atomics that order them, and reports false races.
#![expect(unsafe_code, reason = "a symbol for others to find")]

use std::ffi::c_char;

/// Returns suppressions for reports about calls made by this library. ThreadSanitizer's runtime calls this function at start, unless the
/// program defines its own (sanitizer/tsan_interface.h). A runtime linked into the program (clang without -shared-libsan) does not call it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __tsan_default_suppressions() -> *const c_char {
    c"called_from_lib:libdxt_tracer.so\n".as_ptr()
}
