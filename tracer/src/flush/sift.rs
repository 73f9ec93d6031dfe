//! What filters leave out of the segments when they are written: it goes into the counters of its streams, and into them
//! only here, so that a second try to write starts from the same segments.

use super::gather::{Held, Ordered};
use crate::{buffer, filters, registry};
use std::borrow::Cow;
use std::collections::BTreeMap;
use trace_format::columns::TickScale;
use trace_format::counters::{Counters, Previous};
use trace_format::{Segment, StreamId};

/// Counters of what was left out, by stream; times in ns since the epoch.
#[derive(Default)]
pub(super) struct LeftOut(BTreeMap<u32, (Counters, Previous)>);

impl LeftOut {
    /// Takes in a segment; its times are in ns since the epoch.
    fn fold(&mut self, stream: StreamId, offset: i64, length: u64, start_ns: u64, end_ns: u64) {
        let before = || registry::stream_by_id(stream).map_or_else(Previous::default, registry::Stream::previous);
        let (counters, previous) = self.0.entry(stream.0).or_insert_with(|| (Counters::default(), before()));
        counters.fold(previous, offset, length, start_ns, end_ns);
    }

    /// The counters of `stream`, if anything of it was left out.
    pub(super) fn of(&self, stream: u32) -> Option<&Counters> {
        self.0.get(&stream).map(|(counters, _)| counters)
    }
}

/// Takes out of `threads` what filters leave out.
pub(super) fn sift(threads: &mut [Vec<Ordered>], scale: &TickScale) -> LeftOut {
    let mut left_out = LeftOut::default();
    if filters::current().is_none_or(|filters| filters.min_size == 0) {
        return left_out;
    }
    let least: Vec<u64> = registry::streams().map(|(id, _)| buffer::least_length(StreamId(id))).collect();
    let is_kept = |segment: &Segment| {
        segment.end == 0 || least.get(segment.stream().0 as usize).is_none_or(|&least| segment.length() >= least)
    };
    for ordered in threads.iter_mut().flatten() {
        if let Held::Slots(slots) = &mut ordered.piece {
            let (kept, short): (Vec<Segment>, Vec<Segment>) = slots.iter().copied().partition(is_kept);
            for segment in short {
                let (start_ns, end_ns) = (scale.nanoseconds(segment.start), scale.nanoseconds(segment.end));
                left_out.fold(segment.stream(), segment.offset, segment.length(), start_ns, end_ns);
            }
            *slots = Cow::Owned(kept);
        }
    }
    left_out
}
