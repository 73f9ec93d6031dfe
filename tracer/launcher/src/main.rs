//! Program `dxt-run`. Replaces Rust's own `main`, which would open closed standard descriptors for the command and change signal actions.
#![no_main]
#![expect(unsafe_code, reason = "`main` is the C library's, which has one name")]

use rustix::fs::{Mode, OFlags, open};
use std::ffi::{c_char, c_int};
use std::mem::forget;
use std::os::fd::AsRawFd;

/// Entry point of dxt-run.
// SAFETY: no other part of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    let words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == dxt_run::PROBE) {
        return 0;
    }
    // Opens standard input, output and error if closed, so that no other file gets their numbers. They are closed again in the processes
    // that dxt-run starts.
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
