//! Stripe layouts (Lustre, CephFS), read from the file system when a file is opened, and again at close or at the end of the program, since
//! a progressive layout grows while the file is written.
#![expect(unsafe_code, reason = "fgetxattr(2); references into reserved memory")]

use super::file::number;
use super::records::{File, LayoutText};
use crate::errno;
use crate::memory::{self, Bytes, Loan, Record, Table};
use crate::spool::journal;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::meta::{FileKind, LayoutDef, LayoutMoment, LayoutSource};

// SAFETY: a record is found only once it is complete.
unsafe impl Record for LayoutText {}

static LAYOUTS: Table<LayoutText> = Table::new();
/// Stripe layouts as attribute values. Stored separately from paths, so that many widely striped files do not use up the space for names.
static VALUES: Bytes = Bytes::new();

/// Device numbers + 1 of file systems that support neither Lustre's nor CephFS's layout attribute (EOPNOTSUPP, not merely no layout), which
/// are not queried again.
static WITHOUT_LAYOUTS: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

const ATTRIBUTES: [(&CStr, LayoutSource); 2] =
    [(c"lustre.lov", LayoutSource::Lustre), (c"ceph.file.layout", LayoutSource::Ceph)];
/// Maximum size of an attribute value in Linux (XATTR_SIZE_MAX), in bytes; Lustre's maximum of 2,000 stripes takes 48,032 bytes.
const MOST_BYTES: usize = 65536;

pub(super) fn prepare(layouts: usize, bytes: usize) {
    LAYOUTS.prepare(layouts);
    VALUES.prepare(bytes);
}

/// Returns the total size of all stored stripe layouts, in bytes.
pub(super) fn bytes() -> u64 {
    VALUES.len() as u64
}

impl File {
    /// Returns the file's stripe layouts at open and at close, if known.
    pub(crate) fn layouts(&self) -> [Option<&'static LayoutText>; 2] {
        // SAFETY: null or a record that is never removed.
        [0, 1].map(|moment: usize| unsafe { self.layouts[moment].load(Ordering::Acquire).as_ref() })
    }

    /// True if the file system of the file supports stripe layouts (Lustre, CephFS).
    pub(crate) fn has_layouts(&self) -> bool {
        !self.layouts[0].load(Ordering::Relaxed).is_null() || self.may_get_layout.load(Ordering::Relaxed)
    }
}

/// Writes a file's stripe layout to the journal of the spool (the file that survives a kill). `moment`: open or close, when the layout was
/// read.
pub(super) fn note(file: &File, moment: LayoutMoment, layout: &LayoutText) {
    if journal::is_kept() {
        let def = LayoutDef { file: number(file), moment, source: layout.source, bytes: Vec::new() };
        journal::layout(&def, layout.bytes);
    }
}

/// Reads and stores the stripe layout of the file that is open as `fd`. Works for ordinary users on every Lustre and CephFS client; a file
/// system that supports neither attribute is queried once.
pub(crate) fn read_layout(file: &File, fd: libc::c_int, moment: LayoutMoment) {
    if !matches!(file.identity.get().kind, FileKind::Regular) {
        return;
    }
    let [at_open, at_close] = &file.layouts;
    match moment {
        LayoutMoment::Open if !at_open.load(Ordering::Relaxed).is_null() => return,
        LayoutMoment::Close if !file.has_layouts() => return,
        _ => {}
    }
    let device = file.identity.get().device;
    if WITHOUT_LAYOUTS.iter().any(|without| without.load(Ordering::Relaxed) == device + 1) {
        return;
    }
    let mut knows_none = true;
    for (name, source) in ATTRIBUTES {
        match ask(fd, name, |value| keep(file, source, value)) {
            Ok(kept) => {
                let place = if moment == LayoutMoment::Close { at_close } else { at_open };
                if let Some((layout, is_new)) = kept {
                    place.store(std::ptr::from_ref(layout).cast_mut(), Ordering::Release);
                    if is_new {
                        note(file, moment, layout);
                    }
                }
                return;
            }
            Err(error) => {
                knows_none &= error == libc::EOPNOTSUPP;
                // Lustre returns ENODATA for a file whose objects are created at its first write.
                if source == LayoutSource::Lustre && error == libc::ENODATA {
                    file.may_get_layout.store(true, Ordering::Relaxed);
                }
            }
        }
    }
    if knows_none {
        let free = |place: &&AtomicU64| place.load(Ordering::Relaxed) == 0;
        if let Some(place) = WITHOUT_LAYOUTS.iter().find(free) {
            place.store(device + 1, Ordering::Relaxed);
        }
    }
}

/// Stores a stripe layout (attribute value) for the file, unless already known; the second result is true if the value is new.
fn keep(file: &File, source: LayoutSource, value: &[u8]) -> Option<(&'static LayoutText, bool)> {
    let mut before = file.layouts().into_iter().flatten();
    if let Some(before) = before.find(|known| known.source == source && known.bytes == value) {
        return Some((before, false));
    }
    if value.is_empty() || super::is_over_budget() {
        return None;
    }
    let (_, layout) = VALUES.keep(value).and_then(|bytes| LAYOUTS.push(LayoutText { source, bytes }))?;
    Some((layout, true))
}

/// Reads extended attribute `name` of `fd` and passes its value to `take`; returns the errno value on failure.
fn ask<T>(fd: libc::c_int, name: &CStr, take: impl FnOnce(&[u8]) -> T) -> Result<T, i32> {
    // The loan is large enough for some 160 stripes; a thread's stack may be too small for it.
    if let Some(mut buffer) = Loan::take() {
        match value(fd, name, &mut *buffer) {
            Err(libc::ERANGE) => {}
            answer => return answer.map(take),
        }
    }
    // A widely striped file needs temporary memory.
    let place = memory::map(MOST_BYTES);
    if place.is_null() {
        return Err(libc::ENOMEM);
    }
    // SAFETY: this many bytes of a new, zeroed mapping that nothing else refers to.
    let answer = value(fd, name, unsafe { std::slice::from_raw_parts_mut(place, MOST_BYTES) }).map(take);
    memory::unmap(place, MOST_BYTES);
    answer
}

fn value<'a>(fd: libc::c_int, name: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], i32> {
    // SAFETY: the caller's buffer with its size; the name is NUL-terminated.
    let length =
        unsafe { crate::sys::syscall!(libc::SYS_fgetxattr, fd, name.as_ptr(), buffer.as_mut_ptr(), buffer.len()) };
    let length = usize::try_from(length).map_err(|_| errno::save().value())?;
    buffer.get(..length).ok_or(libc::ERANGE)
}
