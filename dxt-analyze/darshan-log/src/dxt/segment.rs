//! Segment (one read or write in a DXT record) and the four encodings of segments in logs.

use crate::bytes::{Endian, until_nul};
use crate::module::Module;

/// Value of [`Segment::offset`] for MPI-IO calls in logs that do not store offsets.
const NO_OFFSET: i64 = -1;
/// Text before the thread id in a segment of 96 bytes.
const THREAD_TEXT: &[u8] = b"pthread_id=";

/// One successful read or write call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// File offset of the first byte; -1 if an MPI-IO log does not store offsets.
    pub offset: i64,
    /// Number of bytes transferred; 0 for a read at the end of a file. Failed calls are not recorded.
    pub length: i64,
    /// Start of the call, in seconds since Darshan began to trace the process.
    pub start: f64,
    /// End of the call, in seconds since Darshan began to trace the process.
    pub end: f64,
    /// Calling thread as returned by `pthread_self()`; `None` if the log does not store threads.
    pub thread: Option<u64>,
}

/// Encoding of a log's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentKind {
    /// 32 bytes: offset, length, start, end. Used by DXT_POSIX 1 and DXT_MPIIO 2.
    Plain,
    /// 32 bytes as in [`Self::Plain`], but with a meaningless offset. Used by DXT_MPIIO 1.
    NoOffset,
    /// 40 bytes: [`Self::Plain`] and a thread id. Used by DXT_POSIX 2 and DXT_MPIIO 3, which no release of Darshan reads yet.
    Thread,
    /// 96 bytes: [`Self::Plain`] and 64 bytes of text, `pthread_id=N`. Written by an unofficial branch with the versions of
    /// [`Self::Plain`]; Darshan's own tools misread these logs.
    ThreadText,
}

impl SegmentKind {
    /// Returns the segment encoding of a module's version.
    pub(crate) fn of(module: Module, version: u32) -> Option<Self> {
        match (module, version) {
            (Module::DxtMpiIo, 1) => Some(Self::NoOffset),
            (Module::DxtPosix, 1) | (Module::DxtMpiIo, 2) => Some(Self::Plain),
            (Module::DxtPosix, 2) | (Module::DxtMpiIo, 3) => Some(Self::Thread),
            _ => None,
        }
    }

    /// Returns the size of a segment in this encoding, in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Plain | Self::NoOffset => 32,
            Self::Thread => 40,
            Self::ThreadText => 96,
        }
    }

    /// True if the encoding stores the calling thread of each segment.
    #[must_use]
    pub fn has_threads(self) -> bool {
        matches!(self, Self::Thread | Self::ThreadText)
    }

    /// Replaces the contents of `segments` by the segments decoded from `bytes`.
    pub(crate) fn decode(self, bytes: &[u8], endian: Endian, segments: &mut Vec<Segment>) {
        match endian {
            Endian::Little => self.decode_as::<false>(bytes, segments),
            Endian::Big => self.decode_as::<true>(bytes, segments),
        }
    }

    /// Decodes segments with the byte order as a constant, so that the loop has no branch on the byte order.
    fn decode_as<const BIG: bool>(self, bytes: &[u8], segments: &mut Vec<Segment>) {
        let endian = if BIG { Endian::Big } else { Endian::Little };
        let plain = |bytes: &[u8]| Segment {
            offset: endian.i64(bytes),
            length: endian.i64(&bytes[8..]),
            start: endian.f64(&bytes[16..]),
            end: endian.f64(&bytes[24..]),
            thread: None,
        };
        segments.clear();
        let pieces = bytes.chunks_exact(self.bytes());
        match self {
            Self::Plain => segments.extend(pieces.map(plain)),
            Self::NoOffset => segments.extend(pieces.map(|bytes| Segment { offset: NO_OFFSET, ..plain(bytes) })),
            Self::Thread => {
                segments.extend(pieces.map(|bytes| Segment { thread: Some(endian.u64(&bytes[32..])), ..plain(bytes) }));
            }
            Self::ThreadText => {
                segments.extend(pieces.map(|bytes| Segment { thread: thread(&bytes[32..]), ..plain(bytes) }));
            }
        }
    }
}

/// Parses the thread id in the text of a segment of 96 bytes.
fn thread(text: &[u8]) -> Option<u64> {
    let number = until_nul(text).strip_prefix(THREAD_TEXT)?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_decoded_in_either_byte_order() {
        let numbers = [4096u64, 512, 1.5f64.to_bits(), 2.5f64.to_bits(), 77];
        let little: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let big: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        let mut text = little[..32].to_vec();
        text.extend_from_slice(b"pthread_id=77");
        text.resize(96, 0);
        let plain = Segment { offset: 4096, length: 512, start: 1.5, end: 2.5, thread: None };
        let mut segments = Vec::new();
        SegmentKind::Plain.decode(&little[..32], Endian::Little, &mut segments);
        assert_eq!(segments, [plain]);
        SegmentKind::NoOffset.decode(&big[..32], Endian::Big, &mut segments);
        assert_eq!(segments, [Segment { offset: -1, ..plain }]);
        SegmentKind::Thread.decode(&big, Endian::Big, &mut segments);
        assert_eq!(segments, [Segment { thread: Some(77), ..plain }]);
        SegmentKind::ThreadText.decode(&text, Endian::Little, &mut segments);
        assert_eq!(segments, [Segment { thread: Some(77), ..plain }]);
        assert_eq!(thread(b"pthread_id=x"), None);
    }
}
