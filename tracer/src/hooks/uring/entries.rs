//! Interprets io_uring submission queue entries and completions: operation, file, offset and length.

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

/// Entry flag IOSQE_FIXED_FILE: the descriptor field is an index into the registered files.
const REGISTERED: u8 = 1 << 0;
/// Entry flag IOSQE_CQE_SKIP_SUCCESS: the kernel posts a completion only on failure.
const SILENT: u8 = 1 << 6;
/// Completion flags IORING_CQE_F_MORE (more completions of the entry will follow) and IORING_CQE_F_NOTIF (notification after the result).
const NOT_THE_END: u32 = 1 << 1 | 1 << 3;

/// Offset and open flags of an io_uring operation that has no offset.
const NOWHERE: (i64, Manner) = (NO_OFFSET, Manner::PLAIN);

/// Opcodes (IORING_OP_...) that involve no file: operations on sockets, timers, other entries (cancel, poll), buffers, memory and futexes.
const OF_NO_FILE: &[u8] = &[
    0, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 31, 32, 34, 40, 45, 47, 48, 50, 51, 52, 53, 54, 56, 57,
    58, 59, 62,
];

/// Operation that a submission queue entry requests.
enum Asked {
    /// Transfers bytes; the completion reports their number.
    Data(&'static Op),
    /// Acts on a range of the file: offset and length in bytes; length 0 for the whole file.
    Range(&'static Op, i64, u64),
    Open,
    Close,
    /// Changes the list of files registered with the ring.
    Registers,
    Nothing,
    /// Acts on files in a way that is not recorded; the operation is only counted.
    Unseen,
}

fn asked(entry: &Entry) -> Asked {
    let length = u64::from(entry.length);
    match entry.opcode {
        // IORING_OP_READV, IORING_OP_READ_FIXED, IORING_OP_READ.
        1 | 4 | 22 => Asked::Data(&POSIX_IO_URING_READ),
        // IORING_OP_WRITEV, IORING_OP_WRITE_FIXED, IORING_OP_WRITE.
        2 | 5 | 23 => Asked::Data(&POSIX_IO_URING_WRITE),
        // IORING_OP_FSYNC, with and without IORING_FSYNC_DATASYNC.
        3 if entry.operation_flags & 1 != 0 => Asked::Range(&POSIX_IO_URING_DATA_SYNC, NO_OFFSET, 0),
        3 => Asked::Range(&POSIX_IO_URING_SYNC, NO_OFFSET, 0),
        // IORING_OP_SYNC_FILE_RANGE.
        8 => Asked::Range(&POSIX_IO_URING_SYNC_RANGE, entry.offset as i64, length),
        // IORING_OP_FALLOCATE, which has the length in the address field.
        17 => Asked::Range(&POSIX_IO_URING_ALLOCATE, entry.offset as i64, entry.address),
        // IORING_OP_OPENAT, IORING_OP_OPENAT2.
        18 | 28 if entry.file_index == 0 => Asked::Open,
        // IORING_OP_CLOSE.
        19 => Asked::Close,
        // IORING_OP_FILES_UPDATE.
        20 => Asked::Registers,
        opcode if OF_NO_FILE.contains(&opcode) => Asked::Nothing,
        _ => Asked::Unseen,
    }
}

/// Adds an entry that the program submits, with sequence number `turn` at time `start` (clock ticks), to the pending operations. Returns
/// the entry's target if its file is recorded and the entry transfers bytes or acts on a range.
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
                // Take the number before the kernel closes it: afterwards another thread may get it.
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

/// Returns the target of an entry and the open flags of its file, if the file is recorded.
fn sent(ring: &Ring, entry: &Entry) -> Option<(Sent, Manner)> {
    if entry.flags & REGISTERED == 0 {
        let target = handles::descriptor(entry.descriptor)?;
        return Some(target.sent());
    }
    match ring.file(entry.descriptor as usize) {
        Registered::Recorded(used) => Some((Sent::To(used.file()), used.manner(true))),
        Registered::NotRecorded => None,
        Registered::Unknown => {
            Note::RingOperation.count();
            None
        }
    }
}

/// Marks the descriptor's file position as shared if all bits of the entry's offset are set: the kernel then uses and moves the position.
fn share_position(entry: &Entry) {
    if entry.offset == u64::MAX && entry.flags & REGISTERED == 0 {
        handles::descriptor(entry.descriptor).into_iter().for_each(|target| target.description.share());
    }
}

/// Confirms the file of a submission queue entry: the kernel has accepted the entry and resolved its descriptor.
pub(super) fn taken(ring: &Ring, entry: &Entry, turn: u64) {
    pending::settle_keyed(Key { owner: ring.owner(), mark: entry.mark }, turn);
}

/// Removes from the pending operations a submission queue entry (with sequence number `turn`) that the kernel did not accept.
pub(super) fn not_submitted(ring: &Ring, entry: &Entry, turn: u64) {
    pending::take_turn(Key { owner: ring.owner(), mark: entry.mark }, turn);
}

/// Records the operation of a completion that `thread` saw at time `end` (clock ticks); returns the target if its file is recorded.
pub(super) fn completed(thread: &'static Thread, ring: &Ring, completion: &Completion, end: u64) -> Option<Sent> {
    if completion.flags & NOT_THE_END != 0 {
        return None;
    }
    let key = Key { owner: ring.owner(), mark: completion.mark };
    // The program may use a mark (user data) again once it has seen the completion. If the tracer has missed completions, an earlier
    // request with this mark may still be listed, so which request has completed is certain only if there is one.
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

/// Returns the recorded file that an io_uring operation has opened as descriptor `number`. The file may be known already, from calls that
/// the program has made with the descriptor since.
fn opened_as(number: i32) -> Option<&'static File> {
    handles::descriptor(number).and_then(|target| target.file())
}
