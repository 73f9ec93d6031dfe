//! What runtimes of sanitizers ask for. A program that was compiled with -fsanitize=thread sees of this library only the calls of the C
//! library that it makes (memcpy(3)), not the atomics that order them, and takes them for races.
#![expect(unsafe_code, reason = "a symbol for others to find")]

use std::ffi::c_char;

/// Called by ThreadSanitizer's runtime when it starts, unless the program has one of its own (sanitizer/tsan_interface.h): what this
/// library calls is not looked at. A runtime that is linked into the program (clang without -shared-libsan) does not come here.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __tsan_default_suppressions() -> *const c_char {
    c"called_from_lib:libdxt_tracer.so\n".as_ptr()
}
