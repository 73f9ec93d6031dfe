//! The encoders of packed blocks: a few, made when first needed. A thread that fills its chunk takes one that is free; a
//! thread that does not is not held up. Each is used on a stack of the tracer's own. One whose work was given up for want of
//! memory, or that another thread was using when this child was forked, is in no state to be used again: it is left for good.
#![expect(unsafe_code, reason = "cells guarded by a flag")]

use crate::{stack, tls};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::write::Encoder;

struct Place {
    /// The thread that has it, or 0.
    taken: AtomicUsize,
    tools: UnsafeCell<Option<(Encoder, Vec<u8>)>>,
}

// SAFETY: the tools are touched only by whoever has set `taken`.
unsafe impl Sync for Place {}

/// Encoders, each with a place for its block in the spool.
const PLACES: usize = trace_format::spool::landing::PLACES;

static ENCODERS: [Place; PLACES] =
    [const { Place { taken: AtomicUsize::new(0), tools: UnsafeCell::new(None) } }; PLACES];

/// Yields before a thread does without.
const MOST_YIELDS: u32 = 10_000;

/// Runs `work` with an encoder, a buffer and their number; `None` if none was free for long, or there is no memory or stack.
pub(super) fn with<T>(work: impl FnOnce(&mut Encoder, &mut Vec<u8>, usize) -> T) -> Option<T> {
    let me = tls::number();
    for _ in 0..MOST_YIELDS {
        let is_free = |place: &Place| place.taken.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if let Some((number, place)) = ENCODERS.iter().enumerate().find(|(_, place)| is_free(place)) {
            let result = stack::in_hook(|| {
                // SAFETY: taken by this call alone.
                let tools = unsafe { &mut *place.tools.get() };
                match tools {
                    Some((encoder, out)) => Some(work(encoder, out, number)),
                    none => Encoder::new().ok().map(|encoder| {
                        let (encoder, out) = none.insert((encoder, Vec::new()));
                        work(encoder, out, number)
                    }),
                }
            });
            if result.is_none() {
                place.leave_tools();
            }
            place.taken.store(0, Ordering::Release);
            return result.flatten();
        }
        crate::threads::give_way();
    }
    None
}

impl Place {
    /// Leaves what is there for good: nobody knows in which state it is. The next one who comes makes new tools.
    fn leave_tools(&self) {
        // SAFETY: taken by the caller alone; what was there is not dropped.
        unsafe { self.tools.get().write(None) };
    }
}

/// In a forked child: encoders that another thread held are not where anybody could go on with them.
pub(super) fn after_fork() {
    let me = tls::number();
    for place in &ENCODERS {
        let holder = place.taken.load(Ordering::Relaxed);
        if holder != 0 && holder != me {
            place.leave_tools();
            place.taken.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_was_using_at_the_fork_is_left() {
        stack::prepare_once();
        assert_eq!(with(|_, out, number| (out.push(7), number).1), Some(0));
        assert_eq!(with(|_, out, _| out.len()), Some(1));
        ENCODERS[0].taken.store(1, Ordering::Relaxed);
        after_fork();
        assert_eq!(with(|_, out, number| (out.push(7), out.len(), number)), Some(((), 1, 0)));
        // Given up in the middle.
        let given_up = with(|_, out, _| {
            out.push(8);
            stack::abandon();
        });
        assert_eq!((given_up, with(|_, out, _| out.len())), (None, Some(0)));
    }
}
