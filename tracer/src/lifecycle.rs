//! The library's life: it is loaded, the process forks, MPI starts and ends, the process ends. Here is decided whether
//! anything is recorded at all, and when the trace is written.
#![expect(unsafe_code, reason = "pthread_atfork(3), at_quick_exit(3), getrlimit(2)")]

use crate::config::{self, BadValue, Environment};
use crate::record::{self, State};
use crate::say::say;
use crate::{buffer, clock, errno, flush, handles, job, memory, mpi, process, registry, say, signals, threads, tls};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

static ENDED: AtomicBool = AtomicBool::new(false);

/// The library has been loaded: decides whether to record, and starts. `argv` are the program's arguments.
pub(crate) fn start(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
    say::remember_stderr();
    let config = match config::read(environment) {
        Ok(Some(config)) => config,
        Ok(None) => return,
        Err(BadValue { variable, value, expected }) => {
            say(&[
                variable.as_bytes(),
                b"=",
                &value,
                b" makes no sense (expected ",
                expected.as_bytes(),
                b"): not tracing",
            ]);
            return;
        }
    };
    memory::protect_across_fork();
    let exe = job::executable();
    if job::is_launcher(&exe) {
        return;
    }
    let scale = address_space_scale();
    if !record::ARENA.prepare((config.buffer_max / scale).max(config::LEAST_BUFFER_MAX)) {
        say(&[b"not enough address space for the buffer: not tracing"]);
        return;
    }
    record::THREADS.prepare(1 << 20);
    buffer::SCRATCHES.prepare((1 << 15) / scale);
    registry::prepare((1 << 20) / scale);
    handles::prepare(scale);
    threads::prepare();
    clock::start();
    job::remember(environment, exe, argc, argv);
    let verbose = config.verbose;
    config::adopt(config);
    process::adopt();
    // SAFETY: all three handlers are async-signal-safe as far as fork(2) in a threaded program asks for it.
    unsafe { libc::pthread_atfork(None, Some(forked_parent), Some(forked_child)) };
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { __cxa_at_quick_exit(quick_exiting, &raw const __dso_handle) };
    record::set_state(State::On);
    signals::stand_in(ending);
    if verbose > 1 {
        say(&[b"recording ", &job::executable()]);
    }
}

unsafe extern "C" {
    /// at_quick_exit(3), as the C library's headers call it; registered first, it runs last.
    fn __cxa_at_quick_exit(function: extern "C" fn(*mut u8), object: *const u8) -> c_int;
    /// Tells this library from others (Itanium C++ ABI, 3.3.5).
    static __dso_handle: u8;
}

extern "C" fn quick_exiting(_: *mut u8) {
    ending("quick_exit");
}

/// By how much the tables are made smaller where the address space is limited (RLIMIT_AS): they take some 700 MiB of it,
/// nearly all never touched, and the program must keep its own.
fn address_space_scale() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours.
    if unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return 1;
    }
    let sixteenth = (limit.rlim_cur / 16).max(1);
    ((700 << 20) / sixteenth).next_power_of_two().clamp(1, 1 << 10) as usize
}

extern "C" fn forked_parent() {
    if record::is_on() {
        handles::after_fork();
    }
}

/// A forked child starts empty and writes a trace of its own.
extern "C" fn forked_child() {
    if !record::is_on() {
        return;
    }
    process::adopt();
    ENDED.store(false, Ordering::Relaxed);
    handles::after_fork();
    mpi::in_child();
    tls::current().forget_chunk();
    record::start_empty();
    registry::forget_counts();
    clock::start();
}

/// MPI_Init has returned.
pub(crate) fn mpi_started() {
    let Some(config) = config::current().filter(|_| process::is_own()) else { return };
    tls::current().while_away(|| mpi::started(config.flush));
}

/// MPI_Finalize is about to be called: all ranks write the trace together. What follows is recorded too, and written by
/// each process when it ends.
pub(crate) fn mpi_finalizing() {
    let (Some(world), Some(config)) = (mpi::active().filter(|_| process::is_own()), config::current()) else { return };
    let errno = errno::save();
    tls::current().while_away(|| signals::without_file_size_signal(|| flush::all_ranks(world, config)));
    errno.restore();
    mpi::ended();
}

/// The process ends: writes the trace of this process alone.
pub(crate) fn ending(by: &'static str) {
    let Some(config) = config::current().filter(|_| record::is_on() && process::is_own()) else { return };
    // A signal handler that has interrupted a flush on this thread must not begin another.
    if !tls::current().is_interrupted() || ENDED.swap(true, Ordering::AcqRel) {
        return;
    }
    let errno = errno::save();
    tls::current().while_away(|| {
        record::set_state(State::Off);
        signals::without_file_size_signal(|| flush::one_process(config, by));
    });
    errno.restore();
}
