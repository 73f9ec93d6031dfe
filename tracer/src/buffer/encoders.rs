//! The encoders of packed blocks: one per processor, made when first needed. A thread that fills its chunk takes one that
//! is free; a thread that does not is not held up.
#![expect(unsafe_code, reason = "cells guarded by a flag")]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use trace_format::write::Encoder;

struct Place {
    taken: AtomicBool,
    tools: UnsafeCell<Option<(Encoder, Vec<u8>)>>,
}

// SAFETY: the tools are touched only by whoever has set `taken`.
unsafe impl Sync for Place {}

/// Encoders, each with a place for its block in the spool.
const PLACES: usize = trace_format::spool::landing::PLACES;

static ENCODERS: [Place; PLACES] =
    [const { Place { taken: AtomicBool::new(false), tools: UnsafeCell::new(None) } }; PLACES];

/// Yields before a thread does without.
const MOST_YIELDS: u32 = 10_000;

/// Runs `work` with an encoder, a buffer and their number; `None` if none was free for long.
pub(super) fn with<T>(work: impl FnOnce(&mut Encoder, &mut Vec<u8>, usize) -> T) -> Option<T> {
    for _ in 0..MOST_YIELDS {
        let free = ENCODERS.iter().enumerate().find(|(_, place)| !place.taken.swap(true, Ordering::Acquire));
        if let Some((number, place)) = free {
            // SAFETY: taken by this call alone.
            let tools = unsafe { &mut *place.tools.get() };
            let result = match tools {
                Some((encoder, out)) => Some(work(encoder, out, number)),
                none => Encoder::new().ok().map(|encoder| {
                    let (encoder, out) = none.insert((encoder, Vec::new()));
                    work(encoder, out, number)
                }),
            };
            place.taken.store(false, Ordering::Release);
            return result;
        }
        crate::threads::give_way();
    }
    None
}

/// Gives back encoders that another thread held when this child was forked: nobody is there to do it.
pub(super) fn after_fork() {
    for place in &ENCODERS {
        place.taken.store(false, Ordering::Relaxed);
    }
}
