//! Flush frame: time that a process took to write its part of the trace, by stage. The frame has a fixed size and is not compressed, so that
//! it can be overwritten when the times of the stages after the write are known.

use super::{FRAME_HEADER_BYTES, FrameHeader, codec, crc, kind};
use serde::Serialize;

/// Stage of writing a trace. Exactly one stage is in progress at any time, so the times of all stages add up to the duration of the flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushStage {
    /// Collecting the recorded calls from memory and applying the filters that the user set.
    Gather,
    /// Converting segments to columns and metadata to bytes.
    Encode,
    /// Compressing blocks with zstd.
    Compress,
    /// Collective steps of all ranks before they write; mostly waiting for the slowest rank.
    Agree,
    /// Creating and opening the trace file before the write.
    Open,
    /// Writing the processes' regions; if all ranks write one file, also closing the file and waiting for the slowest rank.
    Write,
    /// Comparing the file with the bytes given to MPI, rewriting bytes that are missing, and writing the index.
    Repair,
    /// Time that belongs to no other stage.
    Other,
}

impl FlushStage {
    /// All stages, in the order in which a flush frame stores their times.
    pub const ALL: [Self; 8] =
        [Self::Gather, Self::Encode, Self::Compress, Self::Agree, Self::Open, Self::Write, Self::Repair, Self::Other];

    /// Returns the stage's name in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gather => "gather",
            Self::Encode => "encode",
            Self::Compress => "compress",
            Self::Agree => "agree",
            Self::Open => "open",
            Self::Write => "write",
            Self::Repair => "repair",
            Self::Other => "other",
        }
    }
}

/// Contents of a process's flush frame: time spent on writing the process's part of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushTimes {
    /// Time spent in each stage, in the order of [`FlushStage::ALL`], in ns, until the frame was last written.
    pub stages_ns: [u64; FlushStage::ALL.len()],
    /// Number of segments that were encoded and compressed while the program still ran; the time of that work is in no stage.
    pub packed_segments: u64,
}

const PAYLOAD_BYTES: usize = 8 * (FlushStage::ALL.len() + 1);

/// Size of a flush frame in the file, in bytes.
pub const FLUSH_FRAME_BYTES: usize = FRAME_HEADER_BYTES + PAYLOAD_BYTES;

impl FlushTimes {
    /// Encodes the times as the flush frame of process region `region`.
    #[must_use]
    pub fn frame(&self, region: u32) -> [u8; FLUSH_FRAME_BYTES] {
        let mut out = [0; FLUSH_FRAME_BYTES];
        let (head, payload) = out.split_at_mut(FRAME_HEADER_BYTES);
        let words = self.stages_ns.iter().chain([&self.packed_segments]);
        for (place, word) in payload.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let bytes = PAYLOAD_BYTES as u32;
        let (kind, codec, payload_crc) = (kind::FLUSH, codec::STORED, crc(payload));
        head.copy_from_slice(&FrameHeader { kind, codec, region, stored: bytes, raw: bytes, payload_crc }.encode());
        out
    }

    /// Decodes the payload of a flush frame; values missing in a shorter payload are 0.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Self {
        let mut words = payload.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let stages_ns = std::array::from_fn(|_| words.next().unwrap_or(0));
        Self { stages_ns, packed_segments: words.next().unwrap_or(0) }
    }

    /// Returns the time spent in `stage`, in ns.
    #[must_use]
    pub fn of(&self, stage: FlushStage) -> u64 {
        self.stages_ns.get(stage as usize).copied().unwrap_or(0)
    }

    /// Returns the duration of the flush, the sum of all stages, in ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.stages_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_also_from_longer_and_shorter_payloads() {
        let times = FlushTimes { stages_ns: [1, 2, 3, 4, 5, 6, 7, u64::MAX - 28], packed_segments: 9 };
        let frame = times.frame(5);
        let header = FrameHeader::decode(&frame, 0).unwrap();
        assert_eq!((header.kind, header.region, header.frame_bytes()), (kind::FLUSH, 5, FLUSH_FRAME_BYTES as u64));
        let payload = &frame[FRAME_HEADER_BYTES..];
        assert_eq!(crc(payload), header.payload_crc);
        assert_eq!(FlushTimes::decode(payload), times);
        assert_eq!(FlushTimes::decode(&[payload, &[7; 20]].concat()), times);
        assert_eq!(FlushTimes::decode(&payload[..20]).stages_ns, [1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!((times.of(FlushStage::Repair), times.total_ns()), (7, u64::MAX));
    }
}
