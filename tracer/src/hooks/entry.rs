//! Entry points for the dynamic linker: constructor and destructor. In a static program the C library's start code calls them; their
//! priorities make the constructor run before and the destructor after all of the program's own.
#![expect(unsafe_code, reason = "constructor and destructor")]

use crate::environment::Variables;
use crate::notes::Note;
use crate::record::{self, State};
use crate::{errno, lifecycle, sys, tls};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

/// True once a thread has started the library or is about to start it.
static STARTED: AtomicBool = AtomicBool::new(false);

#[used]
#[cfg_attr(not(dxt_static), unsafe(link_section = ".init_array"))]
#[cfg_attr(dxt_static, unsafe(link_section = ".init_array.00099"))]
// Miri runs tests, and must not start the library.
#[cfg(not(miri))]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

#[used]
#[cfg_attr(not(dxt_static), unsafe(link_section = ".fini_array"))]
#[cfg_attr(dxt_static, unsafe(link_section = ".fini_array.00099"))]
#[cfg(not(miri))]
static DESTRUCTOR: extern "C" fn() = destructor;

/// Runs as the library's constructor. glibc passes main's arguments to constructors (elf/dl-init.c).
extern "C" fn constructor(argc: c_int, argv: *const *const c_char, environment: *const *const c_char) {
    if !STARTED.swap(true, Ordering::AcqRel) {
        start(argc, argv, environment);
    }
}

fn start(argc: c_int, argv: *const *const c_char, environment: *const *const c_char) {
    let errno = errno::save();
    tls::current().while_away(|| {
        super::resolve_all();
        if environment.is_null() {
            record::set_state(State::Off);
        } else {
            lifecycle::start(&Variables(environment), argc, argv);
        }
    });
    errno.restore();
}

/// Starts the library because a wrapped function was called before the tracer's constructor ran, by the constructor of another library:
/// preloaded libraries are initialized last. Does nothing if another thread is already starting the library.
///
/// By then all objects are relocated and the C library is initialized, as the tracer requires. Functions called by allocators (mmap(2),
/// system calls by syscall(2)) do not start the library: the allocator may be in the middle of its own start.
#[cold]
pub(super) fn start_early() {
    // The start itself has called a wrapped function.
    if tls::current().is_busy() {
        return;
    }
    let Some((argc, argv, environment)) = arguments() else { return Note::BeforeStart.count() };
    // Decide before any system call.
    let wanted = lifecycle::is_wanted(&Variables(environment));
    if wanted && !is_first_thread() || STARTED.swap(true, Ordering::AcqRel) {
        return Note::BeforeStart.count();
    }
    if wanted { start(argc, argv, environment) } else { start(argc, argv, std::ptr::null()) }
}

fn is_first_thread() -> bool {
    // SAFETY: no preconditions.
    let process = unsafe { sys::syscall!(libc::SYS_getpid) };
    // SAFETY: as above.
    let thread = unsafe { sys::syscall!(libc::SYS_gettid) };
    process == thread
}

/// Returns main's arguments as the kernel put them on the stack: argument count, arguments, null, environment (System V ABI, 3.4.1). The
/// dynamic linker provides the address. `None` if the stack looks different.
fn arguments() -> Option<(c_int, *const *const c_char, *const *const c_char)> {
    let start = crate::real::stack_end();
    // SAFETY: null, or the start of the stack.
    let count = *unsafe { start.as_ref() }?;
    let argc = c_int::try_from(count).ok().filter(|argc| (1..1 << 20).contains(argc))?;
    let argv = start.wrapping_add(1).cast::<*const c_char>();
    let end = argv.wrapping_add(argc as usize);
    // SAFETY: the stack has at least this many words above its start.
    unsafe { end.read() }.is_null().then(|| (argc, argv, end.wrapping_add(1)))
}

unsafe extern "C" {
    /// Declares atexit(3) under the name that compilers use (Itanium C++ ABI, 3.3.5).
    fn __cxa_atexit(function: extern "C" fn(*mut c_char), argument: *mut c_char, object: *const c_char) -> c_int;
}

/// Runs at the library's finalization. Libraries that the tracer does not depend on are finalized later: libgfortran, for example, then
/// flushes the buffers of its units. glibc runs functions registered during finalization after all libraries (stdlib/exit.c), unless the
/// function belongs to a library: then it runs when that library is finalized. So `last`, which writes the trace, is registered as a
/// function of no library.
extern "C" fn destructor() {
    let (none, nobody) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: registers a function of this library, which is never unloaded.
    let registered = lifecycle::has_time_to_end() && unsafe { __cxa_atexit(last, none, nobody) } == 0;
    if !registered {
        last(none);
    }
}

extern "C" fn last(_: *mut c_char) {
    lifecycle::ending("exit", lifecycle::Next::Destructors);
}
