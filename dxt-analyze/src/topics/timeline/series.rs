//! Job over time: bandwidth, request sizes and calls in flight per time bin, from the grid whose only row is the job. Only calls that the
//! program itself made count, so each byte counts once.

use super::grid::Cell;
use super::grids::Grids;
use super::slices::{Kind, Slices};
use super::span::Span;
use serde::Serialize;
use trace_format::counters::SIZE_BINS;

/// Time bin of the job, with the bytes and calls in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// Start of the time bin, ns since the job's start.
    pub start_ns: u64,
    /// Bytes read in the bin; the bytes of a call are distributed evenly over its duration.
    pub bytes_read: u64,
    /// Bytes written in the bin; the bytes of a call are distributed evenly over its duration.
    pub bytes_written: u64,
    /// Bytes of the reads and writes that start in the bin, regardless of their end.
    pub bytes_begun: u64,
    /// Number of reads that start in the time bin.
    pub reads: u64,
    /// Number of writes that start in the time bin.
    pub writes: u64,
    /// Number of metadata calls (all but reads and writes) that start in the bin.
    pub metadata_calls: u64,
    /// Time in reads within the bin, summed over processes and threads, ns.
    pub read_ns: u64,
    /// Time in writes within the bin, summed over processes and threads, ns.
    pub write_ns: u64,
    /// Time in metadata calls (all but reads and writes) within the bin, summed over processes and threads, ns.
    pub metadata_ns: u64,
    /// Number of reads that start in the time bin by size, in the size bins of [`trace_format::counters::SIZE_BOUNDS`].
    pub read_sizes: [u64; SIZE_BINS],
    /// Number of writes that start in the time bin by size, in the size bins of [`trace_format::counters::SIZE_BOUNDS`].
    pub write_sizes: [u64; SIZE_BINS],
}

impl Bin {
    /// Returns the time in calls of all kinds within the bin, summed over processes and threads, ns.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.read_ns.saturating_add(self.write_ns).saturating_add(self.metadata_ns)
    }

    /// Returns the mean size of the reads and writes that start in the bin, bytes; `None` if there are none.
    #[must_use]
    pub fn mean_size(&self) -> Option<f64> {
        let calls = self.reads.saturating_add(self.writes);
        (calls > 0).then(|| self.bytes_begun as f64 / calls as f64)
    }

    /// True if no call was in flight in the time bin and no bytes moved.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let bytes = self.bytes_read.saturating_add(self.bytes_written);
        bytes == 0 && self.busy_ns() == 0 && self.reads == 0 && self.writes == 0 && self.metadata_calls == 0
    }
}

/// Returns the time bins of the job in order, read from `grids`.
#[must_use]
pub fn bins(span: &Span, slices: &Slices, grids: &Grids) -> Vec<Bin> {
    let mut out: Vec<Bin> = (0..span.bins as usize)
        .map(|number| {
            let [read_sizes, write_sizes] = grids.sizes.get(number).copied().unwrap_or_default();
            let bytes_begun = grids.moments.get(number).map_or(0, |moments| moments.bytes);
            Bin { start_ns: span.start_of(number), bytes_begun, read_sizes, write_sizes, ..Bin::default() }
        })
        .collect();
    for (slice, _, line) in grids.job.lines() {
        let Some(slice) = slices.all.get(slice).filter(|slice| !slice.nested) else { continue };
        out.iter_mut().zip(line).for_each(|(bin, cell)| add(bin, slice.kind, cell));
    }
    out
}

fn add(bin: &mut Bin, kind: Kind, cell: &Cell) {
    let (calls, time, bytes) = match kind {
        Kind::Read => (&mut bin.reads, &mut bin.read_ns, Some(&mut bin.bytes_read)),
        Kind::Write => (&mut bin.writes, &mut bin.write_ns, Some(&mut bin.bytes_written)),
        Kind::Metadata => (&mut bin.metadata_calls, &mut bin.metadata_ns, None),
    };
    *calls = calls.saturating_add(cell.calls);
    *time = time.saturating_add(cell.busy_ns);
    if let Some(bytes) = bytes {
        *bytes = bytes.saturating_add(cell.bytes);
    }
}
