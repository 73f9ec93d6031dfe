//! Pass over the calls on the file to draw: bins them by time, offset and size, and stores single calls unless there are too many.
//!
//! All values are integers, so results do not depend on how work is divided among threads.

use super::choice::{BINS, Choice};
use crate::model::{ProcessId, Run};
use crate::scan::{Analysis, Block, Stretch};
use crate::topics::timeline::span::Near;
use trace_format::frame::BlockHead;

/// Maximum number of calls up to which each call gets a bar of its own.
pub const BARS: usize = 10_000;
/// Number of rows of request sizes: one for 0 bytes, then two per power of two.
pub const SIZES: usize = 129;

/// Analysis that bins the calls selected by a [`Choice`].
#[derive(Clone, Copy, Debug)]
pub struct Drawing<'a>(pub &'a Choice);

/// Totals of one time bin. A call counts in the bin in which it starts; its bytes and time are divided among all bins that it spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Number of calls that start in the time bin.
    pub calls: u64,
    /// Bytes that calls transferred within the time bin.
    pub bytes: u64,
    /// Time spent in calls within the time bin, summed over processes, ns.
    pub busy_ns: u64,
    /// Lowest first byte and highest end (exclusive) of the calls in the time bin: file offsets.
    pub offsets: (u64, u64),
    /// Lengths of the shortest and the longest call in the time bin, in bytes.
    pub sizes: (u64, u64),
    /// Bandwidth of the fastest call in the time bin, in bytes per second.
    pub fastest: u64,
}

impl Bin {
    const NONE: Self =
        Self { calls: 0, bytes: 0, busy_ns: 0, offsets: (u64::MAX, 0), sizes: (u64::MAX, 0), fastest: 0 };

    pub(super) fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.offsets = (self.offsets.0.min(other.offsets.0), self.offsets.1.max(other.offsets.1));
        self.sizes = (self.sizes.0.min(other.sizes.0), self.sizes.1.max(other.sizes.1));
        self.fastest = self.fastest.max(other.fastest);
    }

    pub(super) fn sum(bins: &[Self]) -> Self {
        bins.iter().fold(Self::NONE, |mut sum, bin| {
            sum.merge(bin);
            sum
        })
    }
}

/// Single call that gets a bar of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Start of the call, ns since the job's start.
    pub start_ns: u64,
    /// End of the call, ns since the job's start.
    pub end_ns: u64,
    /// Bytes transferred by the call.
    pub bytes: u64,
}

/// Reads, or writes, of the drawn file in bins.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Bit mask of the ranks' colours in each cell of the figure of offsets, sorted by row of offsets, then by time bin.
    pub places: Vec<u8>,
    /// Number of calls in each cell of the figure of request sizes, sorted by row of request sizes, then by time bin.
    pub sizes: Vec<u64>,
    /// Totals of the reads (or writes) in each time bin.
    pub bins: Vec<Bin>,
    /// Number of reads (or writes) without a file offset.
    pub nowhere: u64,
    /// Single reads (or writes); `None` if there are more than [`BARS`].
    pub calls: Option<Vec<Call>>,
}

/// Binned calls and state of one thread of the analyzer.
#[derive(Debug)]
pub struct Partial {
    /// Binned reads, then binned writes.
    pub kinds: [Kind; 2],
    current: Option<(ProcessId, Vec<Option<bool>>)>,
    /// Time bins of the previous call's start and end, and of the last part of a call: cache to find the next call's bins without a
    /// division.
    near: [Near; 3],
}

/// Returns the row for a request of `bytes` bytes in the figure of request sizes, see [`SIZES`].
#[inline]
#[must_use]
pub const fn size_row(bytes: u64) -> usize {
    match bytes.checked_ilog2() {
        None => 0,
        Some(0) => 1,
        Some(log) => 1 + 2 * log as usize + (bytes >> (log - 1) & 1) as usize,
    }
}

/// Returns the bandwidth in bytes per second; 0 if `busy_ns` is 0.
#[inline]
#[must_use]
pub fn rate(bytes: u64, busy_ns: u64) -> u64 {
    if busy_ns == 0 { 0 } else { (bytes as f64 * 1e9 / busy_ns as f64) as u64 }
}

impl Analysis for Drawing<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        let bins = BINS as usize;
        let kind = || Kind {
            places: vec![0; self.0.rows as usize * bins],
            sizes: vec![0; SIZES * bins],
            bins: vec![Bin::NONE; bins],
            nowhere: 0,
            calls: Some(Vec::new()),
        };
        Partial { kinds: [kind(), kind()], current: None, near: [Near::default(); 3] }
    }

    fn wants(&self, _run: &Run, process: ProcessId, _head: &BlockHead) -> bool {
        self.0.ink(process).is_some()
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        let Some(ink) = self.0.ink(block.number) else { return };
        let Partial { kinds, current, near } = partial;
        let streams = match current {
            Some((process, streams)) if *process == block.number => streams,
            _ => &mut current.insert((block.number, self.0.kinds(block.run, block.process))).1,
        };
        let shift = block.process.shift_ns;
        let [reads, writes] = kinds;
        for mut calls in block.stretches() {
            let Some(Some(is_write)) = streams.get(calls.stream.index()) else { continue };
            let kind = if *is_write { &mut *writes } else { &mut *reads };
            while let Some(row) = calls.rows().next() {
                let calm = calm(&near[0], calls, shift);
                if calm > 0 {
                    kind.add_calm(self.0, &near[0], calls.part(0, calm), shift, 1 << ink);
                } else {
                    let (start_ns, end_ns) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                    let call = Call { start_ns, end_ns: end_ns.max(start_ns), bytes: row.length };
                    kind.add(self.0, near, call, u64::try_from(row.offset).ok(), 1 << ink);
                }
                calls = calls.part(calm.max(1), calls.start.len());
            }
        }
    }

    fn merge(&self, into: &mut Partial, other: Partial) {
        for (mine, theirs) in into.kinds.iter_mut().zip(other.kinds) {
            mine.merge(theirs);
        }
    }
}

/// Returns the number of calls at the beginning of `calls` that lie entirely within the time bin of the previous call's start.
fn calm(near: &Near, calls: Stretch<'_>, shift: u64) -> usize {
    let moments = calls.start.iter().zip(calls.end);
    let calm = moments.take_while(|&(start, end)| {
        near.holds(start.saturating_add(shift), end.saturating_add(shift).saturating_add(1)) && start <= end
    });
    calm.count()
}

impl Kind {
    /// Adds calls that all lie entirely within one time bin, in one step.
    fn add_calm(&mut self, choice: &Choice, near: &Near, calls: Stretch<'_>, shift: u64, ink: u8) {
        let at = near.bin as usize;
        let mut sum = Bin { calls: calls.start.len() as u64, ..Bin::NONE };
        // Divides only if a call may be the fastest: among calls of one length, only a call of shorter duration can be.
        let mut fastest = (0, u64::MAX);
        for row in calls.rows() {
            let busy_ns = row.end - row.start;
            sum.bytes = sum.bytes.saturating_add(row.length);
            sum.busy_ns = sum.busy_ns.saturating_add(busy_ns);
            sum.sizes = (sum.sizes.0.min(row.length), sum.sizes.1.max(row.length));
            if busy_ns > 0 && (row.length != fastest.0 || busy_ns < fastest.1) {
                fastest = (row.length, busy_ns);
                sum.fastest = sum.fastest.max(rate(row.length, busy_ns));
            }
            if let Ok(offset) = u64::try_from(row.offset) {
                let end = offset.saturating_add(row.length);
                sum.offsets = (sum.offsets.0.min(offset), sum.offsets.1.max(end));
                self.mark(choice, (at, at), (offset, row.length), ink);
            } else {
                self.nowhere += 1;
            }
        }
        if let Some(bin) = self.bins.get_mut(at) {
            bin.merge(&sum);
        }
        for similar in calls.length.chunk_by(|a, b| a == b) {
            let size = similar.first().map(|length| size_row(*length) * BINS as usize + at);
            if let Some(count) = size.and_then(|size| self.sizes.get_mut(size)) {
                *count += similar.len() as u64;
            }
        }
        match &mut self.calls {
            Some(all) if all.len() + calls.start.len() <= BARS => all.extend(calls.rows().map(|row| Call {
                start_ns: row.start.saturating_add(shift),
                end_ns: row.end.saturating_add(shift),
                bytes: row.length,
            })),
            all => *all = None,
        }
    }

    #[inline]
    fn add(&mut self, choice: &Choice, near: &mut [Near; 3], call: Call, offset: Option<u64>, ink: u8) {
        let Call { start_ns, end_ns, bytes } = call;
        let [at_start, at_end, at_piece] = near;
        let first = choice.span.bin(start_ns, at_start) as usize;
        let last = choice.span.bin(end_ns, at_end) as usize;
        let bins = &mut self.bins;
        choice.span.cut_near(at_piece, start_ns, end_ns, bytes, |piece| {
            if let Some(bin) = bins.get_mut(piece.bin as usize) {
                bin.bytes = bin.bytes.saturating_add(piece.bytes);
                bin.busy_ns = bin.busy_ns.saturating_add(piece.busy_ns);
            }
        });
        if let Some(bin) = bins.get_mut(first) {
            bin.calls += 1;
            bin.sizes = (bin.sizes.0.min(bytes), bin.sizes.1.max(bytes));
            bin.fastest = bin.fastest.max(rate(bytes, end_ns - start_ns));
            if let Some(offset) = offset {
                bin.offsets = (bin.offsets.0.min(offset), bin.offsets.1.max(offset.saturating_add(bytes)));
            }
        }
        if let Some(count) = self.sizes.get_mut(size_row(bytes) * BINS as usize + first) {
            *count += 1;
        }
        match offset {
            Some(offset) => self.mark(choice, (first, last.max(first)), (offset, bytes), ink),
            None => self.nowhere += 1,
        }
        match &mut self.calls {
            Some(calls) if calls.len() < BARS => calls.push(call),
            calls => *calls = None,
        }
    }

    #[inline]
    fn mark(&mut self, choice: &Choice, (first, last): (usize, usize), (offset, bytes): (u64, u64), ink: u8) {
        let row = |offset: u64| (offset >> choice.row_shift).min(u64::from(choice.rows.saturating_sub(1))) as usize;
        for row in row(offset)..=row(offset.saturating_add(bytes.saturating_sub(1))) {
            let at = row * BINS as usize;
            let cells = self.places.get_mut(at + first..=at + last).unwrap_or_default();
            cells.iter_mut().for_each(|cell| *cell |= ink);
        }
    }

    fn merge(&mut self, other: Self) {
        self.places.iter_mut().zip(other.places).for_each(|(mine, theirs)| *mine |= theirs);
        self.sizes.iter_mut().zip(other.sizes).for_each(|(mine, theirs)| *mine += theirs);
        self.bins.iter_mut().zip(&other.bins).for_each(|(mine, theirs)| mine.merge(theirs));
        self.nowhere += other.nowhere;
        let both = self.calls.take().zip(other.calls);
        self.calls = both.map(|(mut mine, theirs)| {
            mine.extend(theirs);
            mine
        });
        self.calls = self.calls.take().filter(|calls| calls.len() <= BARS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_sizes_are_half_powers_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(size_row), [0, 1, 3, 4, 5, 5, 6, 6, 7]);
        assert_eq!(size_row(u64::MAX), SIZES - 1);
    }
}
