//! HDF5 functions since 1.10. Each goes to the copy of HDF5 that its caller means (`crate::hdf5`). What is made inside is
//! marked so, and HDF5 calls inside pass through. A call that fails is not recorded: whatever the tracer asked HDF5 then
//! would empty the error stack under the program.

mod data_sets;
mod files;
mod transfers;

use crate::errno::{self, Errno};
use crate::hdf5::Library;
use crate::notes::Note;
use crate::record::{self, Call};
use crate::tls::Thread;
use crate::{clock, filters};
use trace_format::op::Layer;

/// What functions answer where there is no HDF5 after all.
const MISSING: i32 = -1;

/// An outermost call that has returned: when, and what is to be put back when the tracer is done with it.
struct Done {
    thread: &'static Thread,
    timer: Call,
    end: u64,
    errno: Errno,
}

/// Runs `call` as one HDF5 call; `None` beside its result if it is not to be recorded.
fn outermost<T>(library: &Library, call: impl FnOnce() -> T) -> (T, Option<Done>) {
    let Some(thread) = record::thread().filter(|thread| !thread.hdf5.is_set() && library.is_recorded()) else {
        return (call(), None);
    };
    if filters::current().is_some_and(|filters| !filters.layers.contain(Layer::Hdf5)) {
        // What is called inside is the program's then.
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
    /// Runs `work`, which may ask HDF5 and records the call. Its own calls are nobody's.
    fn then(self, work: impl FnOnce(&'static Thread, Call, u64)) {
        work(self.thread, self.timer, self.end);
        self.errno.restore();
    }
}

/// Defines wrapped functions: `hooks! { /// doc  name(arg: type, ...) -> type = |library, real| body; ... }`.
///
/// The exported function notes its caller, which the ABI of C does not tell, and goes on to the body with registers and
/// stack as they came.
macro_rules! hooks {
    ($( $(#[$doc:meta])* $name:ident ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty = |$library:ident, $real:ident| $body:expr; )+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name that it wraps: arguments are passed on as they are.
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
                // SAFETY: the symbol of this name has this C type since HDF5 1.10; before, identifiers were ints, which
                // lie in the same registers.
                let function = unsafe {
                    std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $ret>(address)
                };
                // SAFETY: the arguments are the caller's own.
                let $real = move || -> $ret { unsafe { function($($arg),*) } };
                $body
            }
            // The registers of arguments are kept over the call that notes the return address.
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "sub rsp, 8",
                "mov rdi, qword ptr [rsp + 56]",
                "call {note}",
                "add rsp, 8", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp {body}",
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
