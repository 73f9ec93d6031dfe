//! What an entry of a submission queue asks for, and what a completion says became of it.

use super::layout::{Completion, Entry};
use crate::handles::pending::{self, Key, Pending};
use crate::handles::rings::{Registered, Ring};
use crate::handles::{self, Manner, Sent};
use crate::notes::Note;
use crate::ops::{
    Op, POSIX_IO_URING_ALLOCATE, POSIX_IO_URING_CLOSE, POSIX_IO_URING_DATA_SYNC, POSIX_IO_URING_OPEN,
    POSIX_IO_URING_READ, POSIX_IO_URING_SYNC, POSIX_IO_URING_SYNC_RANGE, POSIX_IO_URING_WRITE,
};
use crate::record::Call;
use crate::registry::File;
use crate::tls::Thread;
use trace_format::segment::NO_OFFSET;

/// The descriptor is a place among the registered files (IOSQE_FIXED_FILE).
const REGISTERED: u8 = 1 << 0;
/// Only a failure is told (IOSQE_CQE_SKIP_SUCCESS).
const SILENT: u8 = 1 << 6;
/// There will be more completions of the entry (IORING_CQE_F_MORE), or this is one (IORING_CQE_F_NOTIF).
const NOT_THE_END: u32 = 1 << 1 | 1 << 3;

/// Of an operation that has no place in its file.
const NOWHERE: (i64, Manner) = (NO_OFFSET, Manner::PLAIN);

/// Operations that are not of files: on sockets, timers, other entries, buffers, memory and futexes (IORING_OP_...).
const OF_NO_FILE: &[u8] = &[
    0, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 31, 32, 34, 40, 45, 47, 48, 50, 51, 52, 53, 54, 56, 57,
    58, 59, 62,
];

/// What an entry does: the operation, with the range where the completion does not say how many bytes it was.
enum Asked {
    /// Moves bytes.
    Data(&'static Op),
    /// Concerns a range of the file, or all of it.
    Range(&'static Op, i64, u64),
    /// Opens a file.
    Open,
    /// Closes a descriptor.
    Close,
    /// Changes which files are registered.
    Registers,
    /// Nothing with files.
    Nothing,
    /// Something with files that is not recorded.
    Unseen,
}

fn asked(entry: &Entry) -> Asked {
    let length = u64::from(entry.length);
    match entry.opcode {
        // IORING_OP_READV, READ_FIXED, READ.
        1 | 4 | 22 => Asked::Data(&POSIX_IO_URING_READ),
        // WRITEV, WRITE_FIXED, WRITE.
        2 | 5 | 23 => Asked::Data(&POSIX_IO_URING_WRITE),
        // FSYNC, with and without IORING_FSYNC_DATASYNC.
        3 if entry.operation_flags & 1 != 0 => Asked::Range(&POSIX_IO_URING_DATA_SYNC, NO_OFFSET, 0),
        3 => Asked::Range(&POSIX_IO_URING_SYNC, NO_OFFSET, 0),
        // SYNC_FILE_RANGE.
        8 => Asked::Range(&POSIX_IO_URING_SYNC_RANGE, entry.offset as i64, length),
        // FALLOCATE: the length lies where others have an address.
        17 => Asked::Range(&POSIX_IO_URING_ALLOCATE, entry.offset as i64, entry.address),
        // OPENAT, OPENAT2.
        18 | 28 if entry.file_index == 0 => Asked::Open,
        // CLOSE.
        19 => Asked::Close,
        // FILES_UPDATE.
        20 => Asked::Registers,
        opcode if OF_NO_FILE.contains(&opcode) => Asked::Nothing,
        _ => Asked::Unseen,
    }
}

/// The program hands over an entry, at this turn; the recorded file that it is for, if it moves bytes or concerns a range of it.
pub(super) fn submitted(ring: &Ring, entry: &Entry, turn: u64, start: u64) -> Option<Sent> {
    let note = |to: Sent, op: &'static Op, (offset, manner): (i64, Manner), length: u64| {
        if entry.flags & SILENT != 0 {
            Note::RingOperation.count();
            return;
        }
        let pending = Pending { to, op, offset: offset.max(NO_OFFSET), manner, length, start, end: 0, turn };
        pending::add(Key { owner: ring.owner(), mark: entry.mark }, &pending);
    };
    match asked(entry) {
        Asked::Data(op) => {
            let (to, opened) = sent(ring, entry)?;
            let (manner, offset) = Manner::of_operation(opened, op, entry.operation_flags as i32, entry.offset as i64);
            share_position(entry);
            note(to, op, (offset, manner), 0);
            return Some(to);
        }
        Asked::Range(op, offset, length) => {
            let (to, _) = sent(ring, entry)?;
            note(to, op, (offset, Manner::PLAIN), length);
            return Some(to);
        }
        Asked::Open => note(Sent::Untold, &POSIX_IO_URING_OPEN, NOWHERE, 0),
        Asked::Close => {
            if let Some(place) = entry.file_index.checked_sub(1) {
                ring.set_file(place as usize, None);
            } else {
                // As soon as the kernel has closed it, another thread may get the number.
                let taken = handles::take(entry.descriptor);
                if let Some(file) = taken.file() {
                    note(Sent::To(file), &POSIX_IO_URING_CLOSE, NOWHERE, 0);
                }
                taken.close();
            }
        }
        Asked::Registers => ring.forget_files(),
        Asked::Nothing => {}
        Asked::Unseen => Note::RingOperation.count(),
    }
    None
}

/// Target of an entry, if that is recorded, and how the file was opened when it was registered, or is now.
fn sent(ring: &Ring, entry: &Entry) -> Option<(Sent, Manner)> {
    if entry.flags & REGISTERED == 0 {
        let target = handles::descriptor(entry.descriptor)?;
        return Some((target.sent(), target.description.manner(true)));
    }
    match ring.file(entry.descriptor as usize) {
        Registered::Recorded(file, manner) => Some((Sent::To(file), manner)),
        Registered::NotRecorded => None,
        Registered::Unknown => {
            Note::RingOperation.count();
            None
        }
    }
}

/// An offset with all bits set is the descriptor's position, which somebody else moves then.
fn share_position(entry: &Entry) {
    if entry.offset == u64::MAX && entry.flags & REGISTERED == 0 {
        handles::descriptor(entry.descriptor).into_iter().for_each(|target| target.description.share());
    }
}

/// The kernel has taken an entry, and its descriptor.
pub(super) fn taken(ring: &Ring, entry: &Entry, turn: u64) {
    pending::settle_keyed(Key { owner: ring.owner(), mark: entry.mark }, turn);
}

/// The kernel did not take an entry after all.
pub(super) fn not_submitted(ring: &Ring, entry: &Entry, turn: u64) {
    pending::take_turn(Key { owner: ring.owner(), mark: entry.mark }, turn);
}

/// A completion was seen at `end`, by `thread`: where its operation went, if that is recorded.
pub(super) fn completed(thread: &'static Thread, ring: &Ring, completion: &Completion, end: u64) -> Option<Sent> {
    if completion.flags & NOT_THE_END != 0 {
        return None;
    }
    let key = Key { owner: ring.owner(), mark: completion.mark };
    // Once completions were lost, a mark that is used again may find what its predecessor had asked for.
    let pending = if ring.is_lossy() { pending::take_only(key) } else { pending::take(key) };
    let mut pending = pending?;
    let opened = std::ptr::eq(pending.op, &POSIX_IO_URING_OPEN) && completion.result >= 0;
    if opened {
        pending.to = Sent::To(opened_as(completion.result)?);
    } else if matches!(pending.to, Sent::Untold) {
        Note::Name.count();
        return None;
    }
    Call::since(thread, pending.start).end_pending(end, &pending, completion.result.into());
    Some(pending.to)
}

/// The file that was opened as `number`. The program may have used it already.
fn opened_as(number: i32) -> Option<&'static File> {
    handles::descriptor(number).and_then(|target| target.file())
}
