//! Where the dynamic linker enters: constructor and destructor.
#![expect(unsafe_code, reason = "constructor and destructor")]

use crate::config::Environment;
use crate::{errno, hooks, job, lifecycle, tls};
use std::ffi::{CStr, c_char, c_int};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// The environment as the dynamic linker passes it: a vector of `NAME=value`.
struct Variables(*const *const c_char);

impl Environment for Variables {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        job::strings(self.0).find_map(|string| string.to_bytes().strip_prefix(name.to_bytes())?.strip_prefix(b"="))
    }
}

/// glibc passes what main gets to constructors (elf/dl-init.c).
extern "C" fn constructor(argc: c_int, argv: *const *const c_char, environment: *const *const c_char) {
    let errno = errno::save();
    hooks::resolve_all();
    if !environment.is_null() {
        tls::current().while_away(|| lifecycle::start(&Variables(environment), argc, argv));
    }
    errno.restore();
}

extern "C" fn destructor() {
    lifecycle::ending("exit", lifecycle::Next::Destructors);
}
