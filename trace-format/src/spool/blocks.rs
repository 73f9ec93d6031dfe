//! Packed blocks (compressed segments of one chunk each), one after another, as in a chunk (segment buffer), a spill file or a staging
//! slot.

use super::block::{BYTES, FIRST, HEADER_BYTES, MARK, MULT, SEQUENCE, THREAD};
use super::parts::{u32_at, u64_at};
use crate::frame::{BLOCK_HEAD_BYTES, BlockHead, FRAME_HEADER_BYTES};
use std::ops::Range;

/// Packed block: the compressed segments of one chunk (segment buffer of a thread).
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Index of the thread that recorded the segments.
    pub thread: u32,
    /// Sequence number of the chunk (segment buffer) that was packed.
    pub sequence: u32,
    /// Mark that states if the block is in a trace: one of [`super::block::mark`].
    pub mark: u32,
    /// Clock rate with which the block was encoded, in the unit of `TickScale::mult`.
    pub mult: u64,
    /// Slot number, within its chunk (segment buffer), of the block's first segment; the other segments were in the slots after it.
    pub first: u32,
    /// Head of the block, which summarizes the segments.
    pub head: BlockHead,
    /// Segment frame (see [`crate::frame`]) that contains the compressed segments.
    pub frame: &'a [u8],
}

/// Returns an iterator over the packed blocks (compressed segments) in `bytes`. Reserved space that is not filled (not yet, or never) is
/// skipped, so that blocks after it are found.
pub fn blocks(bytes: &[u8]) -> impl Iterator<Item = Block<'_>> {
    placed(bytes).map(|(_, block)| block)
}

/// Returns an iterator over the packed blocks (compressed segments) in `bytes`, each with its byte range.
pub(super) fn placed(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, Block<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER_BYTES) {
            let here = at;
            if let Some(block) = first(rest) {
                at += (HEADER_BYTES + block.frame.len()).next_multiple_of(8);
                return Some((here..at, block));
            }
            at += 8;
        }
        None
    })
}

/// Returns the packed block (compressed segments) at the start of `bytes`, if any.
pub(super) fn first(bytes: &[u8]) -> Option<Block<'_>> {
    let frame = bytes.get(HEADER_BYTES..)?.get(..u32_at(bytes, BYTES) as usize)?;
    let head = frame.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + BLOCK_HEAD_BYTES)?;
    let head = BlockHead::decode(head, 0).ok()?;
    let (thread, sequence, mult) = (u32_at(bytes, THREAD), u32_at(bytes, SEQUENCE), u64_at(bytes, MULT));
    let (mark, first) = (u32_at(bytes, MARK), u32_at(bytes, FIRST));
    Some(Block { thread, sequence, mark, mult, first, head, frame })
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;
    use crate::columns::TickScale;
    use crate::segment::{Segment, StreamId};

    #[test]
    fn a_block_that_is_being_copied_hides_no_other() {
        let mut encoder = crate::write::Encoder::new().unwrap();
        let mut block = |sequence: u32| {
            let mut out = vec![0; HEADER_BYTES];
            encoder.block(0, 0, &[Segment::new(StreamId(1), 0, 5, 6, 7)], &TickScale::IDENTITY, &mut out).unwrap();
            let length = (out.len() - HEADER_BYTES) as u32;
            out[..4].copy_from_slice(&length.to_le_bytes());
            out[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
            out[MULT..MULT + 8].copy_from_slice(&TickScale::IDENTITY.mult.wrapping_sub(1).to_le_bytes());
            out.resize(out.len().next_multiple_of(8), 0);
            out
        };
        let (one, two) = (block(1), block(2));
        // A block's length is stored last: any part of the block's other bytes may be present.
        for copied in 4..one.len() {
            let mut begun = one.clone();
            begun[copied..].fill(0);
            begun[..4].fill(0);
            let all = [begun, two.clone()].concat();
            assert_eq!(blocks(&all).map(|block| block.sequence).collect::<Vec<_>>(), [2], "{copied}");
        }
    }
}
