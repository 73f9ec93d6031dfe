//! Decodes and re-encodes packed blocks (segments encoded and compressed as in the file). No other part of the tracer decodes them.

use crate::buffer::Block;
use trace_format::columns::TickScale;
use trace_format::frame::{BlockHead, FRAME_HEADER_BYTES, FrameHeader};
use trace_format::read::{BlockRef, Decoder};
use trace_format::write::Encoder;
use trace_format::{Segment, StreamId};

/// Decoder for packed blocks (segments encoded in memory), and an encoder created at first use.
pub(super) struct Unpacker<'a> {
    scale: &'a TickScale,
    decoder: Decoder,
    encoder: Option<Encoder>,
}

impl<'a> Unpacker<'a> {
    /// Creates a decoder that converts ticks with `scale`, the current clock rate.
    pub(super) fn new(scale: &'a TickScale) -> Self {
        Self { scale, decoder: Decoder::default(), encoder: None }
    }

    /// Returns a bit mask of the streams whose segments are in an encoded frame: bit `id % 64` is set for each stream. All bits are set if
    /// the frame cannot be decoded.
    pub(super) fn streams(frame: &[u8]) -> u64 {
        let head = frame.get(FRAME_HEADER_BYTES..).map(|body| BlockHead::decode(body, 0));
        head.and_then(Result::ok).map_or(u64::MAX, |head| head.stream_mask)
    }

    /// Decodes the segments of a packed block (segments encoded in memory), with times in ns since the epoch; returns `None` if the block
    /// cannot be decoded.
    pub(super) fn segments(&mut self, block: &Block) -> Option<Vec<Segment>> {
        self.decoded(block.frame, block.mult)
    }

    /// Decodes the segments of `frame`, which [`Self::packed`] has encoded; `None` if they cannot be decoded.
    pub(super) fn again(&mut self, frame: &[u8]) -> Option<Vec<Segment>> {
        self.decoded(frame, self.scale.mult)
    }

    fn decoded(&mut self, bytes: &[u8], mult: u64) -> Option<Vec<Segment>> {
        let frame = FrameHeader::decode(bytes, 0).ok()?;
        let head = BlockHead::decode(bytes.get(FRAME_HEADER_BYTES..)?, 0).ok()?;
        let head = head.at_rate(mult, self.scale.mult);
        let columns = self.decoder.block(&bytes, &BlockRef { offset: 0, frame, head }).ok()?;
        let segment = |i: usize| {
            let (offset, length) = (*columns.offset.get(i)?, *columns.length.get(i)?);
            Some(Segment::new(
                StreamId(*columns.stream.get(i)?),
                offset,
                length,
                *columns.start.get(i)?,
                *columns.end.get(i)?,
            ))
        };
        (0..columns.len()).map(segment).collect()
    }

    /// Encodes segments of thread number `thread` (times in ns since the epoch) as a frame (block as in the trace file). The frame is empty
    /// if there are no segments. Returns `None` if encoding fails.
    pub(super) fn packed(&mut self, thread: u32, segments: &[Segment]) -> Option<Vec<u8>> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(Encoder::new().ok()?),
        };
        let mut out = Vec::new();
        encoder.block(0, thread, segments, &TickScale::IDENTITY, &mut out).ok()?;
        Some(out)
    }
}
