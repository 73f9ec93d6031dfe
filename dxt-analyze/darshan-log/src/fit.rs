//! Detection of a module's record sizes. Sites modify Darshan, so that records contain additional numbers despite their official versions.
//!
//! The official size is used if it fits, that is if a record head (id, rank, ...) is wherever the size predicts one. Otherwise these are
//! tried, in this order:
//!
//! * DXT segments of 96 bytes, which an unofficial branch of Darshan writes;
//! * records, or heads of records of variable length, that are 8, 16, ... [`MOST_EXTRA`] bytes longer;
//! * heads of DXT records that are longer and hold, in the additional bytes, the numbers of further segments.
//!
//! Each rank must be between -1 and the job's last rank. In addition:
//!
//! * Records of fixed length: at least half of their ids are in the name table. The size with the largest share of named records is used.
//! * Records of variable length: the first size is used whose pass over the region finds a named record and ends after a record.
//!
//! If none fits and damage is not the reason, the layout is unknown.

use crate::bytes::{Endian, until_nul};
use crate::dxt::{SegmentKind, decode_head};
use crate::error::{Error, Problem};
use crate::limits;
use crate::log::Info;
use crate::stream::Stream;
use std::cmp::Reverse;
use std::io::{Read, Seek};

/// Maximum number of bytes by which a record, or a record's head, may exceed the official size.
const MOST_EXTRA: usize = 128;
/// Maximum number of bytes in a DXT record's head that may be counts of further segments.
const MOST_COUNTS: usize = 32;
/// Number of bytes of records that suffice to decide if a record size fits.
const ENOUGH_BYTES: u64 = 1 << 20;
/// Largest valid rank if the job record does not state the number of ranks.
const LAST_RANK: i64 = i32::MAX as i64 - 1;
/// Maximum ratio of all record heads to heads whose record id has a name, at which the official size is still credible. Darshan limits the
/// number of names, so that not all records of a log need have one.
const HEADS_PER_NAME: u64 = 10;

/// Detected sizes of a module's records in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
    /// Official size of a record, or of a record's head if the records have variable lengths, in bytes.
    pub official: usize,
    /// Number of bytes after the official ones in each record (or head) of this log; this reader skips them.
    pub extra: usize,
    /// True if the extra bytes are counts of further DXT segments, which this reader skips too.
    pub counts_segments: bool,
    /// Encoding of the DXT segments; `None` for other modules.
    pub(crate) kind: Option<SegmentKind>,
}

impl Fit {
    /// Returns the size of a record, or of a record's head, in this log, in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.official + self.extra
    }

    /// Returns the size, in bytes, of the further segments after the reads of a DXT record; `None` if the counts in `head` are not plausible.
    pub(crate) fn further_bytes(self, head: &[u8], endian: Endian) -> Option<u64> {
        let counts = head.get(self.official..).filter(|_| self.counts_segments).unwrap_or_default();
        let size = self.kind.map_or(0, SegmentKind::bytes) as u64;
        counts.chunks_exact(8).try_fold(0, |sum: u64, count| {
            let count = u64::try_from(endian.i64(count)).ok().filter(|count| *count <= limits::SEGMENTS)?;
            Some(sum + count * size)
        })
    }
}

/// Contents that follow the head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// No contents: records have a fixed size.
    Nothing,
    /// DXT segments, each with the given encoding.
    Segments(SegmentKind),
    /// OSTs of a Lustre record of version 1.
    Osts,
    /// Components and OSTs of a Lustre record of version 2.
    Components,
    /// Heat map bins (bytes per time bin) of writes and reads.
    Bins,
}

impl Body {
    /// Returns the length in bytes of the contents after `head`; `None` if `head` is not a plausible record head.
    fn bytes(self, fit: Fit, head: &[u8], endian: Endian) -> Option<u64> {
        let count = |at: usize, limit: u64| {
            let count = u64::try_from(endian.i64(head.get(at..)?)).ok()?;
            (count <= limit).then_some(count)
        };
        match self {
            Self::Nothing => Some(0),
            Self::Segments(kind) => {
                let record = decode_head(head.first_chunk()?, endian, 0).ok()?;
                let text = until_nul(&head[24..88]).iter().all(|byte| !byte.is_ascii_control());
                let plausible = text && matches!(endian.i64(&head[16..]), 0 | 1);
                let segments = record.write_count.saturating_add(record.read_count);
                let length = segments.saturating_mul(kind.bytes() as u64);
                plausible.then(|| fit.further_bytes(head, endian))?.map(|further| length.saturating_add(further))
            }
            Self::Osts => Some(8 * count(48, limits::STRIPES)?),
            Self::Components => Some(72 * count(16, limits::COMPONENTS)? + 8 * count(24, limits::STRIPES)?),
            Self::Bins => Some(16 * count(24, limits::BINS)?),
        }
    }
}

/// Place where a pass over a region's records ended, with one assumed record size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Pass ended after a record: at the end of the region, or after enough bytes.
    Fits,
    /// Pass ended within a record: the region is damaged or truncated, or its records have another size.
    Breaks,
    /// Pass reached bytes that cannot be a record head. Only possible if heads determine the length of their records.
    Fails,
}

/// Result of a pass over a region's records with one assumed record size.
#[derive(Clone, Copy, Debug)]
struct Walk {
    fit: Fit,
    end: End,
    /// True if the region cannot be decompressed completely.
    damaged: bool,
    heads: u64,
    /// Number of record heads that pass the checks: rank within the job, element counts within the limits, printable text (DXT).
    sound: u64,
    /// Number of record heads whose id has a name, or of all heads if the module has no names.
    named: u64,
    /// Number of record heads that are plausible and whose id has a name.
    good: u64,
}

impl Walk {
    fn all_sound(&self) -> bool {
        self.sound == self.heads && self.end != End::Fails
    }

    /// True if at least half of the record heads are plausible and named.
    fn half(&self) -> bool {
        2 * self.good >= self.heads
    }

    /// Returns the share of record heads that are plausible and named, in units of 2^-20.
    fn share(&self) -> u64 {
        (self.good << 20) / self.heads.max(1)
    }
}

pub(crate) struct Probe<'a, F> {
    pub(crate) info: &'a Info,
    /// True if the log should have a name for each record id of the module.
    pub(crate) has_names: bool,
    /// Official size of a record, or of a record's head, in bytes.
    pub(crate) official: usize,
    pub(crate) body: Body,
    /// Function that opens the region again; takes a list that receives problems.
    pub(crate) open: F,
}

impl<F> Probe<'_, F> {
    /// Returns the record sizes that fit; `None` if the layout is unknown.
    pub(crate) fn find<R: Read + Seek>(&mut self) -> Option<Fit>
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        let kind = if let Body::Segments(kind) = self.body { Some(kind) } else { None };
        let one_length = self.body == Body::Nothing;
        let official = self.walk(Fit { official: self.official, extra: 0, counts_segments: false, kind });
        // In a truncated region, heads are plausible and named up to the end.
        let ends = official.end == End::Fits || official.good > 1;
        let most = 2 * official.good > official.heads;
        // Damage within the first record hides all evidence for a size.
        let hidden = official.heads == 0 || !one_length && official.damaged && official.end == End::Breaks;
        if hidden || ends && official.all_sound() && (!one_length || most) {
            return Some(official.fit);
        }
        let found = if one_length { self.longer_record(&official) } else { self.longer_head(&official) };
        found.or_else(|| self.is_credible(&official).then_some(official.fit))
    }

    /// True if the official size is credible although it does not fit, because damage or missing names explain the misfit.
    fn is_credible<R: Read + Seek>(&mut self, official: &Walk) -> bool
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        if !self.has_names {
            return true;
        }
        if self.body != Body::Nothing {
            return official.end == End::Breaks || official.named >= 2 || self.length().is_none();
        }
        // Darshan limits the number of names, so some records have none.
        let some = HEADS_PER_NAME * official.named >= official.heads || official.heads == 1;
        2 * official.named >= official.heads || official.end == End::Fits && official.all_sound() && some
    }

    fn extras(&self) -> impl Iterator<Item = usize> + use<F> {
        // An upper bound on the extra bytes prevents two records from being read as one.
        let most = if self.body == Body::Nothing { MOST_EXTRA.min(self.official) } else { MOST_EXTRA };
        (8..=most).step_by(8)
    }

    /// Finds the size of records of fixed length: the size with the largest share of plausible, named heads. Tries sizes that divide the
    /// region's length; then the other sizes too, unless the official size divides the length or at least half of its heads are plausible
    /// and named.
    fn longer_record<R: Read + Seek>(&mut self, official: &Walk) -> Option<Fit>
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        let length = self.length();
        let divides = |extra: usize| length.is_some_and(|length| length % (self.official + extra) as u64 == 0);
        let (exact, other): (Vec<usize>, Vec<usize>) = self.extras().partition(|extra| divides(*extra));
        let whole = divides(0);
        let best = |walks: Vec<Walk>| {
            walks.iter().max_by_key(|walk| (walk.share(), Reverse(walk.fit.extra))).map(|walk| walk.fit)
        };
        let mut walks = |extras: Vec<usize>| -> Vec<Walk> {
            let fit = |extra| Fit { extra, ..official.fit };
            extras
                .into_iter()
                .map(|extra| self.walk(fit(extra)))
                .filter(|walk| walk.heads > 0 && walk.all_sound() && walk.half())
                .collect()
        };
        let mut found = walks(exact);
        found.retain(|walk| walk.share() > official.share() || !whole && walk.share() == official.share());
        if !found.is_empty() || whole || official.half() {
            return best(found);
        }
        let mut found = walks(other);
        found.retain(|walk| walk.heads > 1);
        best(found)
    }

    /// Finds the size of heads if heads determine the length of records: the first size whose pass ends after a record, at the end of the
    /// region or after enough bytes. Without such a size, and if the pass with the official size reached bytes that cannot be a head,
    /// returns the first size with at least two plausible, named heads.
    fn longer_head<R: Read + Seek>(&mut self, official: &Walk) -> Option<Fit>
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        let fit = official.fit;
        // An unofficial branch of Darshan writes segments of 96 bytes with the official head and versions.
        let plain = matches!(fit.kind, Some(SegmentKind::Plain | SegmentKind::NoOffset));
        let text = plain.then_some(Fit { kind: Some(SegmentKind::ThreadText), ..fit });
        let longer = self.extras().map(|extra| Fit { extra, ..fit });
        let counted = self.extras().filter(|extra| fit.kind.is_some() && *extra <= MOST_COUNTS).map(|extra| Fit {
            extra,
            counts_segments: true,
            ..fit
        });
        let fits: Vec<Fit> = text.into_iter().chain(longer).chain(counted).collect();
        let walks: Vec<Walk> =
            fits.into_iter().map(|fit| self.walk(fit)).filter(|walk| walk.all_sound() && walk.good > 0).collect();
        let whole = walks.iter().find(|walk| walk.end == End::Fits);
        let cut = walks.iter().find(|walk| official.end == End::Fails && walk.good > 1);
        whole.or(cut).map(|walk| walk.fit)
    }

    /// Returns the decompressed length of the region, in bytes; `None` if the region is damaged.
    fn length<R: Read + Seek>(&mut self) -> Option<u64>
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        let (mut problems, mut length) = (Vec::new(), 0);
        (self.open)(&mut problems, &mut |stream| length = stream.length());
        problems.is_empty().then_some(length)
    }

    fn walk<R: Read + Seek>(&mut self, fit: Fit) -> Walk
    where
        F: for<'p> FnMut(&mut Vec<Problem>, &mut dyn FnMut(&mut Stream<'_, R>)),
    {
        let (info, body) = (
            self.info,
            match (self.body, fit.kind) {
                (Body::Segments(_), Some(kind)) => Body::Segments(kind),
                (body, _) => body,
            },
        );
        let mut walk = Walk { fit, end: End::Fits, damaged: false, heads: 0, sound: 0, named: 0, good: 0 };
        let mut problems = Vec::new();
        let has_names = self.has_names;
        (self.open)(&mut problems, &mut |stream| step(stream, info, has_names, body, &mut walk));
        walk.damaged = problems.iter().any(|problem| !matches!(problem.error, Error::Truncated { .. }));
        if walk.end == End::Fits && !problems.is_empty() {
            walk.end = End::Breaks;
        }
        walk
    }
}

/// Reads record heads one after another with the assumed size and counts them in `walk`.
fn step<R: Read + Seek>(stream: &mut Stream<'_, R>, info: &Info, has_names: bool, body: Body, walk: &mut Walk) {
    let endian = info.header.endian;
    let last =
        Some(info.job.nprocs).filter(|ranks| (1..=LAST_RANK).contains(ranks)).map_or(LAST_RANK, |ranks| ranks - 1);
    let mut passed = 0_u64;
    while let Some(head) = stream.head("a record", walk.fit.bytes()) {
        let length = body.bytes(walk.fit, head, endian).filter(|_| (-1..=last).contains(&endian.i64(&head[8..])));
        let named = !has_names || info.names.get(endian.u64(head)).is_some();
        walk.heads += 1;
        walk.sound += u64::from(length.is_some());
        walk.named += u64::from(named);
        walk.good += u64::from(named && length.is_some());
        if length.is_none() && body != Body::Nothing {
            walk.end = End::Fails;
            return;
        }
        let length = length.unwrap_or(0);
        if passed >= ENOUGH_BYTES || !stream.skip("a record", length) {
            return;
        }
        passed = passed.saturating_add(length).saturating_add(walk.fit.bytes() as u64);
    }
}
