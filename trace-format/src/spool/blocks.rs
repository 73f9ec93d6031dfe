//! Packed blocks one after another, as they lie in a chunk, in the spill or in a landing place.

use super::block::{BYTES, FIRST, HEADER_BYTES, MARK, MULT, SEQUENCE, THREAD};
use super::parts::{u32_at, u64_at};
use crate::frame::{BLOCK_HEAD_BYTES, BlockHead, FRAME_HEADER_BYTES};
use std::ops::Range;

/// A packed block.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Index of the thread.
    pub thread: u32,
    /// Which of the thread's chunks it was.
    pub sequence: u32,
    /// Whether it is in a trace: one of [`super::block::mark`].
    pub mark: u32,
    /// Nanoseconds per tick that it was encoded with.
    pub mult: u64,
    /// Index of the slot that its first segment was in; the others were in those behind it.
    pub first: u32,
    /// What it says of its segments.
    pub head: BlockHead,
    /// The segment frame.
    pub frame: &'a [u8],
}

/// The blocks in `bytes`. A place that was taken and not filled yet, or never, hides no block behind it.
pub fn blocks(bytes: &[u8]) -> impl Iterator<Item = Block<'_>> {
    placed(bytes).map(|(_, block)| block)
}

/// The same, each with the bytes that it takes.
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

/// The block that begins `bytes`, if one does.
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
        // The length comes last: any part of the rest may be there.
        for copied in 4..one.len() {
            let mut begun = one.clone();
            begun[copied..].fill(0);
            begun[..4].fill(0);
            let all = [begun, two.clone()].concat();
            assert_eq!(blocks(&all).map(|block| block.sequence).collect::<Vec<_>>(), [2], "{copied}");
        }
    }
}
