//! Tests if the gaps between the pieces of MPI-IO calls are so large that data sieving wastes bytes. ROMIO begins each block that it moves
//! at the next piece of data. If a gap of at least a quarter of the block's length follows, the block contains only a few pieces, and
//! moving these pieces individually means fewer bytes in about as many calls. Many small pieces leave only gaps between blocks that are as
//! small as the gaps between two pieces.

use crate::model::{FileId, ProcessId, Run};
use crate::progress::Bar;
use crate::scan::{Analysis, Block, scan};
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::{Layer, OpClass};

/// Minimum size of a large gap: the preceding block's length divided by this number.
const GAP: u64 = 4;

/// Number of blocks followed by a large gap (`large`), and of blocks followed by a smaller gap or none (`small`), within one MPI-IO call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Gaps {
    large: u64,
    small: u64,
}

struct Windows {
    file: Option<FileId>,
}

/// Returns true if large gaps follow most blocks that were moved inside MPI-IO calls on `file`; `None` stands for all files.
pub(super) fn sparse(run: &Run, file: Option<&str>) -> bool {
    let file = file.and_then(|name| run.file_named(name));
    let bar = Bar::new(run.segments(), "data sieving");
    let (gaps, _) = scan(run, &Windows { file }, &bar);
    gaps.large > gaps.small
}

impl Analysis for Windows {
    type Partial = Gaps;

    fn start(&self) -> Gaps {
        Gaps::default()
    }

    fn wants(&self, _run: &Run, _process: ProcessId, _head: &BlockHead) -> bool {
        true
    }

    // Calls made inside MPI-IO precede the outer call in a block. A call split over two blocks loses little information.
    fn block(&self, partial: &mut Gaps, block: &Block<'_>) {
        let mut inside: FxHashMap<(FileId, OpClass), Vec<(u64, u64)>> = FxHashMap::default();
        for row in block.rows() {
            let Some(stream) = block.process.stream(row.stream) else { continue };
            let op = block.run.op(stream);
            let Some(class) = op.class.filter(|class| class.is_data()) else { continue };
            if self.file.is_some_and(|file| file != stream.file) {
                continue;
            }
            match (op.layer, stream.nested) {
                (Some(Layer::Posix), true) => {
                    if let Ok(offset) = u64::try_from(row.offset) {
                        inside.entry((stream.file, class)).or_default().push((offset, row.length));
                    }
                }
                (Some(Layer::Mpiio), _) => {
                    for (_, calls) in inside.drain() {
                        count(partial, &calls);
                    }
                }
                _ => {}
            }
        }
    }

    fn merge(&self, into: &mut Gaps, other: Gaps) {
        into.large += other.large;
        into.small += other.small;
    }
}

/// Counts the gaps after the blocks moved inside one MPI-IO call; `calls` are (offset, length), in order.
fn count(gaps: &mut Gaps, calls: &[(u64, u64)]) {
    for pair in calls.windows(2) {
        let &[(offset, length), (next, _)] = pair else { continue };
        let Some(gap) = next.checked_sub(offset.saturating_add(length)) else { continue };
        if length > 0 && gap >= length / GAP {
            gaps.large += 1;
        } else {
            gaps.small += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(calls: &[(u64, u64)]) -> Gaps {
        let mut gaps = Gaps::default();
        count(&mut gaps, calls);
        gaps
    }

    #[test]
    fn a_gap_is_large_against_the_block_before_it() {
        // Tests blocks of 512 KiB at every MiB; adjacent blocks; and an earlier offset, which is no gap.
        assert_eq!(of(&[(0, 524_288), (1 << 20, 524_288), (2 << 20, 524_288)]), Gaps { large: 2, small: 0 });
        assert_eq!(of(&[(0, 524_288), (524_300, 524_288), (1_048_800, 100)]), Gaps { large: 0, small: 2 });
        assert_eq!(of(&[(4096, 100), (0, 100)]), Gaps::default());
        assert_eq!(of(&[(0, 0), (10, 0)]), Gaps { large: 0, small: 1 });
        assert_eq!(of(&[]), Gaps::default());
    }
}
