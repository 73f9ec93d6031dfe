//! Public fields of a C stream, as declared by glibc's <bits/types/struct_FILE.h>. The fields belong to glibc's binary interface, since
//! inlined functions such as getc_unlocked(3) use them in programs. For other C libraries, the tracer calls functions instead.
#![expect(unsafe_code, reason = "fields of a C structure")]

use super::numbers;
use crate::handles::Marks;
use crate::real::global;
use libc::{FILE, c_char, c_int, c_ushort, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

static GLIBC: AtomicBool = AtomicBool::new(false);

pub(crate) fn prepare() {
    GLIBC.store(!global!("gnu_get_libc_version").is_null(), Ordering::Relaxed);
}

#[repr(C)]
struct Layout {
    flags: c_int,
    read_ptr: *mut c_char,
    read_end: *mut c_char,
    read_base: *mut c_char,
    write_base: *mut c_char,
    write_ptr: *mut c_char,
    write_end: *mut c_char,
    buf_base: *mut c_char,
    buf_end: *mut c_char,
    save_base: *mut c_char,
    backup_base: *mut c_char,
    save_end: *mut c_char,
    markers: *mut c_void,
    chain: *mut c_void,
    fileno: c_int,
    flags2: c_int,
    old_offset: libc::c_long,
    cur_column: c_ushort,
    vtable_offset: i8,
    shortbuf: [c_char; 1],
    lock: *mut c_void,
    offset: i64,
    codecvt: *mut c_void,
    wide_data: *mut c_void,
    freeres_list: *mut c_void,
    freeres_buf: *mut c_void,
    pad5: usize,
    mode: c_int,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::offset_of!(Layout, fileno) == 112);
    assert!(std::mem::offset_of!(Layout, offset) == 144);
    assert!(std::mem::offset_of!(Layout, mode) == 192);
};

/// Magic number in the upper half of the flags of a stream (_IO_MAGIC).
const MAGIC: c_int = 0xFBAD_0000_u32 as c_int;
/// Flag of a stream: ungetc(3) has put a backup buffer in front (_IO_IN_BACKUP).
const IN_BACKUP: c_int = 0x100;
/// Flag of a stream: a call has failed, and the error was not cleared (_IO_ERR_SEEN).
const ERROR: c_int = 0x20;
/// Flag of a stream: it is open for appending (_IO_IS_APPENDING).
const APPENDING: c_int = 0x1000;

/// Snapshot of a stream's fields. Fields are read one at a time, so another thread may be changing them.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    flags: c_int,
    read_ptr: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write_ptr: usize,
    buf_base: usize,
    offset: i64,
}

/// `field!(layout.name)`: reads a field of a stream.
macro_rules! field {
    ($layout:ident . $name:ident) => {{
        // SAFETY: the program's own open stream; glibc's streams begin with this structure.
        let place = unsafe { &raw const (*$layout).$name };
        // SAFETY: aligned and inside the structure; volatile, since another thread may write the field.
        unsafe { place.read_volatile() }
    }};
}

/// Returns the structure and flags of a stream; `None` unless it is a byte stream of glibc that reads from its own buffer.
#[inline(always)]
fn layout_of(stream: *mut FILE) -> Option<(*const Layout, c_int)> {
    if !GLIBC.load(Ordering::Relaxed) {
        return None;
    }
    let layout: *const Layout = stream.cast_const().cast();
    let flags = field!(layout.flags);
    let is_plain = flags & MAGIC == MAGIC && flags & IN_BACKUP == 0 && field!(layout.mode) <= 0;
    (is_plain && field!(layout.save_base).is_null()).then_some((layout, flags))
}

/// Returns the buffer pointers that every transfer moves; `None` unless the stream is a byte stream of glibc that reads from its own
/// buffer.
#[inline(always)]
pub(super) fn marks_of(stream: *mut FILE) -> Option<Marks> {
    let (layout, _) = layout_of(stream)?;
    let input = [field!(layout.read_ptr), field!(layout.read_end)];
    let output = [field!(layout.write_base), field!(layout.write_ptr)];
    Some([input[0] as usize, input[1] as usize, output[0] as usize, output[1] as usize])
}

/// Returns a snapshot of a stream's fields; `None` unless the stream is a byte stream of glibc that reads from its own buffer.
#[inline(always)]
pub(super) fn of(stream: *mut FILE) -> Option<Fields> {
    let (layout, flags) = layout_of(stream)?;
    Some(Fields {
        flags,
        read_ptr: field!(layout.read_ptr) as usize,
        read_end: field!(layout.read_end) as usize,
        read_base: field!(layout.read_base) as usize,
        write_base: field!(layout.write_base) as usize,
        write_ptr: field!(layout.write_ptr) as usize,
        buf_base: field!(layout.buf_base) as usize,
        offset: field!(layout.offset),
    })
}

/// True for a stream of wide characters. If the stream appends, ftello(3) already returns the position at which bytes will be appended.
pub(super) fn is_wide(stream: *mut FILE) -> bool {
    if !GLIBC.load(Ordering::Relaxed) {
        return false;
    }
    let layout: *const Layout = stream.cast_const().cast();
    field!(layout.mode) > 0
}

impl Fields {
    /// Returns the stream's position in bytes, equal to the result of ftello(3); `None` if the stream does not know the kernel's position.
    #[inline(always)]
    pub(super) fn position(&self) -> Option<i64> {
        if self.offset < 0 || self.flags & APPENDING != 0 {
            return None;
        }
        if self.buf_base == 0 {
            return Some(self.offset);
        }
        // The kernel's position is at the end of the input: pending output lies after this position, unread input before it.
        let here = if self.write_ptr > self.write_base { self.write_ptr } else { self.read_ptr };
        Some(self.offset + (here as i64 - self.read_end as i64)).filter(|position| *position >= 0)
    }

    /// True if an earlier call has set the stream's error flag.
    pub(super) fn has_error(&self) -> bool {
        self.flags & ERROR != 0
    }

    /// Returns the stream's buffer pointers, of which every transfer moves at least one.
    #[inline(always)]
    pub(super) fn marks(&self) -> Marks {
        [self.read_ptr, self.read_end, self.write_base, self.write_ptr]
    }

    /// True if the stream's buffer holds bytes that are still to be written or read.
    #[inline(always)]
    pub(super) fn waiting(&self) -> bool {
        self.write_ptr > self.write_base || self.read_ptr < self.read_end
    }

    /// Returns the number of bytes in the buffer that are still to be written.
    pub(super) fn unwritten(&self) -> i64 {
        self.write_ptr.saturating_sub(self.write_base) as i64
    }

    /// Returns the bytes that one call, which reads at most `limit` bytes, has read between the snapshots `self` and `after`. `None` if the
    /// call may have refilled the buffer: its bounds changed, the read position has not advanced, or `limit` exceeds the buffer's content.
    /// (A refill that keeps the bounds and advances the position means that the call has read more than that content.)
    #[inline(always)]
    pub(super) fn read_until(&self, after: &Self, limit: usize) -> Option<u64> {
        let same =
            self.buf_base == after.buf_base && self.read_base == after.read_base && self.read_end == after.read_end;
        let filled = self.read_end.saturating_sub(self.read_base);
        (same && after.read_ptr > self.read_ptr && limit <= filled).then(|| (after.read_ptr - self.read_ptr) as u64)
    }
}

/// Returns the stream's descriptor; negative for C streams without a descriptor (fmemopen, fopencookie). Does not call fileno(3), since the
/// wrapper of fileno(3) would treat the call as the program's.
#[inline(always)]
pub(super) fn number_of(stream: *mut FILE) -> c_int {
    if !GLIBC.load(Ordering::Relaxed) {
        return numbers::ask(stream);
    }
    // SAFETY: the program's own open stream; glibc's streams begin with this structure.
    let place = unsafe { &raw const (*stream.cast_const().cast::<Layout>()).fileno };
    // SAFETY: aligned and inside the structure; volatile, since another thread may write the field.
    unsafe { place.read_volatile() }
}
