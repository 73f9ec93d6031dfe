//! Test for data sieving with few large pieces. ROMIO begins each block that it moves at the next piece. If a gap of at least a quarter
//! of a block's length follows the block, it contains only a few pieces. Moving pieces individually then means fewer bytes in about as
//! many calls. Small pieces only leave gaps as large as those between two of them.

use crate::model::{FileId, ProcessId, Run};
use crate::progress::Bar;
use crate::scan::{Analysis, Block, scan};
use rustc_hash::FxHashMap;
use trace_format::frame::BlockHead;
use trace_format::op::{Layer, OpClass};

/// Minimum size of a large gap, as a divisor of the preceding block's length.
const GAP: u64 = 4;

/// Blocks followed by a large gap, and blocks followed by another gap or none, within the same call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Gaps {
    large: u64,
    small: u64,
}

struct Windows {
    file: Option<FileId>,
}

/// True if a large gap follows most blocks moved inside independent calls on `file`, or on all files.
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

    // Inner calls precede their outer call in a block; a call split over two blocks loses little information.
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

/// Adds the blocks of one call, in order.
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
        // Blocks of 512 KiB at every MiB; adjacent blocks; and an earlier offset, which is no gap.
        assert_eq!(of(&[(0, 524_288), (1 << 20, 524_288), (2 << 20, 524_288)]), Gaps { large: 2, small: 0 });
        assert_eq!(of(&[(0, 524_288), (524_300, 524_288), (1_048_800, 100)]), Gaps { large: 0, small: 2 });
        assert_eq!(of(&[(4096, 100), (0, 100)]), Gaps::default());
        assert_eq!(of(&[(0, 0), (10, 0)]), Gaps { large: 0, small: 1 });
        assert_eq!(of(&[]), Gaps::default());
    }
}
