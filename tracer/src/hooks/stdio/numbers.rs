//! Wraps fileno(3), which is not recorded. Once the program knows the number of a stream's descriptor, it may move the file position
//! itself: from then on, the cached position is trusted only while the stream's buffer holds bytes.
#![expect(unsafe_code, reason = "C functions")]

use crate::handles::{self, Trust};
use crate::real::{hooks, none};
use libc::{FILE, c_int};

/// Returns the stream's descriptor by calling the real fileno(3); -1 if the stream has no descriptor. Preserves errno.
#[cold]
pub(super) fn ask(stream: *mut FILE) -> c_int {
    let address = slots::fileno.0.address();
    if address.is_null() {
        return -1;
    }
    let errno = crate::errno::save();
    // SAFETY: fileno(3) has this C type.
    let function =
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(*mut FILE) -> c_int>(address) };
    // SAFETY: the program's own open stream.
    let number = unsafe { function(stream) };
    errno.restore();
    number
}

fn reported(number: c_int) -> c_int {
    if let Some(description) = handles::known_description(number) {
        description.stream().trust(Trust::Others);
    }
    number
}

hooks! { NUMBERS, missing = none();
    [fileno, fileno_unlocked](stream: *mut FILE) -> c_int
        = |real| reported(real(stream));
}
