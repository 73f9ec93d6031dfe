//! Wraps HDF5 functions (HDF5 1.10 and later). Each call goes to the copy of HDF5 with which its caller is linked (`crate::hdf5`). I/O
//! calls made inside an HDF5 call are marked as nested; HDF5 calls made inside are not recorded. A failed call is not recorded, since a
//! query by the tracer would clear the program's HDF5 error stack.

mod data_sets;
mod files;
mod transfers;

use crate::errno::{self, Errno};
use crate::hdf5::Library;
use crate::hooks::admission;
use crate::notes::Note;
use crate::record::Call;
use crate::tls::Thread;
use crate::{clock, config};
use trace_format::op::Layer;

/// Return value of a wrapped function if no HDF5 library is found.
const MISSING: i32 = -1;

/// HDF5 call that has returned and was not made inside another call: its end time in clock ticks, and the errno to restore when the tracer
/// is done.
struct Done {
    thread: &'static Thread,
    timer: Call,
    end: u64,
    errno: Errno,
}

/// Runs `call` as an HDF5 call of the program. Returns its result, and `None` if the call must not be recorded (for example because it is nested).
fn outermost<T>(library: &Library, call: impl FnOnce() -> T) -> (T, Option<Done>) {
    let Some(thread) = admission::thread().filter(|thread| !thread.hdf5.is_set() && library.is_recorded()) else {
        return (call(), None);
    };
    if config::filters().is_some_and(|filters| !filters.layers.contain(Layer::Hdf5)) {
        // I/O calls made inside are then recorded as not nested.
        Note::Layer.count();
        return (call(), None);
    }
    let timer = Call::begin(thread);
    let result = thread.hdf5.run(call);
    let thread = crate::tls::current_now();
    let (end, errno) = (clock::of_call(), errno::save());
    (result, Some(Done { thread, timer, end, errno }))
}

impl Done {
    /// Runs `work`, which records the call and may query HDF5. HDF5 calls made in `work` are not recorded.
    fn then(self, work: impl FnOnce(&'static Thread, Call, u64)) {
        work(self.thread, self.timer, self.end);
        self.errno.restore();
    }
}

/// Defines wrapped functions: `hooks! { /// doc  name(arg: type, ...) -> type = |library, real| body; ... }`.
///
/// The exported function notes its return address, which identifies the caller and which the C ABI does not pass as an argument. Then the
/// function jumps to the body, with registers and stack unchanged.
macro_rules! hooks {
    ($( $(#[$doc:meta])* $name:ident ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty = |$library:ident, $real:ident| $body:expr; )+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// Callers must meet the requirements of the wrapped function; the arguments are passed on unchanged.
        #[unsafe(naked)]
        #[cfg_attr(not(any(dxt_static, miri)), unsafe(no_mangle))]
        #[cfg_attr(dxt_static, unsafe(export_name = concat!("__wrap_", stringify!($name))))]
        pub(crate) unsafe extern "C" fn $name() {
            extern "C" fn body($($arg: $type),*) -> $ret {
                let caller = $crate::tls::current().hdf5_caller.get();
                let Some($library) = $crate::hdf5::library_of(caller) else { return $crate::hooks::hdf5::MISSING.into() };
                let address = $library.address($crate::hdf5::Function::$name);
                if address.is_null() {
                    return $crate::hooks::hdf5::MISSING.into();
                }
                // SAFETY: the symbol of this name has this C type since HDF5 1.10; before, identifiers were ints, passed in the same registers.
                let function = unsafe {
                    std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $ret>(address)
                };
                // SAFETY: passes the caller's own arguments.
                let $real = move || -> $ret { unsafe { function($($arg),*) } };
                $body
            }
            // Save the argument registers around the call that notes the return address.
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                $crate::real::note_caller!(),
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
                "mov rdi, qword ptr [rsp + 56]",
                "call {note}",
                "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp {body}",
                place = const $crate::tls::CALLER,
                note = sym $crate::hdf5::note_caller,
                body = sym body,
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]", "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
                "mov x0, x30",
                "bl {note}",
                "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]", "ldp x4, x5, [sp, #48]", "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "b {body}",
                note = sym $crate::hdf5::note_caller,
                body = sym body,
            );
        }
    )+ };
}
use hooks;
