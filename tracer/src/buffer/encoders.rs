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

const PLACES: usize = 16;

static ENCODERS: [Place; PLACES] =
    [const { Place { taken: AtomicBool::new(false), tools: UnsafeCell::new(None) } }; PLACES];

/// Yields before a thread does without.
const MOST_YIELDS: u32 = 10_000;

/// Runs `work` with an encoder and a buffer; `None` if none was free for long.
pub(super) fn with<T>(work: impl FnOnce(&mut Encoder, &mut Vec<u8>) -> T) -> Option<T> {
    for _ in 0..MOST_YIELDS {
        if let Some(place) = ENCODERS.iter().find(|place| !place.taken.swap(true, Ordering::Acquire)) {
            // SAFETY: taken by this call alone.
            let tools = unsafe { &mut *place.tools.get() };
            let result = match tools {
                Some((encoder, out)) => Some(work(encoder, out)),
                none => Encoder::new().ok().map(|encoder| {
                    let (encoder, out) = none.insert((encoder, Vec::new()));
                    work(encoder, out)
                }),
            };
            place.taken.store(false, Ordering::Release);
            return result;
        }
        // SAFETY: no preconditions.
        unsafe { libc::sched_yield() };
    }
    None
}

/// Gives back encoders that another thread held when this child was forked: nobody is there to do it.
pub(super) fn after_fork() {
    for place in &ENCODERS {
        place.taken.store(false, Ordering::Relaxed);
    }
}
