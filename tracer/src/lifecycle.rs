//! The library's life: it is loaded, the process forks, MPI starts and ends, the process ends. Here is decided whether
//! anything is recorded at all, and when the trace is written.
#![expect(unsafe_code, reason = "pthread_atfork(3), at_quick_exit(3)")]

use crate::config::{self, BadValue, Environment, Mode, Spool};
use crate::record::{self, State};
use crate::say::say;
use crate::{
    begin, buffer, clock, errno, flush, handles, job, memory, mpi, process, registry, say, signals, spool, threads, tls,
};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

static ENDED: AtomicBool = AtomicBool::new(false);

/// The library has been loaded: decides whether to record, and starts. `argv` are the program's arguments.
pub(crate) fn start(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
    start_if_wanted(environment, argc, argv);
    if !record::is_on() {
        record::set_state(State::Off);
    }
}

fn start_if_wanted(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
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
    memory::look_at_limit();
    let scale = memory::scale();
    // Counters are few, and are written when the process ends; what it has counted so far does not outlive a kill.
    let spooled = config.spool != Spool::Off && config.mode == Mode::Trace;
    let (mode, counters_files, verbose) = (config.mode, config.counters_files, config.verbose);
    config::adopt(config);
    if mode == Mode::Counters {
        buffer::counting::begin((1 << 15) / scale);
        record::mark_memory();
        registry::prepare_counters(counters_files);
    } else {
        if !record::ARENA.prepare(begin::arena_bytes()) {
            say(&[b"not enough address space for the buffer: not tracing"]);
            return;
        }
        record::THREADS.prepare(1 << 20);
        buffer::SCRATCHES.prepare((1 << 15) / scale);
        registry::prepare((1 << 20) / scale);
    }
    handles::prepare(scale);
    threads::prepare();
    clock::start();
    job::remember(environment, exe, argc, argv);
    process::adopt();
    // SAFETY: all three handlers are async-signal-safe as far as fork(2) in a threaded program asks for it.
    unsafe { libc::pthread_atfork(None, Some(forked_parent), Some(forked_child)) };
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { __cxa_at_quick_exit(quick_exiting, &raw const __dso_handle) };
    // A child that is forked past fork(3)'s handlers would write into the spool of its parent, could it not be told.
    if record::prepare(take_over, begin::begin) && spooled {
        spool::want();
    }
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

extern "C" fn forked_parent() {
    if record::is_on() {
        handles::after_fork();
    }
}

/// A forked child starts empty and writes a trace of its own.
extern "C" fn forked_child() {
    if record::is_on() || record::is_unadopted_child() {
        take_over();
    }
}

/// In a forked child: it records for itself from now on.
fn take_over() {
    process::adopt();
    ENDED.store(false, Ordering::Relaxed);
    memory::after_fork();
    handles::after_fork();
    mpi::in_child();
    tls::current().forget_chunk();
    spool::in_child();
    record::start_empty();
    registry::start_empty();
    clock::start();
    record::set_state(State::On);
}

/// MPI_Init has returned.
pub(crate) fn mpi_started() {
    let Some(config) = config::current().filter(|_| process::is_own()) else { return };
    tls::current().while_away(|| {
        mpi::started(config.flush);
        begin::say_who();
    });
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
        if signals::without_file_size_signal(|| flush::one_process(config, by)) {
            // In case the file cannot be removed: the process may have changed its root directory.
            buffer::set_written_until(u64::MAX);
            registry::forget_counts();
            spool::remove();
        }
    });
    errno.restore();
}

/// The process is about to become another program: writes the trace of what it was. Returns whether [`stayed`] has
/// something to do should it not. What other threads do meanwhile stays in the spool.
pub(crate) fn becoming_another() -> bool {
    let Some(config) = config::current().filter(|_| record::is_on() && process::is_own()) else { return false };
    if !tls::current().is_interrupted() || ENDED.load(Ordering::Acquire) {
        return false;
    }
    let errno = errno::save();
    let set_aside = tls::current().while_away(|| {
        let until = clock::now();
        if !signals::without_file_size_signal(|| flush::one_process(config, "exec")) {
            return false;
        }
        flush::written(until);
        spool::spill::remove();
        threads::is_single() && spool::set_aside()
    });
    errno.restore();
    set_aside
}

/// The process has not become another program: recording goes on as before. Keeps errno.
pub(crate) fn stayed(set_aside: bool) {
    if set_aside {
        let errno = errno::save();
        tls::current().while_away(spool::take_back);
        errno.restore();
    }
}
