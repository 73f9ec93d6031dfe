//! Files by canonical path.
#![expect(unsafe_code, reason = "fgetxattr(2); references into reserved memory")]

use super::accesses::Gone;
use super::records::{File, Identity, KnownIdentity, LayoutText};
use super::stream::Within;
use super::{others, profiles};
use crate::errno;
use crate::memory::{Bytes, Table};
use crate::notes::Note;
use crate::ops::FREQUENT;
use crate::spool::journal;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use trace_format::meta::{FileDef, FileKind, LayoutDef, LayoutMoment, LayoutSource, path_hash};

impl File {
    /// Layouts at open and at close.
    pub(crate) fn layouts(&self) -> [Option<&'static LayoutText>; 2] {
        // SAFETY: null or a record that never goes away.
        [0, 1].map(|moment: usize| unsafe { self.layouts[moment].load(Ordering::Acquire).as_ref() })
    }
}

const BUCKETS: usize = 1 << 14;

static FILES: Table<File> = Table::new();
static LAYOUTS: Table<LayoutText> = Table::new();
static PATHS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<File>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

/// Devices whose file system knows neither attribute (EOPNOTSUPP, not merely a file without one): not asked again.
static WITHOUT_LAYOUTS: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// Takes address space for `files` files.
pub(super) fn prepare(files: usize) {
    FILES.prepare(files);
    LAYOUTS.prepare(files / 4);
    PATHS.prepare(files * 128);
}

/// As [`prepare`], for counters mode: `limit` files and the condensed record of all others.
pub(super) fn prepare_counters(limit: usize) {
    // A few more: threads that find the same new file at the same time may each make a record.
    FILES.prepare(limit + 64);
    LAYOUTS.prepare(limit * 2);
    PATHS.prepare(limit * 256);
    if let Some(file) = find_or_add(others::PATH, Identity::default()) {
        others::begin(limit, file);
    }
}

/// The condensed record, on which the file at `path` is booked; `None` in trace mode.
pub(crate) fn condensed(path: &[u8]) -> Option<&'static File> {
    let condensed = others::condensed()?;
    others::seen(path_hash(path));
    Note::OtherFile.count();
    Some(condensed)
}

/// All files, in the order in which they were first seen.
pub(crate) fn files() -> impl Iterator<Item = &'static File> {
    FILES.iter()
}

fn find_from(head: *const File, hash: u64, path: &[u8]) -> Option<&'static File> {
    let mut at = head;
    // SAFETY: the list holds null or pointers to records that were written before they were linked.
    while let Some(file) = unsafe { at.as_ref() } {
        if file.hash == hash && file.path == path {
            return Some(file);
        }
        at = file.next;
    }
    None
}

/// The file at `path`, if it has been seen.
pub(crate) fn find(path: &[u8]) -> Option<&'static File> {
    let hash = path_hash(path);
    find_from(HEADS[hash as usize % BUCKETS].load(Ordering::Acquire), hash, path)
}

/// The file at `path`, made if need be. When there is no room for it, the condensed record of counters mode, or `None`.
pub(crate) fn find_or_add(path: &[u8], identity: Identity) -> Option<&'static File> {
    own_record(path, identity).or_else(|| condensed(path))
}

fn own_record(path: &[u8], identity: Identity) -> Option<&'static File> {
    let hash = path_hash(path);
    let bucket = &HEADS[hash as usize % BUCKETS];
    let mut made: Option<&'static File> = None;
    loop {
        let head = bucket.load(Ordering::Acquire);
        if let Some(file) = find_from(head, hash, path) {
            if file.identity.learn(identity) {
                note(file);
            }
            return Some(file);
        }
        if FILES.len() > others::limit() {
            return None;
        }
        // Two threads may make the same file; the one that loses the exchange leaves an unused record behind.
        let path = match made {
            Some(file) => file.path,
            None => PATHS.keep(path)?,
        };
        let (_, file) = FILES.push(File {
            hash,
            path,
            identity: KnownIdentity::new(identity),
            frequent: [const { AtomicU32::new(0) }; Within::COUNT * FREQUENT],
            streams: AtomicPtr::new(std::ptr::null_mut()),
            profiles: profiles::none(),
            layouts: [const { AtomicPtr::new(std::ptr::null_mut()) }; 2],
            gone: Gone::default(),
            next: head,
        })?;
        made = Some(file);
        // Before anyone can find it: whoever is killed while using it leaves segments that name it.
        note(file);
        let new = std::ptr::from_ref(file).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(file);
        }
    }
}

/// The file's number: by which the journal knows it.
pub(super) fn number(file: &File) -> u32 {
    FILES.index_of(file) as u32
}

/// What the trace says of a file, but for its path.
pub(crate) fn definition(file: &File) -> FileDef {
    let Identity { kind, device, inode, block_size } = file.identity.get();
    FileDef { hash: file.hash, path: None, kind, device, inode, block_size }
}

/// Writes a file into the journal.
pub(super) fn note(file: &File) {
    if journal::is_kept() {
        journal::file(number(file), &definition(file), file.path);
    }
}

/// Writes all files and their layouts into the journal.
pub(super) fn note_all() {
    // One that is being made has no path yet; its maker sees that there is a journal by now.
    for file in files().filter(|file| !file.path.is_empty()) {
        note(file);
        for (moment, layout) in [LayoutMoment::Open, LayoutMoment::Close].into_iter().zip(file.layouts()) {
            if let Some(layout) = layout {
                note_layout(file, moment, layout);
            }
        }
    }
}

/// Writes a layout of a file into the journal.
pub(super) fn note_layout(file: &File, moment: LayoutMoment, layout: &LayoutText) {
    if journal::is_kept() {
        let def = LayoutDef { file: number(file), moment, source: layout.source, bytes: Vec::new() };
        journal::layout(&def, layout.bytes);
    }
}

/// Forgets what triggers ask of segments that are gone.
pub(super) fn forget_gone() {
    files().for_each(|file| file.gone.forget());
}

/// Asks the file system behind `fd` for the file's stripe layout and keeps it. Works for ordinary users on every Lustre
/// and CephFS client; elsewhere the attribute does not exist and one system call is lost.
pub(crate) fn read_layout(file: &File, fd: libc::c_int, moment: LayoutMoment) {
    if !matches!(file.identity.get().kind, FileKind::Regular) {
        return;
    }
    let place = &file.layouts[usize::from(moment == LayoutMoment::Close)];
    if moment == LayoutMoment::Open && !place.load(Ordering::Relaxed).is_null() {
        return;
    }
    let attributes = [(c"lustre.lov", LayoutSource::Lustre), (c"ceph.file.layout", LayoutSource::Ceph)];
    // A file that had no layout when it was opened has none when it is closed.
    if moment == LayoutMoment::Close && file.layouts[0].load(Ordering::Relaxed).is_null() {
        return;
    }
    let device = file.identity.get().device;
    if WITHOUT_LAYOUTS.iter().any(|known| known.load(Ordering::Relaxed) == device + 1) {
        return;
    }
    let (mut buffer, mut knows_none) = ([0_u8; 8192], true);
    for (name, source) in attributes {
        // SAFETY: the buffer is ours and its size is given; the name ends in NUL.
        let length =
            unsafe { crate::sys::syscall!(libc::SYS_fgetxattr, fd, name.as_ptr(), buffer.as_mut_ptr(), buffer.len()) };
        let Some(bytes) = usize::try_from(length).ok().and_then(|length| buffer.get(..length)) else {
            knows_none &= errno::save().value() == libc::EOPNOTSUPP;
            continue;
        };
        // The same as before is not kept again: a file may be opened and closed without end.
        let before = file.layouts().into_iter().flatten().find(|known| known.source == source && known.bytes == bytes);
        if let Some(before) = before {
            place.store(std::ptr::from_ref(before).cast_mut(), Ordering::Release);
            return;
        }
        let kept = PATHS.keep(bytes).and_then(|bytes| LAYOUTS.push(LayoutText { source, bytes }));
        if let Some((_, layout)) = kept.filter(|_| !bytes.is_empty()) {
            place.store(std::ptr::from_ref(layout).cast_mut(), Ordering::Release);
            note_layout(file, moment, layout);
        }
        return;
    }
    if knows_none {
        // A device number plus one, where there is a place left.
        let free = |place: &&AtomicU64| place.load(Ordering::Relaxed) == 0;
        if let Some(place) = WITHOUT_LAYOUTS.iter().find(free) {
            place.store(device + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_is_one_file_whoever_comes_first() {
        super::super::prepare(1024);
        let all: Vec<&'static File> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..50)
                            .map(|i| find_or_add(format!("/data/{i}").as_bytes(), Identity::default()).unwrap())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        for (i, file) in all.iter().enumerate() {
            assert!(std::ptr::eq(*file, all[i % 50]));
        }
    }
}
