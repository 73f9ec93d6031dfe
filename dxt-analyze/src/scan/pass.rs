//! Distribution of segment blocks to analyses. If the order does not matter, each thread takes the next blocks from a queue. For ordered
//! analyses, a thread takes one group of processes at a time. A group so large that it would finish last is read by all threads together,
//! each with some of the analyses: even a trace of one process keeps every processor busy.

use super::{Analysis, Lost, Reader, segments_of};
use crate::model::{ProcessId, Run};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of blocks that a thread takes from the queue at a time: neighbours in the file, mostly of one process.
const BLOCKS_AT_A_TIME: usize = 4;
/// Maximum groups of processes in an ordered scan, in which one thread reads a group in order.
const MAX_GROUPS: usize = 512;
/// Maximum threads that read one group of processes together: with more, most would wait for the slowest analysis.
const MOST_TOGETHER: usize = 4;

/// Minimum gain for which threads read a group of processes together: the time until all groups are read, divided by this number. Threads
/// that read together wait for each other.
const WORTH_IT: u64 = 16;

type Place = (ProcessId, u32);

/// Receiver of progress reports during a scan.
pub trait Progress: Sync {
    /// Reports that `segments` more segments have been processed.
    fn advance(&self, segments: u64);

    /// Returns true if the caller no longer wants the result; the remaining blocks are then skipped.
    fn stopped(&self) -> bool {
        false
    }
}

/// Decodes every block that `analysis` wants and gives it to `analysis`. Returns the merged partial result, and the losses due to damaged blocks.
pub fn scan<A: Analysis>(run: &Run, analysis: &A, progress: &dyn Progress) -> (A::Partial, Lost) {
    let queue: Vec<Place> = run
        .numbered_processes()
        .flat_map(|(number, process)| {
            let blocks = process.blocks.iter().enumerate();
            let wanted = blocks.filter(move |(_, block)| analysis.wants(run, number, &block.head));
            wanted.map(move |(index, _)| (number, index as u32))
        })
        .collect();
    let (mut total, mut lost) = (analysis.start(), Lost::default());
    let items: Vec<&[Place]> = if analysis.ordered() {
        let mut items = by_group(run, &queue);
        let large = all_together(&items, rayon::current_num_threads());
        for (blocks, _) in items.drain(..large) {
            read_together(run, blocks, analysis, &mut total, progress, &mut lost);
        }
        items.into_iter().map(|(blocks, _)| blocks).collect()
    } else {
        queue.chunks(BLOCKS_AT_A_TIME).collect()
    };
    for (partial, part_lost) in read_apart(run, &items, analysis, progress) {
        analysis.merge(&mut total, partial);
        lost.merge(part_lost);
    }
    (total, lost.sorted())
}

/// Lets each thread take items (blocks, or groups of processes) from a queue and read them independently of the other threads.
fn read_apart<A: Analysis>(
    run: &Run,
    items: &[&[Place]],
    analysis: &A,
    progress: &dyn Progress,
) -> Vec<(A::Partial, Lost)> {
    let next = AtomicUsize::new(0);
    let workers = rayon::current_num_threads().min(items.len()).max(1);
    (0..workers)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut reader = Reader::default();
            let (mut partial, mut lost) = (analysis.start(), Lost::default());
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !progress.stopped()) {
                for &(process, block) in *item {
                    if let Some(block) = reader.block(run, process, block, &mut lost) {
                        analysis.block(&mut partial, &block);
                    }
                    progress.advance(segments_of(run, process, block));
                }
            }
            (partial, lost)
        })
        .collect()
}

/// Reads a few blocks at a time: threads share the decoding, then all analyses process the blocks in parallel.
fn read_together<A: Analysis>(
    run: &Run,
    blocks: &[Place],
    analysis: &A,
    into: &mut A::Partial,
    progress: &dyn Progress,
    lost: &mut Lost,
) {
    let mut analyses = Vec::new();
    analysis.each(into, &mut analyses);
    let mut readers: Vec<(Reader, Lost)> = Vec::new();
    readers.resize_with(2 * rayon::current_num_threads().min(MOST_TOGETHER), Default::default);
    for some in blocks.chunks(readers.len()) {
        if progress.stopped() {
            break;
        }
        let decoded = readers.par_iter_mut().zip(some).with_max_len(1);
        let decoded: Vec<_> =
            decoded.filter_map(|((reader, lost), &(process, block))| reader.block(run, process, block, lost)).collect();
        analyses.par_iter_mut().with_max_len(1).for_each(|analysis| {
            for block in &decoded {
                analysis(block);
            }
        });
        progress.advance(some.iter().map(|&(process, block)| segments_of(run, process, block)).sum());
    }
    drop(analyses);
    readers.into_iter().for_each(|(_, part)| lost.merge(part));
}

/// Returns the index of the group of neighbouring processes that `process` belongs to. An ordered scan reads a group on one thread, one
/// process after another, so data whose merge depends on order can be kept per group. The number of groups is bounded.
#[must_use]
pub fn group_of_process(run: &Run, process: ProcessId) -> u32 {
    process.0 / run.processes.len().div_ceil(MAX_GROUPS).max(1) as u32
}

/// Splits `queue` into one item per group of processes, with its number of segments; the largest first, so that no long item is started last.
fn by_group<'a>(run: &Run, queue: &'a [Place]) -> Vec<(&'a [Place], u64)> {
    let group = |block: &Place| group_of_process(run, block.0);
    let size = |blocks: &[Place]| blocks.iter().map(|&(process, block)| segments_of(run, process, block)).sum();
    let mut items: Vec<(&[Place], u64)> =
        queue.chunk_by(|a, b| group(a) == group(b)).map(|blocks| (blocks, size(blocks))).collect();
    items.sort_by_key(|(_, segments)| Reverse(*segments));
    items
}

/// Returns the number of items (groups of processes) that all `threads` should read together to finish earliest: the first ones of `items`,
/// which are the largest.
fn all_together(items: &[(&[Place], u64)], threads: usize) -> usize {
    let together = threads.clamp(1, MOST_TOGETHER) as u64;
    let mut first = 0;
    let mut best = (makespan(items, threads), 0);
    for (count, (_, segments)) in (1..=threads).zip(items) {
        first += segments / together;
        let rest = items.get(count..).unwrap_or_default();
        let takes = first + makespan(rest, threads);
        if takes < best.0 - best.0 / WORTH_IT {
            best = (takes, count);
        }
    }
    best.1
}

/// Returns the time until `threads` finish if each takes the next item (group of processes) in order; unit: time to read one segment.
fn makespan(items: &[(&[Place], u64)], threads: usize) -> u64 {
    let mut loads = vec![0_u64; threads.max(1)];
    for (_, segments) in items {
        if let Some(least) = loads.iter_mut().min() {
            *least += segments;
        }
    }
    loads.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(sizes: &[u64], threads: usize) -> usize {
        let items: Vec<(&[Place], u64)> = sizes.iter().map(|size| (&[] as &[Place], *size)).collect();
        all_together(&items, threads)
    }

    #[test]
    fn only_what_others_would_wait_for_is_read_together() {
        assert_eq!(together(&[100], 1), 0, "nobody else is there");
        assert_eq!(together(&[100], 2), 1);
        assert_eq!(together(&[100, 100], 2), 0);
        assert_eq!(together(&[100, 1, 1, 1], 2), 1);
        assert_eq!(together(&[100; 64], 2), 0);
        assert_eq!(together(&[100; 64], 64), 0, "one for each is better than four for each");
        assert_eq!(together(&[1000, 10, 10, 10, 10, 10, 10, 10], 8), 1);
        assert_eq!(together(&[], 4), 0);
    }
}
