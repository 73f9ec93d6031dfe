//! Examines the queues of an io_uring ring before and after a call that may move them, and records the time that the call blocks its
//! thread.

use super::entries;
use super::layout::{Queues, setup};
use crate::clock;
use crate::handles::rings::Ring;
use crate::handles::{Sent, pending};
use crate::notes::Note;
use crate::ops::{POSIX_SUBMIT, POSIX_WAIT};
use crate::record::Call;
use crate::tls::Thread;
use std::ops::Range;

/// Range of io_uring entries that a call is about to submit, by sequence number (turn).
#[derive(Clone, Copy)]
pub(super) struct HandedOver {
    from: u64,
    to: u64,
    /// Target of the last entry in the range that is on a recorded file.
    to_file: Option<Sent>,
}

/// Records the time that a call blocked its thread: as a wait if the call returned the completion of a file operation (`ended`), else as a
/// submission if the call submitted a file operation (`handed_over`).
pub(super) fn kept(timer: Call, end: u64, ended: Option<Sent>, handed_over: Option<Sent>) {
    if let Some(sent) = ended {
        timer.kept_for(end, sent, &POSIX_WAIT);
    } else if let Some(sent) = handed_over {
        timer.kept_for(end, sent, &POSIX_SUBMIT);
    }
}

/// Converts the 32-bit queue index `index` to the sequence number (turn) of its entry, which is not below `turn`.
fn turn_of(index: u32, turn: u64) -> u64 {
    turn + u64::from(index.wrapping_sub(turn as u32))
}

/// Returns the number of entries from sequence number `turn` up to the queue index `index`; 0 if `index` is not ahead of `turn`.
fn behind(index: u32, turn: u64) -> u32 {
    let distance = index.wrapping_sub(turn as u32);
    if distance.cast_signed() > 0 { distance } else { 0 }
}

/// Adds the entries up to index `to`, which a call is about to submit, to the pending operations.
pub(super) fn handing_over(ring: &Ring, queues: &Queues, to: u32) -> HandedOver {
    let mut from = ring.submitted();
    // Count entries that the kernel has taken but the tracer never inspected.
    let unseen = behind(queues.taken(), from);
    if unseen > 0 {
        Note::RingOperation.count_many(unseen.into());
        from += u64::from(unseen);
    }
    let count = behind(to, from).min(queues.most_entries());
    let to = from + u64::from(count);
    let start = clock::of_call();
    let mut to_file = None;
    for turn in from..to {
        if let Some(entry) = queues.entry(turn as u32) {
            to_file = entries::submitted(ring, &entry, turn, start).or(to_file);
        }
    }
    ring.set_submitted(to);
    HandedOver { from, to, to_file }
}

/// Completes the bookkeeping after the submitting call has returned: removes entries that the kernel did not accept. Returns the target of
/// the last entry on a recorded file, if the kernel accepted any entry.
pub(super) fn handed_over(ring: &Ring, queues: &Queues, entries: HandedOver) -> Option<Sent> {
    let taken = queues.taken();
    if queues.flags & setup::POLLED != 0 {
        // The kernel polls, so it takes the entries at any time, without notice.
        settle(ring, queues, entries.from..entries.to);
        return entries.to_file;
    }
    let until = if taken.wrapping_sub(entries.from as u32).cast_signed() < 0 {
        entries.from
    } else {
        turn_of(taken, entries.from)
    };
    settle(ring, queues, entries.from..until);
    for turn in until..entries.to {
        if let Some(entry) = queues.entry(turn as u32) {
            entries::not_submitted(ring, &entry, turn);
        }
    }
    ring.set_submitted(until);
    entries.to_file.filter(|_| until > entries.from)
}

/// Confirms the files of the entries with sequence numbers `turns`, whose descriptors the kernel has resolved.
fn settle(ring: &Ring, queues: &Queues, turns: Range<u64>) {
    for turn in turns {
        queues.entry(turn as u32).into_iter().for_each(|entry| entries::taken(ring, &entry, turn));
    }
}

/// Records all completions in the queue that were not seen before; returns the target of the last recorded one.
pub(super) fn look(thread: &'static Thread, ring: &Ring, queues: &Queues) -> Option<Sent> {
    let mut file = None;
    let behind = queues.completed();
    if ring.completed() == behind {
        return None;
    }
    let end = clock::of_call();
    loop {
        let index = ring.completed();
        if behind.wrapping_sub(index).cast_signed() <= 0 {
            return file;
        }
        let completion = queues.completion(index);
        // The program may consume completions without a call, and the kernel then overwrites them: continue at the oldest one still present.
        let now = queues.completed();
        if now.wrapping_sub(index) > queues.most_completions() {
            ring.has_lost();
            ring.take_completions(index, now.wrapping_sub(queues.most_completions()));
        } else if ring.take_completions(index, index.wrapping_add(1)) {
            file = entries::completed(thread, ring, &completion, end).or(file);
        }
    }
}

/// Ends tracking of a ring that is about to be destroyed. First records the ring's remaining completions, if `thread` is given.
pub(super) fn end(thread: Option<&'static Thread>, ring: &Ring, queues: &Queues) {
    if let Some(thread) = thread {
        look(thread, ring, queues);
    }
    Note::RingOperation.count_many(behind(queues.taken(), ring.submitted()).into());
    pending::abandon(ring.owner());
}

/// Returns the number of entries that the kernel accepted but the tracer never examined.
pub(super) fn unseen(ring: &Ring, queues: &Queues) -> u64 {
    behind(queues.taken(), ring.submitted()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_go_round() {
        let turn = (7_u64 << 32) - 2;
        assert_eq!([u32::MAX - 1, u32::MAX, 0, 5].map(|index| behind(index, turn)), [0, 1, 2, 7]);
        assert_eq!(behind(u32::MAX - 5, turn), 0);
        assert_eq!(turn_of(3, turn), turn + 5);
    }
}
