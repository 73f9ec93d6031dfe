//! Encoders of packed blocks (compressed segments): a fixed number, each created at first use. A thread with a full chunk takes a free
//! encoder and never blocks other threads. Encoders run on stacks of the tracer's own. An encoder whose work was abandoned for lack of
//! memory, or that another thread was using when this child was forked, has an undefined state: it is leaked instead of reused.
#![expect(unsafe_code, reason = "cells guarded by a flag")]

use crate::{stack, tls};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::write::Encoder;

struct Place {
    /// Number (`tls::number`) of the thread that uses the encoder, or 0.
    taken: AtomicUsize,
    tools: UnsafeCell<Option<(Encoder, Vec<u8>)>>,
}

// SAFETY: the tools are accessed only by the thread that has set `taken`.
unsafe impl Sync for Place {}

/// Number of encoders. Each has an entry in the spool's staging area, in which its block is stored temporarily.
const PLACES: usize = trace_format::spool::staging::PLACES;

static ENCODERS: [Place; PLACES] =
    [const { Place { taken: AtomicUsize::new(0), tools: UnsafeCell::new(None) } }; PLACES];

/// Maximum number of times that a thread yields the processor before it gives up getting an encoder.
const MOST_YIELDS: u32 = 10_000;

/// Runs `work` with an encoder, an output buffer and the encoder's index. Returns `None` if no encoder becomes free in time, or if memory
/// or a stack is lacking.
pub(super) fn with<T>(work: impl FnOnce(&mut Encoder, &mut Vec<u8>, usize) -> T) -> Option<T> {
    let me = tls::number();
    for _ in 0..MOST_YIELDS {
        let is_free = |place: &Place| place.taken.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if let Some((number, place)) = ENCODERS.iter().enumerate().find(|(_, place)| is_free(place)) {
            let result = stack::in_hook(|| {
                // SAFETY: this call has taken `place`.
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
    /// Leaks encoder and buffer, whose state is undefined after abandoned work. The next user creates new ones.
    fn leave_tools(&self) {
        // SAFETY: the caller has taken this place; the old tools are not dropped.
        unsafe { self.tools.get().write(None) };
    }
}

/// Leaks, in a forked child, the encoders that other threads were using at the fork.
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
        let given_up = with(|_, out, _| {
            out.push(8);
            stack::abandon();
        });
        assert_eq!((given_up, with(|_, out, _| out.len())), (None, Some(0)));
    }
}
