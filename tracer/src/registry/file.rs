//! Table of the files that the program has used, by canonical path.
#![expect(unsafe_code, reason = "references into reserved memory")]

use super::accesses::Gone;
use super::records::{File, Identity, KnownIdentity, Plain};
use super::stream::Within;
use super::{layouts, others, profiles};
use crate::anonymize;
use crate::budget::FILE_BYTES;
use crate::memory::{Bytes, Record, Table};
use crate::notes::Note;
use crate::ops::FREQUENT;
use crate::spool::journal;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use trace_format::meta::{FileDef, LayoutMoment, path_hash};

/// Path of the pseudo-file on which MPI collective calls are recorded, since they have no file.
pub(super) const MPI_PATH: &[u8] = b"<MPI>";

/// Paths, by descriptor number, of the pseudo-files for standard output and standard error (none for input): long writes to an unrecorded
/// file, such as a pipe that waits for its reader, are recorded on them.
pub(crate) const STANDARD_PATHS: [&[u8]; 3] = [b"", b"<stdout>", b"<stderr>"];

const BUCKETS: usize = 1 << 14;

// SAFETY: a record is found only once it is complete.
unsafe impl Record for File {}

static FILES: Table<File> = Table::new();
static PATHS: Bytes = Bytes::new();
static HEADS: [AtomicPtr<File>; BUCKETS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; BUCKETS];

pub(super) fn prepare(files: usize) {
    FILES.prepare(files);
    PATHS.prepare(files * 128 * names_per_file());
    layouts::prepare(files / 4, files * 128);
}

/// Returns the factor by which file names need more memory than without anonymization: 3 if anonymization is on, since anonymized names are
/// stored too, else 1.
fn names_per_file() -> usize {
    if anonymize::is_on() { 3 } else { 1 }
}

/// Returns a file's name in the form that may leave the process. Names defined by the tracer identify nobody and stay as they are.
fn reported(path: &'static [u8]) -> Option<&'static [u8]> {
    if !anonymize::is_on()
        || path == others::PATH
        || path == others::UNCERTAIN_PATH
        || path == MPI_PATH
        || STANDARD_PATHS.contains(&path)
    {
        return Some(path);
    }
    PATHS.keep_made(anonymize::path_bytes(path), |place| anonymize::path_into(path, place))
}

/// Reserves address space like [`prepare`], for counters mode: for `limit` files, and one condensed record for all other files.
pub(super) fn prepare_counters(limit: usize) {
    // Reserve spare records: threads that find the same new file at the same time may each create a record.
    FILES.prepare(limit + 64);
    PATHS.prepare(limit * 256 * names_per_file());
    layouts::prepare(limit * 2, limit * 256);
    if let Some(file) = find_or_add(others::PATH, Identity::default()) {
        others::begin(limit, file);
    }
}

/// Counts the file at `path` on the condensed record, which stands for many files, and returns that record. `None` if there is no condensed
/// record: in trace mode, unless the job's budget is spent.
pub(crate) fn condensed(path: &[u8]) -> Option<&'static File> {
    let is_spent = super::is_over_budget();
    if is_spent && others::condensed().is_none() {
        others::begin(others::limit(), record_of(others::PATH, Identity::default())?);
    }
    let condensed = others::condensed()?;
    others::seen(path_hash(path));
    if is_spent { Note::OverBudgetFile } else { Note::OtherFile }.count();
    Some(condensed)
}

/// Returns the file record for calls whose file is unknown (`<uncertain>`).
#[cold]
pub(crate) fn uncertain() -> Option<&'static File> {
    record_of(others::UNCERTAIN_PATH, Identity::default()).or_else(|| condensed(others::UNCERTAIN_PATH))
}

/// Returns the approximate size that all files take in a trace, in bytes, including names that are written as hashes.
pub(super) fn bytes() -> u64 {
    FILES.len() as u64 * FILE_BYTES + PATHS.len() as u64 + layouts::bytes()
}

pub(crate) fn files() -> impl Iterator<Item = &'static File> {
    FILES.iter()
}

fn find_from(head: *const File, hash: u64, path: &[u8]) -> Option<&'static File> {
    let mut at = head;
    // SAFETY: the list holds null or pointers to records that were written before they were linked.
    while let Some(file) = unsafe { at.as_ref() } {
        if file.key == hash && file.real_path == path {
            return Some(file);
        }
        at = file.next;
    }
    None
}

pub(crate) fn find(path: &[u8]) -> Option<&'static File> {
    find_by(path, path_hash(path))
}

pub(crate) fn find_by(path: &[u8], hash: u64) -> Option<&'static File> {
    find_from(HEADS[hash as usize % BUCKETS].load(Ordering::Acquire), hash, path)
}

/// Returns the record of the file at `path`, created if absent. If there is no room (counters mode, spent budget), returns the condensed
/// record, which stands for many files; `None` if that does not exist.
pub(crate) fn find_or_add(path: &[u8], identity: Identity) -> Option<&'static File> {
    own_record(path, identity).or_else(|| condensed(path))
}

fn own_record(path: &[u8], identity: Identity) -> Option<&'static File> {
    if super::is_over_budget() {
        return find(path).inspect(|file| learn(file, identity));
    }
    record_of(path, identity)
}

/// Stores `identity` in the file's record if the identity was unknown, and then writes the file's definition (name, identity) to the
/// spool's journal again, with the identity.
fn learn(file: &File, identity: Identity) {
    if file.identity.learn(identity) {
        note(file);
    }
}

fn record_of(path: &[u8], identity: Identity) -> Option<&'static File> {
    let hash = path_hash(path);
    let bucket = &HEADS[hash as usize % BUCKETS];
    let mut made: Option<&'static File> = None;
    loop {
        let head = bucket.load(Ordering::Acquire);
        if let Some(file) = find_from(head, hash, path) {
            learn(file, identity);
            return Some(file);
        }
        if FILES.len() > others::limit() {
            return None;
        }
        // Two threads may create the same file; the thread that loses the exchange leaves an unused record behind.
        let (real_path, reported) = match made {
            Some(file) => (file.real_path, file.reported),
            None => {
                let kept = PATHS.keep(path)?;
                (kept, reported(kept)?)
            }
        };
        let (_, file) = FILES.push_with(|_| File {
            real_path,
            key: hash,
            reported,
            hash: path_hash(reported),
            identity: KnownIdentity::new(identity),
            frequent: [const { AtomicU64::new(0) }; Within::COUNT * FREQUENT],
            streams: AtomicPtr::new(std::ptr::null_mut()),
            profiles: profiles::none(),
            layouts: [const { AtomicPtr::new(std::ptr::null_mut()) }; 2],
            plain: Plain::default(),
            may_get_layout: AtomicBool::new(false),
            gone: Gone::default(),
            next: head,
        })?;
        made = Some(file);
        // Write to the journal before any thread can find the file: a process killed while using the file leaves segments that refer to it.
        note(file);
        let new = std::ptr::from_ref(file).cast_mut();
        if bucket.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return Some(file);
        }
    }
}

/// Returns the number by which the journal of the spool refers to the file: its index in the table of files.
pub(super) fn number(file: &File) -> u32 {
    FILES.index_of(file) as u32
}

pub(crate) fn definition(file: &File) -> FileDef {
    let Identity { kind, device, inode, block_size } = file.identity.get();
    FileDef { hash: file.hash, path: None, kind, device, inode, block_size }
}

pub(super) fn note(file: &File) {
    if journal::is_kept() {
        journal::file(number(file), &definition(file), file.reported);
    }
}

/// Writes the names of all files known so far, and their stripe layouts, to the journal of the spool (the file that survives a kill).
pub(super) fn note_all() {
    // A file under construction has no path yet; its creator will see that the journal exists.
    for file in files().filter(|file| !file.reported.is_empty()) {
        note(file);
        for (moment, layout) in [LayoutMoment::Open, LayoutMoment::Close].into_iter().zip(file.layouts()) {
            if let Some(layout) = layout {
                layouts::note(file, moment, layout);
            }
        }
    }
}

/// Resets, for all files, the access counts of those segments that were folded into counters.
pub(super) fn forget_gone() {
    files().for_each(|file| file.gone.forget());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_is_one_file_whoever_comes_first() {
        crate::registry::prepare_for_tests();
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
