//! Looks at a ring's queues before and after a call that may move them, and records how long that kept its thread.

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

/// Entries that a call is about to hand over: their turns.
#[derive(Clone, Copy)]
pub(super) struct HandedOver {
    from: u64,
    to: u64,
    /// Target of the last that is recorded.
    to_file: Option<Sent>,
}

/// Records how long a call kept its thread: one that came back with the end of an operation on a file, or one that handed over.
pub(super) fn kept(timer: Call, end: u64, ended: Option<Sent>, handed_over: Option<Sent>) {
    if let Some(sent) = ended {
        timer.kept_for(end, sent, &POSIX_WAIT);
    } else if let Some(sent) = handed_over {
        timer.kept_for(end, sent, &POSIX_SUBMIT);
    }
}

/// The turn of the entry at `index`, at or behind the one of `turn`.
fn turn_of(index: u32, turn: u64) -> u64 {
    turn + u64::from(index.wrapping_sub(turn as u32))
}

/// By how much `index` is behind `turn`; 0 if it is not.
fn behind(index: u32, turn: u64) -> u32 {
    let distance = index.wrapping_sub(turn as u32);
    if distance.cast_signed() > 0 { distance } else { 0 }
}

/// Looks at the entries up to index `to`, which a call is about to hand over.
pub(super) fn handing_over(ring: &Ring, queues: &Queues, to: u32) -> HandedOver {
    let mut from = ring.submitted();
    // The kernel has taken some that nobody looked at.
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

/// The call has returned: entries that the kernel did not take are not under way. Where one went of those that it took.
pub(super) fn handed_over(ring: &Ring, queues: &Queues, entries: HandedOver) -> Option<Sent> {
    let taken = queues.taken();
    if queues.flags & setup::POLLED != 0 {
        // The kernel takes them when it likes, and nobody tells when it did.
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

/// The kernel has the descriptors of these entries.
fn settle(ring: &Ring, queues: &Queues, turns: Range<u64>) {
    for turn in turns {
        queues.entry(turn as u32).into_iter().for_each(|entry| entries::taken(ring, &entry, turn));
    }
}

/// Takes the completions that are there; where the last of them went that is recorded.
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
        // The program may take completions without a call, and the kernel store others in their place: the oldest that
        // are still there are read.
        let now = queues.completed();
        if now.wrapping_sub(index) > queues.most_completions() {
            ring.has_lost();
            ring.take_completions(index, now.wrapping_sub(queues.most_completions()));
        } else if ring.take_completions(index, index.wrapping_add(1)) {
            file = entries::completed(thread, ring, &completion, end).or(file);
        }
    }
}

/// The ring is about to go: what it still holds is seen now or never.
pub(super) fn end(thread: Option<&'static Thread>, ring: &Ring, queues: &Queues) {
    if let Some(thread) = thread {
        look(thread, ring, queues);
    }
    Note::RingOperation.count_many(behind(queues.taken(), ring.submitted()).into());
    pending::abandon(ring.owner());
}

/// Entries that the kernel has taken and nobody has looked at.
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
