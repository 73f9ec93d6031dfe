//! Pass over the segments: calls, bytes and time by the stream ids that segments carry, each of which has one call site.

use crate::model::{ProcessId, Run, StreamIx};
use crate::scan::{Analysis, Block};
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved by the calls.
    pub bytes: u64,
    /// Time in the calls, ns.
    pub time_ns: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Pass over the segments of processes whose call sites are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct BySite;

/// Sums by process and stream id that segments carry.
pub type Partial = FxHashMap<(ProcessId, u32), (StreamIx, Sums)>;

impl Analysis for BySite {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial::default()
    }

    fn wants(&self, run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        run.process(process).is_some_and(|process| !process.sites.is_empty())
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if block.process.sites.is_empty() {
            return;
        }
        let columns = block.columns;
        let mut from = 0;
        for same in columns.stream.chunk_by(|one, next| one == next) {
            let until = from + same.len();
            let rows = from..until;
            from = until;
            let (Some(&id), Some(streams)) = (same.first(), block.streams.get(rows.clone())) else { continue };
            let mut sums = Sums::default();
            let mut stream = StreamIx::NONE;
            let values = columns.length.iter().zip(columns.start.iter().zip(&columns.end));
            for (&index, (&length, (&start, &end))) in streams.iter().zip(values.skip(rows.start)) {
                // Neither left out nor a synchronization call.
                if !index.may_meet() {
                    stream = index;
                    sums.add(Sums { calls: 1, bytes: length, time_ns: end.saturating_sub(start) });
                }
            }
            if sums.calls > 0 {
                partial.entry((block.number, id)).or_insert((stream, Sums::default())).1.add(sums);
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (key, (stream, sums)) in other {
            into.entry(key).or_insert((stream, Sums::default())).1.add(sums);
        }
    }
}
