//! Later passes of the stripe audit: collect the times of writes to contested stripes, to find writes of different processes that overlap
//! in time. Memory is bounded: stripes are processed in batches of at most [`crate::limits::HELD_WRITES`] writes, most important stripes
//! first, for at most [`crate::limits::SHARING_PASSES`] times as many writes in total. Further stripes are counted as not examined.

use super::sharing::{StripeKey, Writers};
use super::stripes_touched::StripesTouched;
use crate::cube::reading::usual::size_class;
use crate::layouts::placed::Placed;
use crate::limits::{HELD_WRITES, SHARING_PASSES};
use crate::model::{FileId, FileLayout, ProcessId, Run, Stream};
use crate::scan::{Analysis, Block};
use crate::shared::followed_in_order::first_from;
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::OpClass;

/// Division of contested stripes (partly written by several processes) into batches, and stripes that are not examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Stripes of each batch; one pass over the trace per batch.
    pub batches: Vec<Vec<StripeKey>>,
    /// Contested stripes that are not examined because there are too many, with their writers.
    pub left_over: Vec<(StripeKey, Writers)>,
}

/// Divides the contested stripes (partly written by several processes) `contested`, sorted by importance, into one batch per pass, each of
/// at most [`HELD_WRITES`] writes. All writes of a stripe are in one batch, so there can be more than [`SHARING_PASSES`] batches, but fewer
/// than twice as many.
#[must_use]
pub fn plan(contested: &[(StripeKey, Writers)]) -> Plan {
    plan_within(contested, HELD_WRITES, SHARING_PASSES)
}

fn plan_within(contested: &[(StripeKey, Writers)], held: u64, passes: usize) -> Plan {
    let mut plan = Plan::default();
    let mut room = held.saturating_mul(passes as u64);
    let mut chosen: Vec<(StripeKey, u64)> = Vec::new();
    for &(stripe, writers) in contested {
        if writers.writes <= held && writers.writes <= room {
            room -= writers.writes;
            chosen.push((stripe, writers.writes));
        } else {
            plan.left_over.push((stripe, writers));
        }
    }
    // Puts neighbouring stripes into one batch: a pass then reads only blocks whose offsets reach that part of the file.
    chosen.sort_unstable();
    let mut room = 0;
    for (stripe, writes) in chosen {
        if writes > room {
            plan.batches.push(Vec::new());
            room = held;
        }
        room -= writes;
        if let Some(batch) = plan.batches.last_mut() {
            batch.push(stripe);
        }
    }
    plan
}

/// Write to a part of a contested stripe (partly written by several processes); its start and end are in ns since the job's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    /// Index, in the batch, of the stripe that the write touches.
    pub(super) slot: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) process: ProcessId,
    /// Size class of the whole request: base-2 logarithm of its length.
    pub(super) size: u8,
}

/// Pass over the segments that collects the writes to the contested stripes of one batch.
#[derive(Debug)]
pub struct Collect<'a> {
    layouts: &'a [Option<FileLayout>],
    files: FxHashMap<FileId, OfFile>,
}

/// Stripes of one file in a batch, found by file offset.
#[derive(Debug, Default)]
struct OfFile {
    /// Index of the file's first stripe in the batch; the file's other stripes follow in order.
    slot: u32,
    /// File offsets of the stripes' first bytes, in ascending order.
    starts: Vec<u64>,
    /// Lookup table; `None` if the stripes are too far apart.
    table: Option<Table>,
}

/// Lookup table from file offset to stripe. The index is the distance from the first stripe, in units of the largest power of two that
/// divides all distances. Stripes of one size are mostly adjacent, so the table has few gaps.
#[derive(Debug)]
struct Table {
    first: u64,
    /// Base-2 logarithm of the unit of distance, in bytes.
    shift: u32,
    /// Index of the stripe at each distance; [`u32::MAX`] if there is no stripe.
    places: Vec<u32>,
}

/// Maximum number of table entries per stripe; beyond it, the table would be mostly gaps.
const WIDEST: u64 = 8;

impl Table {
    /// Builds the table for stripes in ascending order of offset; `None` if they are too far apart.
    fn of(starts: &[u64]) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        let shift = starts.iter().fold(0, |all, start| all | (start - first)).trailing_zeros().min(u64::BITS - 1);
        let farthest = (last - first) >> shift;
        if farthest >= WIDEST.saturating_mul(starts.len() as u64) {
            return None;
        }
        let mut places = vec![u32::MAX; usize::try_from(farthest).ok()? + 1];
        for (place, start) in (0_u32..).zip(starts) {
            *places.get_mut(((start - first) >> shift) as usize)? = place;
        }
        Some(Self { first, shift, places })
    }

    #[inline]
    fn place(&self, start: u64) -> Option<u32> {
        let distance = start.checked_sub(self.first)?;
        let place = *self.places.get(usize::try_from(distance >> self.shift).ok()?)?;
        (place != u32::MAX && distance >> self.shift << self.shift == distance).then_some(place)
    }
}

impl OfFile {
    /// Returns the batch index of the stripe that begins at file offset `start`; `None` if no stripe of the batch does. `near` is the
    /// position of the last lookup: a process mostly writes in order, so the next stripe is usually shortly after it.
    #[inline]
    fn slot(&self, start: u64, near: &mut usize) -> Option<u32> {
        if let Some(table) = &self.table {
            return table.place(start).map(|place| self.slot + place);
        }
        let is_behind = near.checked_sub(1).and_then(|last| self.starts.get(last)).is_none_or(|last| *last < start);
        *near = first_from(&self.starts, if is_behind { *near } else { 0 }, |one| *one < start);
        (self.starts.get(*near) == Some(&start)).then_some(self.slot + *near as u32)
    }
}

impl<'a> Collect<'a> {
    /// Prepares the pass for the stripes in `batch`, which must be in ascending order.
    #[must_use]
    pub fn new(layouts: &'a [Option<FileLayout>], batch: &[StripeKey]) -> Self {
        let mut files: FxHashMap<FileId, OfFile> = FxHashMap::default();
        for (slot, stripe) in batch.iter().enumerate() {
            let of = files.entry(stripe.file).or_insert_with(|| OfFile { slot: slot as u32, ..OfFile::default() });
            of.starts.push(stripe.start);
        }
        files.values_mut().for_each(|of| of.table = Table::of(&of.starts));
        Self { layouts, files }
    }
}

impl Collect<'_> {
    /// True if accesses to `file` in the block with header `head` can touch a stripe of the batch.
    fn reaches(&self, file: FileId, head: &BlockHead) -> bool {
        let Some((&first, &last)) = self.files.get(&file).and_then(|of| of.starts.first().zip(of.starts.last())) else {
            return false;
        };
        // End of the last stripe; unlimited if the layout does not determine it.
        let layout = self.layouts.get(file.index()).and_then(Option::as_ref);
        let end = layout.and_then(|layout| layout.layout.locate(last)).map_or(u64::MAX, |place| place.stripe_end);
        i128::from(head.max_end_offset) > i128::from(first) && i128::from(head.min_offset) < i128::from(end)
    }
}

impl Analysis for Collect<'_> {
    type Partial = Vec<Write>;

    fn start(&self) -> Vec<Write> {
        Vec::new()
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        run.process(process).is_some_and(|process| {
            process.streams.iter().any(|stream| {
                let in_block = head.stream_mask & stream.mask != 0;
                in_block && stream.storage && self.reaches(stream.file, head)
            })
        })
    }

    fn block(&self, partial: &mut Vec<Write>, block: &Block<'_>) {
        let shift = block.process.shift_ns;
        let is_write = |stream: &&Stream| stream.storage && block.run.op(stream).class == Some(OpClass::Write);
        for stretch in block.stretches() {
            let Some(stream) = block.process.stream(stretch.stream).filter(is_write) else { continue };
            let Some(of) = self.files.get(&stream.file) else { continue };
            let Some(Some(layout)) = self.layouts.get(stream.file.index()) else { continue };
            let (placed, mut near) = (Placed::new(&layout.layout), 0);
            for row in stretch.rows() {
                let size = size_class(row.length);
                let mut push = |slot| {
                    let (start, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                    partial.push(Write { slot, start, end, process: block.number, size });
                };
                let offset = u64::try_from(row.offset).ok();
                if let Some((offset, (first, last))) = offset.and_then(|at| Some((at, placed.ends(at, row.length)?))) {
                    let end = offset + row.length;
                    // All stripes between the first and the last are written completely.
                    if first.start < offset || end < first.end {
                        of.slot(first.start, &mut near).into_iter().for_each(&mut push);
                    }
                    if first.start != last.start && end < last.end {
                        of.slot(last.start, &mut near).into_iter().for_each(push);
                    }
                    continue;
                }
                let Some(place) = StripesTouched::of(&layout.layout, row.offset, row.length) else { continue };
                place.partly_covered().filter_map(|start| of.slot(start, &mut near)).for_each(&mut push);
            }
        }
    }

    fn merge(&self, into: &mut Vec<Write>, mut other: Vec<Write>) {
        into.append(&mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_finds_what_is_in_it_and_nothing_else() {
        for starts in [vec![0], vec![7], vec![96, 112, 120, 168], vec![0, 1 << 20, 3 << 20], vec![5, 6, 9]] {
            let table = Table::of(&starts).unwrap();
            let asked = starts.iter().flat_map(|start| start.saturating_sub(20)..start + 20).chain([u64::MAX]);
            for start in asked {
                let place = starts.iter().position(|one| *one == start).map(|place| place as u32);
                assert_eq!(table.place(start), place, "{start} in {starts:?}");
            }
        }
        assert!(Table::of(&[]).is_none() && Table::of(&[0, 1, u64::MAX]).is_none());
    }

    #[test]
    fn batches_hold_what_fits_and_the_rest_is_named() {
        let writers = |writes| Writers {
            process: ProcessId(0),
            several: true,
            node: 0,
            several_nodes: false,
            writes,
            time_ns: 1,
        };
        let stripe = |start, writes| (StripeKey { file: FileId(0), start }, writers(writes));
        let contested = [stripe(1, 6), stripe(2, 50), stripe(3, 6), stripe(4, 4), stripe(5, 9), stripe(6, 1)];
        let plan = plan_within(&contested, 10, 2);
        let starts = |batch: &[StripeKey]| batch.iter().map(|stripe| stripe.start).collect::<Vec<u64>>();
        assert_eq!(plan.batches.iter().map(|batch| starts(batch)).collect::<Vec<_>>(), [vec![1], vec![3, 4], vec![6]]);
        let left: Vec<u64> = plan.left_over.iter().map(|(stripe, _)| stripe.start).collect();
        assert_eq!(left, [2, 5]);
    }
}
