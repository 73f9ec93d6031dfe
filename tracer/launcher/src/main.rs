//! `dxt-run`. Rust's own `main` would give the command open descriptors in place of closed ones and would change what signals do: this one
//! begins before that.
#![no_main]
#![expect(unsafe_code, reason = "`main` is the C library's, which has one name")]

use rustix::fs::{Mode, OFlags, open};
use std::ffi::{c_char, c_int};
use std::mem::forget;
use std::os::fd::AsRawFd;

/// Runs it.
// SAFETY: no other part of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    let words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == dxt_run::PROBE) {
        return 0;
    }
    // Of standard input, output and error those that are closed are open here, so that no other file is taken for one, and closed again in
    // what dxt-run starts.
    while let Ok(file) = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        if file.as_raw_fd() > 2 {
            break;
        }
        forget(file);
    }
    match dxt_run::run(words, dxt_run::Signals::take()) {
        dxt_run::Ending::Code(code) => code,
        dxt_run::Ending::Signal(signal) => {
            dxt_run::end_by(signal);
            128 + signal
        }
    }
}
