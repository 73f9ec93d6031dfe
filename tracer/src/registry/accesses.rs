//! Counts small and unaligned accesses per file. By these counts, triggers (settings such as DXT_SMALL_IO_TRIGGER) decide whether a file
//! gets segments or only counters in the trace. Counts are computed from segments in memory. When segments are folded into counters, their
//! counts are stored with the file.

use super::records::{File, Stream};
use crate::filters::{Accesses, Triggers};
use std::sync::atomic::{AtomicU64, Ordering};
use trace_format::layout::{Layout, parse_ceph, parse_lustre};
use trace_format::meta::{LayoutSource, stream_flags};
use trace_format::op::Layer;

/// Access counts of a file, by which triggers decide: through POSIX, and through other layers (only calls that the program makes directly).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByLayer {
    posix: Accesses,
    others: Accesses,
}

/// Access counts of those calls on a file whose segments were folded into counters: [all, small, unaligned] through POSIX, then [all,
/// small, unaligned] through other layers.
#[derive(Debug, Default)]
pub(super) struct Gone([AtomicU64; 6]);

/// Boundaries (stripes or blocks) at which an access to a file must begin to count as aligned.
enum Boundaries {
    Unknown,
    Every(u64),
    Stripes(Layout),
}

impl Boundaries {
    fn of(file: &File) -> Self {
        let text = file.layouts().into_iter().flatten().last();
        let layout = text.and_then(|text| match text.source {
            LayoutSource::Lustre => parse_lustre(text.bytes).ok(),
            LayoutSource::Ceph => parse_ceph(text.bytes).ok(),
            _ => None,
        });
        match (layout, file.identity.get().block_size) {
            (Some(layout), _) => Self::Stripes(layout),
            (None, 0) => Self::Unknown,
            (None, bytes) => Self::Every(u64::from(bytes)),
        }
    }

    fn are_missed_by(&self, offset: i64) -> bool {
        let Ok(offset) = u64::try_from(offset) else { return false };
        match self {
            Self::Unknown => false,
            Self::Every(bytes) => offset % bytes != 0,
            Self::Stripes(layout) => {
                layout.component(offset).is_some_and(|component| offset % component.stripe_size != 0)
            }
        }
    }
}

/// Access counts of one stream (calls of one operation on a file), while its segments are being counted.
pub(crate) struct Counting<'a> {
    triggers: &'a Triggers,
    boundaries: Boundaries,
    is_posix: bool,
    sums: Accesses,
}

impl<'a> Counting<'a> {
    /// Starts counting accesses of `stream`. Returns `None` if its calls are not counted: they move no data, are HDF5 calls, or belong to a
    /// layer other than POSIX and are nested in an MPI-IO call.
    pub(crate) fn of(stream: &Stream, triggers: &'a Triggers) -> Option<Self> {
        let is_posix = stream.layer == Layer::Posix;
        // HDF5 calls have no file offsets; the calls nested inside them have.
        let is_own = stream.layer != Layer::Hdf5 && stream.flags & stream_flags::NESTED == 0;
        let counts = stream.moves_data() && (is_posix || is_own);
        let boundaries =
            || if triggers.unaligned.is_some() { Boundaries::of(stream.file) } else { Boundaries::Unknown };
        counts.then(|| Self { triggers, boundaries: boundaries(), is_posix, sums: Accesses::default() })
    }

    pub(crate) fn see(&mut self, offset: i64, length: u64) {
        self.sums.all += 1;
        self.sums.small += u64::from(length < self.triggers.small_bytes);
        self.sums.unaligned += u64::from(self.boundaries.are_missed_by(offset));
    }

    pub(crate) fn add_to(&self, by_layer: &mut ByLayer) {
        let into = if self.is_posix { &mut by_layer.posix } else { &mut by_layer.others };
        into.all += self.sums.all;
        into.small += self.sums.small;
        into.unaligned += self.sums.unaligned;
    }

    /// Adds these access counts to the counts stored with the file, because the segments are about to be folded into counters.
    pub(crate) fn remember(&self, file: &File) {
        let places = if self.is_posix { &file.gone.0[..3] } else { &file.gone.0[3..] };
        for (place, sum) in places.iter().zip([self.sums.all, self.sums.small, self.sums.unaligned]) {
            place.fetch_add(sum, Ordering::Relaxed);
        }
    }
}

impl ByLayer {
    /// Returns the counts by which triggers (DXT_SMALL_IO_TRIGGER and similar) decide: those of POSIX calls, which reach storage, if there
    /// are any; else those of other layers.
    pub(crate) fn deciding(&self) -> &Accesses {
        if self.posix.all > 0 { &self.posix } else { &self.others }
    }
}

impl Gone {
    pub(super) fn forget(&self) {
        self.0.iter().for_each(|sum| sum.store(0, Ordering::Relaxed));
    }
}

impl File {
    pub(crate) fn gone(&self) -> ByLayer {
        let [all, small, unaligned, others, others_small, others_unaligned] =
            self.gone.0.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        let others = Accesses { all: others, small: others_small, unaligned: others_unaligned };
        ByLayer { posix: Accesses { all, small, unaligned }, others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_those_of_stripes_or_blocks() {
        let every = Boundaries::Every(4096);
        assert!(!every.are_missed_by(8192) && every.are_missed_by(100) && !every.are_missed_by(-1));
        let stripes = Boundaries::Stripes(Layout::plain(1 << 20, 4, Vec::new()));
        assert!(stripes.are_missed_by(4096) && !stripes.are_missed_by(3 << 20));
        assert!(!Boundaries::Unknown.are_missed_by(1));
    }
}
