//! Life cycle of the library: load, fork, MPI_Init, MPI_Finalize, process end. Decides if this process is recorded and when traces are written.
#![expect(unsafe_code, reason = "pthread_atfork(3), at_quick_exit(3), access(2)")]

mod choice;

use crate::budget;
use crate::config::{self, BadFile, BadValue, Config, Environment, Layered, Mode, WithDarshan};
#[cfg(dxt_static)]
use crate::notes::Note;
use crate::real;
use crate::record::{self, State};
use crate::say::say;
use crate::{
    anonymize, begin, blocking, buffer, clock, cpu_times, end_of_recording, errno, flush, gate, handles, job, memory,
    mpi, own_directories, process, registry, say, seccomp, secure, signals, sites, spool, stack, state, sys, threads,
    tls, without_tls,
};
pub(crate) use choice::is_wanted;
use choice::{JOB_IS_LEFT_OUT, STANDS_BY, is_chosen, leaves_out_job, looks_like_mpi};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use end_of_recording::{Next, Stay};

/// True once a thread has begun to end the process.
static GOING: AtomicBool = AtomicBool::new(false);

/// Starts the library after loading: decides whether to record this process. `argc`, `argv`: the program's arguments.
pub(crate) fn start(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
    if !is_wanted(environment) {
        return record::set_state(State::Off);
    }
    // A privileged (AT_SECURE) program prints no messages: its caller controls the settings, and must not control its output.
    if !real::is_secure() {
        say::remember_stderr();
    }
    seccomp::inspect_programs(true);
    if !memory::look_at_limits() {
        say(&[b"the limits on address space or data (ulimit -v, -d) leave no room for the tracer: not tracing"]);
        return record::set_state(State::Off);
    }
    memory::prepare();
    stack::prepare();
    let started = stack::attempt(|| match real::is_secure() {
        true => start_if_wanted(&secure::Site, argc, argv),
        false => start_if_wanted(environment, argc, argv),
    });
    // `start_if_wanted` reports every other failure itself.
    if started.is_none() {
        say(&[b"not enough memory: not tracing"]);
        record::set_state(State::Off);
    }
    if !record::is_on() && !record::is_muted() {
        record::set_state(State::Off);
    }
}

/// Cleans up in an untraced process that was a traced program before exec(3): removes the spool of the earlier program (the file that
/// survives a kill) and returns that program's share of the job's byte budget (DXT_JOB_BYTES).
fn leave_nothing(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
    let Some(known) = spool::sweep_everywhere(environment) else { return };
    // Settings of the previous program.
    let (file, _) = config::File::named_in(environment);
    let layered = &Layered { environment, file: &file };
    let environment = &config::Enabled(&WithDarshan::new(layered));
    if let Ok(Some(config)) = config::read(environment) {
        give_back(&config, environment, (argc, argv), known);
    }
}

/// Returns the bytes that a removed spool had reserved to the job's byte budget (DXT_JOB_BYTES). `known`: the job's id and the number of
/// bytes, as stored in the spool.
fn give_back(
    config: &Config,
    environment: &impl Environment,
    (argc, argv): (c_int, *const *const c_char),
    known: (u64, u64),
) {
    read_key(config);
    job::remember(environment, job::executable(), argc, argv);
    budget::prepare(config, environment, spool::shared_directory);
    budget::is_gone(known);
}

/// Start of the file names of libraries that Valgrind preloads. Valgrind up to 3.22 does not know openat2(2) and warns about each call.
const VALGRIND: &[u8] = b"/vgpreload_";

fn start_if_wanted(environment: &impl Environment, argc: c_int, argv: *const *const c_char) {
    let is_secure = real::is_secure();
    if environment.get(c"LD_PRELOAD").is_some_and(|value| value.windows(VALGRIND.len()).any(|part| part == VALGRIND)) {
        handles::do_without_openat2();
    }
    let (file, bad) = config::File::named_in(environment);
    let layered = &Layered { environment, file: &file };
    let environment = &WithDarshan::new(layered);
    let read = match &bad {
        None => config::read(environment).map_err(|mut bad| {
            let place = layered.place_of(bad.variable);
            bad.variable = environment.name_of(bad.variable);
            say_bad_value(&bad, place);
        }),
        Some(bad) => {
            say_bad_file(bad);
            Err(())
        }
    };
    let is_check = config::check::is_wanted(environment);
    if let Ok(Some(config)) = &read
        && (is_check || job::launcher_rank(environment) <= 0)
    {
        config.filters.left_out.iter().for_each(|what| say(&[what.as_bytes()]));
    }
    if is_check {
        if let Ok(Some(config)) = &read {
            read_key(config);
        }
        steps_aside(environment);
        return say_unknown(environment);
    }
    if is_secure && read.is_err() {
        return;
    }
    let mut config = match read {
        Ok(Some(config)) => config,
        // This node stands by if it has MPI and a configuration file without tracing: the files of other nodes may enable tracing, and
        // those nodes would wait for this one.
        Ok(None) if !file.is_named() || !looks_like_mpi(job::launcher_rank(environment)) => {
            return leave_nothing(environment, argc, argv);
        }
        Ok(None) | Err(()) => match config::standing_by(environment) {
            Some(config) => {
                STANDS_BY.store(true, Ordering::Relaxed);
                anonymize::begin_without_key();
                config
            }
            None => return,
        },
    };
    if is_secure && !secure::restrict(&mut config) {
        return;
    }
    let exe = job::executable();
    if job::is_launcher(&exe) {
        // A job script may have become the launcher by exec(3) (`exec mpirun`).
        if let Some(known) = spool::sweep(&config) {
            give_back(&config, environment, (argc, argv), known);
        }
        return;
    }
    if steps_aside(environment) {
        return;
    }
    read_key(&config);
    config.filters.paths.follow_links(handles::real_path);
    let scale = memory::scale();
    let spooled = config.is_spooled();
    let (mode, counters_files, verbose) = (config.mode, config.counters_files, config.verbose);
    let records_sites = config.records_sites();
    if !config.timing {
        clock::leave_calls_untimed();
    }
    record::mark_memory(config.mem_align);
    config::adopt(config);
    if mode == Mode::Counters {
        buffer::counting::begin((1 << 15) / scale);
        registry::prepare_counters(counters_files);
    } else {
        if !record::ARENA.prepare(begin::arena_bytes()) {
            say(&[b"not enough address space for the buffer: not tracing"]);
            return;
        }
        // Without memory for them, collective calls are only counted.
        record::SYNC_POINTS.prepare(begin::sync_points_bytes());
        buffer::SCRATCHES.prepare((1 << 15) / scale);
        registry::prepare((1 << 20) / scale);
    }
    if records_sites {
        sites::prepare(scale);
    }
    record::THREADS.prepare((1 << 20) / scale);
    cpu_times::prepare(scale);
    handles::prepare(scale);
    threads::prepare();
    gate::prepare();
    clock::start();
    job::remember(environment, exe, argc, argv);
    if let Some(config) = config::current() {
        budget::prepare(config, environment, spool::shared_directory);
    }
    process::adopt();
    cpu_times::begin();
    // SAFETY: both handlers are async-signal-safe to the extent that fork(2) in a threaded program requires.
    unsafe { libc::pthread_atfork(None, Some(forked_parent), Some(forked_child)) };
    // SAFETY: registers a function of this library, which is never unloaded.
    unsafe { __cxa_at_quick_exit(quick_exiting, &raw const __dso_handle) };
    record::prepare(begin::begin);
    #[cfg(dxt_static)]
    Note::SharedLibrary.count_many(real::shared_libraries());
    // Spools are used only if forks are detected: a child created without fork(3)'s handlers would otherwise write into its parent's spool.
    if state::prepare(take_over, has_left, end_of_recording::look_after) {
        spool::may_be();
        if spooled {
            spool::want();
        }
    }
    let rank = job::identity().map_or(-1, |identity| identity.rank);
    let Some(config) = config::current() else { return };
    JOB_IS_LEFT_OUT.store(leaves_out_job(config), Ordering::Relaxed);
    let chosen =
        !JOB_IS_LEFT_OUT.load(Ordering::Relaxed) && is_chosen(rank) && (!config.site.mpi_only || looks_like_mpi(rank));
    record::set_state(if chosen { State::On } else { State::Muted });
    signals::stand_in(|by| ending(by, Next::Gone), survived);
    if verbose > 1 && chosen {
        say(&[b"recording ", &job::executable()]);
    }
}

/// True if another tracer in this process records instead of this one. The first rank prints a message about that.
fn steps_aside(environment: &impl Environment) -> bool {
    let Some(other) = real::other_tracer() else { return false };
    if job::launcher_rank(environment) <= 0 {
        let this = if cfg!(dxt_static) { "linked into the program" } else { "in the same process" };
        let this =
            format!(" records this process; the tracer of version {}, {this}, does not", env!("CARGO_PKG_VERSION"));
        say(&[b"the tracer ", other.path, b" of version ", other.version, this.as_bytes()]);
    }
    true
}

/// Reads the secret key for hashing identifying strings if anonymization is on. Prints a message on failure.
fn read_key(config: &Config) {
    if !config.site.anonymize.is_empty()
        && let Err(why) = anonymize::begin(&config.site.anonymize)
    {
        say(&[
            b"failed to read the key of DXT_ANONYMIZE in ",
            &config.site.anonymize,
            b": ",
            why.as_bytes(),
            b": not tracing",
        ]);
    }
}

fn say_unknown(environment: &impl Environment) {
    for (name, near) in config::check::unknown(environment) {
        let meant = near.map(|near| format!(": did you mean {near}?")).unwrap_or_default();
        say(&[&name, b" is not a variable of this tracer", meant.as_bytes()]);
    }
}

fn say_bad_file(bad: &BadFile) {
    let line = place(&bad.path, bad.line);
    say(&[b"failed to read the configuration in ", &line, b": ", bad.why.as_bytes(), b": not tracing"]);
}

/// Prints a message about an invalid setting. `from`: path and line in the configuration file, if a file sets the variable.
fn say_bad_value(BadValue { variable, value, expected }: &BadValue, from: Option<(&[u8], usize)>) {
    let from = from.map(|(path, line)| [place(path, line).as_slice(), b": "].concat()).unwrap_or_default();
    let wrong = [b"=", value.as_slice(), b" is invalid (expected ", expected.as_bytes(), b"): not tracing"];
    say(&[[from.as_slice(), variable.as_bytes()].as_slice(), &wrong].concat());
}

/// Formats a place in a file as `path line n`, or as `path` alone if `line` is 0.
fn place(path: &[u8], line: usize) -> Vec<u8> {
    let line = if line == 0 { String::new() } else { format!(" line {line}") };
    [path, line.as_bytes()].concat()
}

unsafe extern "C" {
    /// C++ ABI form of at_quick_exit(3), as used in the C library's headers. Registered first, so the function runs last.
    fn __cxa_at_quick_exit(function: extern "C" fn(*mut u8), object: *const u8) -> c_int;
    /// Identifies this library among the loaded shared objects (Itanium C++ ABI, 3.3.5).
    static __dso_handle: u8;
}

extern "C" fn quick_exiting(_: *mut u8) {
    ending("quick_exit", Next::Destructors);
}

extern "C" fn forked_parent() {
    if record::is_on() {
        seccomp::in_parent();
        handles::after_fork();
    }
}

/// Resets the library in a forked child, which then records a trace of its own.
extern "C" fn forked_child() {
    if record::is_on() || record::is_unadopted_child() {
        take_over();
    } else if config::current().is_some_and(|config| config.site.mpi_only || JOB_IS_LEFT_OUT.load(Ordering::Relaxed)) {
        // The child is not recorded, like its parent, until it turns out to be a rank of a recorded job.
        take_over();
        record::set_state(State::Muted);
    } else {
        record::set_state(State::Off);
    }
}

/// Starts recording in a forked child, independently of its parent.
fn take_over() {
    if seccomp::in_child() {
        return record::set_state(State::Off);
    }
    process::adopt();
    end_of_recording::in_child();
    memory::after_fork();
    stack::after_fork();
    handles::after_fork();
    without_tls::in_child();
    handles::in_child();
    mpi::in_child();
    signals::in_child();
    tls::current().forget_chunks();
    sites::in_child();
    spool::in_child();
    record::start_empty();
    registry::start_empty();
    clock::start();
    cpu_times::begin();
    record::set_state(State::On);
}

/// Decides, after MPI_Init has returned, whether this rank is recorded.
pub(crate) fn mpi_started() {
    let Some(config) = config::current().filter(|_| process::is_own()) else { return };
    tls::current().while_away(|| {
        mpi::started(config.flush, JOB_IS_LEFT_OUT.load(Ordering::Relaxed));
        if let Some(world) = mpi::world() {
            budget::divide_among(world.size);
        }
        stack::in_hook(begin::say_who);
    });
    let Some(world) = mpi::world() else { return };
    let chosen = !world.job_is_left_out && is_chosen(world.rank);
    if world.job_is_left_out {
        // All ranks know that the job is left out, so none waits for the others at the end.
        mpi::ended();
    }
    // A process confined by seccomp stays muted.
    if chosen && record::is_muted() && !sys::is_shut() {
        record::set_state(State::On);
    } else if !chosen && record::is_on() {
        // Discards what this rank has recorded so far.
        record::set_state(State::Muted);
        spool::remove();
        budget::give_back();
    }
}

/// Writes one trace together with all ranks, just before MPI_Finalize. Calls made later are recorded too: each process writes them to a
/// trace of its own when it ends.
pub(crate) fn mpi_finalizing() {
    let (Some(world), Some(config)) = (mpi::active().filter(|_| process::is_own()), config::current()) else { return };
    let errno = errno::save();
    tls::current().while_away(|| {
        handles::read_layouts_again();
        signals::without_file_size_signal(|| end_of_recording::for_all_ranks(world, config));
    });
    errno.restore();
    mpi::ended();
}

/// Opens all directories that the tracer needs and keeps them open. Called before a call such as chroot(2), after which path names may lead
/// elsewhere. Preserves errno.
#[cold]
pub(crate) fn before_names_change() {
    if !record::is_on() || !process::is_own() || sys::is_shut() {
        return;
    }
    own_directories::begin(|| {
        tls::current().while_away(|| {
            // A directory that could not be opened, also for lack of memory, is out of reach from now on.
            let _ = stack::in_hook(|| {
                flush::hold_directory();
                spool::hold_directory();
                budget::hold_directory();
            });
        });
    });
}

/// True if this process is recorded, so that it has a trace to write when it ends.
fn has_something_to_end() -> bool {
    record::is_on() && process::is_own()
}

/// True if this process may wait until its end to write a trace. A rank of an active MPI job may not: if it leaves without MPI_Finalize, it
/// is killed as soon as another rank has left.
pub(crate) fn has_time_to_end() -> bool {
    has_something_to_end() && mpi::active().is_none()
}

/// Prints messages about the trace in advance, because standard error is about to be closed and later messages would be lost. GNU coreutils
/// close standard error in exit(3), just before the trace is written. Preserves errno.
#[cold]
pub(crate) fn losing_stderr() {
    let Some(config) = config::current().filter(|config| has_time_to_end() && !config.site.judges_processes()) else {
        return;
    };
    let thread = tls::current();
    if sys::is_shut()
        || end_of_recording::is_becoming()
        || !thread.is_interrupted()
        || record::THREADS.numbered().next().is_none()
    {
        return;
    }
    let errno = errno::save();
    thread.while_away(|| {
        // Prints nothing if there is no stack or memory.
        let _ = stack::in_hook(|| flush::say_beforehand(config));
    });
    errno.restore();
}

/// Writes the trace of this process alone (without other ranks) because the process ends or may end. `by`: function or signal that ends the
/// process. `next`: fate of the process afterwards.
pub(crate) fn ending(by: &'static str, next: Next) {
    let Some(config) = config::current().filter(|_| has_something_to_end()) else { return };
    // A signal handler that interrupted a flush must not start another. A program confined by seccomp cannot write; its calls are in the spool.
    if sys::is_shut() || end_of_recording::is_becoming() || !tls::current().is_interrupted() {
        return;
    }
    let errno = errno::save();
    let thread = tls::current();
    signals::held_while(|| {
        thread.while_away(|| {
            end_of_recording::end(config, by, next);
            if next == Next::Gone {
                GOING.store(true, Ordering::Release);
                thread.go_away();
            }
        });
    });
    errno.restore();
}

/// Resumes recording after the process survived a signal that should have killed it: the kernel does not kill the first process of a
/// container by its own signals.
pub(crate) fn survived() {
    if GOING.swap(false, Ordering::AcqRel) && process::is_own() {
        if state::is_parked() {
            end_of_recording::go_on_late();
        }
        tls::current().come_back();
    }
}

/// Writes the trace of the current program before exec(3). Returns the state that [`stayed`] needs if exec(3) fails. `leaves_all` returns
/// true if the next program will run untraced; no tracer would then remove the spool (the file that survives a kill).
pub(crate) fn becoming_another(leaves_all: impl FnOnce() -> bool) -> Option<Stay> {
    let config = config::current().filter(|_| record::is_on() && process::is_own())?;
    if sys::is_shut() || !tls::current().is_interrupted() {
        return None;
    }
    let errno = errno::save();
    let thread = tls::current();
    // All signals are blocked until the trace is written: a handler that left by a jump would let the other threads wait forever.
    let blocked = blocking::Blocked::all();
    let stay = signals::held_while(|| {
        thread.while_away(|| {
            let stay = end_of_recording::set_aside(config, leaves_all);
            if stay.is_some() {
                thread.go_away();
            }
            stay
        })
    });
    drop(blocked);
    errno.restore();
    stay
}

/// Resumes recording as before, because exec(3) failed. `stay`: result of [`becoming_another`]. Preserves errno.
pub(crate) fn stayed(stay: Option<Stay>) {
    if let Some(stay) = stay {
        let errno = errno::save();
        // Signals are blocked because a signal handler must not leave this work by a jump.
        let blocked = blocking::Blocked::all();
        end_of_recording::take_back(&stay);
        tls::current().come_back();
        drop(blocked);
        errno.restore();
    }
}

/// Resumes recording if this thread had called exec(3) and a signal handler has left that call by a jump (siglongjmp); returns true in that
/// case. Called when a thread makes a call while others wait for the outcome of exec(3). Preserves errno.
pub(crate) fn has_left() -> bool {
    let left = end_of_recording::left_behind();
    let stays = left.is_some();
    stayed(left);
    stays
}
