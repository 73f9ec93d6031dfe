//! Finds the size of a log's segments: an unofficial branch of Darshan writes 96 bytes and says 32.
//!
//! With the wrong size, a walk from record to record soon lands inside a segment, where no head can be. Heads are judged by
//! what the runtime always writes; the walk goes on until enough of the region was passed.

use super::segment::SegmentKind;
use super::{HEAD_BYTES, decode_head};
use crate::bytes::{Endian, until_nul};
use crate::error::Problem;
use crate::stream::Stream;
use std::io::{Read, Seek};

/// Passing this many bytes, and a head behind them, settles the size.
const ENOUGH_BYTES: u64 = 1 << 20;

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// The region ended behind a record, or enough was seen.
    Fits,
    /// The region ended within a record, or is damaged, after that many heads that can be.
    Breaks { heads: u64 },
    /// It came to bytes that are no head.
    Fails,
}

/// The kind of a region's segments, which is `declared` unless only 96 bytes fit. `open` begins the region anew, with a
/// list for its problems.
pub(crate) fn find_kind<R: Read + Seek>(
    declared: SegmentKind,
    endian: Endian,
    mut open: impl for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
) -> SegmentKind {
    if !matches!(declared, SegmentKind::Plain | SegmentKind::NoOffset) {
        return declared;
    }
    let mut walk = |kind: SegmentKind| {
        let (mut problems, mut heads, mut failed) = (Vec::new(), 0, false);
        open(&mut problems, &mut |stream| (heads, failed) = walk(stream, kind, endian));
        match (failed, problems.is_empty()) {
            (true, _) => Walk::Fails,
            (false, true) => Walk::Fits,
            (false, false) => Walk::Breaks { heads },
        }
    };
    if walk(declared) == Walk::Fits {
        return declared;
    }
    match walk(SegmentKind::ThreadText) {
        Walk::Fits => SegmentKind::ThreadText,
        // Damage hides the end. One head fits any size; two do not by chance.
        Walk::Breaks { heads } if heads > 1 && walk(declared) == Walk::Fails => SegmentKind::ThreadText,
        _ => declared,
    }
}

/// Heads that can be, and whether it came to one that cannot.
fn walk<R: Read + Seek>(stream: &mut Stream<'_, R>, kind: SegmentKind, endian: Endian) -> (u64, bool) {
    let (mut passed, mut heads) = (0u64, 0);
    while let Some(head) = stream.head("a DXT record", HEAD_BYTES) {
        let Some(segments) = head.first_chunk().and_then(|head| segments(head, endian)) else {
            return (heads, true);
        };
        heads += 1;
        let length = segments.saturating_mul(kind.bytes() as u64);
        if passed >= ENOUGH_BYTES || !stream.skip("the segments of a DXT record", length) {
            break;
        }
        passed = passed.saturating_add(length).saturating_add(HEAD_BYTES as u64);
    }
    (heads, false)
}

/// How many segments follow what can be a head.
fn segments(head: &[u8; HEAD_BYTES], endian: Endian) -> Option<u64> {
    let record = decode_head(head, endian, 0).ok()?;
    let plausible = record.rank >= -1
        && record.rank <= i64::from(i32::MAX)
        && matches!(endian.i64(&head[16..]), 0 | 1)
        && until_nul(&head[24..88]).iter().all(|byte| !byte.is_ascii_control());
    plausible.then_some(record.write_count.saturating_add(record.read_count))
}
