//! Regions of a spool's file: their locations, and functions that read them.

use super::parts::u64_at;
use super::sparse::Sparse;
use super::{PART_BYTES, PARTS, Part, header};
use crate::error::{Error, Result};
use crate::limits;
use crate::read::Source;
use std::ops::Range;

pub(super) struct SpoolReader<'a, S: ?Sized>(pub(super) &'a S);

impl<S: Source + ?Sized> SpoolReader<'_, S> {
    /// Returns the file offset of a region of the spool, and how many of its bytes are in use now and lie within the file.
    pub(super) fn part(&self, part: Part) -> Result<(u64, u64)> {
        let [offset, capacity, used] = self.entry(part)?;
        let length = used.min(capacity).min(self.size()?.saturating_sub(offset));
        let most = if part == Part::Journal { limits::SPOOL_JOURNAL_BYTES } else { limits::SPOOL_PART_BYTES };
        limits::check("bytes of a spool's part", length, most, entry_offset(part))?;
        Ok((offset, length))
    }

    /// Returns the number of bytes of a region of the spool that are not in use.
    pub(super) fn room(&self, part: Part) -> Result<u64> {
        let [_, capacity, used] = self.entry(part)?;
        Ok(capacity.saturating_sub(used))
    }

    /// Returns the number of bytes in use past the end of the file. A spool (a process's recordings) is created with its maximum length, so
    /// a shorter file was truncated.
    pub(super) fn missing(&self) -> Result<u64> {
        let (size, mut missing, mut entries) = (self.size()?, 0_u64, [0; PARTS * PART_BYTES]);
        self.read(header::PARTS as u64, &mut entries)?;
        for entry in entries.as_chunks::<PART_BYTES>().0 {
            let [offset, capacity, used] = numbers(entry);
            let used = used.min(capacity);
            missing = missing.saturating_add(used - used.min(size.saturating_sub(offset)));
        }
        Ok(missing)
    }

    /// Returns [file offset, capacity, used length] of a region of the spool, in bytes.
    fn entry(&self, part: Part) -> Result<[u64; 3]> {
        let mut entry = [0; PART_BYTES];
        self.read(entry_offset(part), &mut entry)?;
        Ok(numbers(&entry))
    }

    fn size(&self) -> Result<u64> {
        self.0.size().map_err(|source| Error::Io { offset: 0, length: 0, source })
    }

    /// Checks that the used lengths of the spool's regions sum to at most the length of the file: regions of an intact spool do not
    /// overlap.
    pub(super) fn check(&self) -> Result<()> {
        let mut unclaimed = self.size()?;
        for part in ALL {
            unclaimed = unclaimed.checked_sub(self.part(part)?.1).ok_or_else(|| Error::Malformed {
                what: "a spool",
                offset: entry_offset(part),
                why: "its parts together are longer than the file".into(),
            })?;
        }
        Ok(())
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let length = into.len() as u64;
        self.0.read_exact_at(offset, into).map_err(|source| Error::Io { offset, length, source })
    }

    /// Fills `into` with the bytes of a region of the spool that begin at position `at` in the region.
    pub(super) fn fill(&self, part: Part, at: usize, into: &mut [u8]) -> Result<()> {
        self.read(self.part(part)?.0 + at as u64, into)
    }

    /// Fills `into`, which must be zeroed, with the bytes of a region that begin at `at` in the region. Holes of the file are not read.
    pub(super) fn fill_zeros(&self, part: Part, at: usize, into: &mut [u8]) -> Result<()> {
        let offset = self.part(part)?.0 + at as u64;
        self.read_stored(offset, into).map(drop)
    }

    /// Copies the used bytes of a region of the spool.
    pub(super) fn copy(&self, part: Part) -> Result<Sparse> {
        let (offset, length) = self.part(part)?;
        let mut bytes = zeros(offset, length)?;
        let stored = self.read_stored(offset, &mut bytes)?;
        Ok(Sparse { bytes, stored })
    }

    /// Reads a batch of records of `bytes` bytes each, starting at record number `from`; if that record is in a hole of the file, skips the
    /// hole, except in small regions ([`limits::SPOOL_HOLES_BYTES`]). Returns the number of the first record read, and the batch; `None` if
    /// no records are left.
    pub(super) fn records(&self, part: Part, bytes: usize, from: usize) -> Result<Option<(usize, Vec<u8>)>> {
        let (offset, length) = self.part(part)?;
        let mut from = from as u64;
        if length > limits::SPOOL_HOLES_BYTES {
            let at = offset.saturating_add(from.saturating_mul(bytes as u64));
            let stored = self.0.stored(at).map_err(|source| Error::Io { offset: at, length, source })?;
            let Some(stored) = stored else { return Ok(None) };
            from = from.max(stored.start.saturating_sub(offset) / bytes as u64);
        }
        let count = (length / bytes as u64).saturating_sub(from).min((limits::SPOOL_PIECE_BYTES / bytes) as u64);
        if count == 0 {
            return Ok(None);
        }
        let mut records = vec![0; count as usize * bytes];
        self.read(offset + from * bytes as u64, &mut records)?;
        Ok(Some((from as usize, records)))
    }

    /// Reads the bytes outside holes of the file into zeroed memory and returns their ranges. Holes are skipped because they cost nothing
    /// to create in any size, and must not cost memory when read. All bytes are read without a search for holes if they are at most
    /// [`limits::SPOOL_HOLES_BYTES`], or if at least as many bytes are allocated on disk.
    fn read_stored(&self, offset: u64, into: &mut [u8]) -> Result<Vec<Range<usize>>> {
        if into.is_empty() {
            return Ok(Vec::new());
        }
        let length = into.len() as u64;
        let failed = |source| Error::Io { offset, length, source };
        if length <= limits::SPOOL_HOLES_BYTES || length <= self.0.allocated().map_err(failed)? {
            self.read(offset, into)?;
            return Ok(std::iter::once(0..into.len()).collect());
        }
        let (mut all, mut at, end) = (Vec::new(), offset, offset.saturating_add(length));
        while let Some(stored) = self.0.stored(at).map_err(failed)?.filter(|stored| stored.start < end) {
            let place = stored.start.max(at)..stored.end.min(end);
            // An empty range makes no progress and would be returned forever.
            if place.is_empty() {
                break;
            }
            at = place.end;
            let place = (place.start - offset) as usize..(place.end - offset) as usize;
            self.read(offset + place.start as u64, &mut into[place.clone()])?;
            all.push(place);
        }
        Ok(all)
    }
}

const ALL: [Part; 6] = [Part::Journal, Part::Arena, Part::Scratch, Part::Folded, Part::Staging, Part::SyncPoints];

/// Decodes a region's entry in the spool's header: [file offset, capacity, used length], in bytes.
fn numbers(entry: &[u8; PART_BYTES]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64_at(entry, at))
}

const fn entry_offset(part: Part) -> u64 {
    (header::PARTS + part as usize * PART_BYTES) as u64
}

/// Allocates zeros, which take no memory until they are written to; `offset` is used in the error message.
pub(super) fn zeros(offset: u64, length: u64) -> Result<Vec<u8>> {
    // A file with holes can be larger than memory.
    let no_room = |_| Error::Io { offset, length, source: std::io::ErrorKind::OutOfMemory.into() };
    let wanted = usize::try_from(length).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(no_room)?;
    Ok(vec![0; wanted])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::HEADER_BYTES;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Sparse file of 4 GiB with few allocated bytes, which counts the bytes read.
    struct Holes {
        header: Vec<u8>,
        data: (u64, Vec<u8>),
        read: AtomicU64,
    }

    impl Source for Holes {
        fn size(&self) -> std::io::Result<u64> {
            Ok(4 << 30)
        }

        fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
            self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            let stored = if offset < self.data.0 { (0, &self.header) } else { (self.data.0, &self.data.1) };
            stored.1.read_exact_at(offset - stored.0, buffer)
        }

        fn allocated(&self) -> std::io::Result<u64> {
            Ok(8192)
        }

        fn stored(&self, offset: u64) -> std::io::Result<Option<Range<u64>>> {
            let data = self.data.0..self.data.0 + self.data.1.len() as u64;
            Ok([0..4096, data].into_iter().find(|stored| offset < stored.end))
        }
    }

    fn with(part: Part, entry: [u64; 3], data: u64) -> Holes {
        let mut header = vec![0; HEADER_BYTES];
        let at = entry_offset(part) as usize;
        header[at..at + PART_BYTES].copy_from_slice(&entry.map(u64::to_le_bytes).concat());
        Holes { header, data: (data, vec![7; 4096]), read: AtomicU64::new(0) }
    }

    #[test]
    fn holes_are_not_read() {
        let data = (65536 + (1_u64 << 30)) as usize;
        let source = with(Part::Arena, [65536, 2 << 30, 2 << 30], data as u64);
        let Sparse { bytes, stored } = SpoolReader(&source).copy(Part::Arena).unwrap();
        assert_eq!((bytes.len(), stored), (2 << 30, std::iter::once((1 << 30)..(1 << 30) + 4096).collect()));
        assert_eq!((bytes[1 << 30], bytes[(1 << 30) + 4095], bytes[(1 << 30) + 4096]), (7, 7, 0));
        assert!(source.read.into_inner() < 10_000);
    }

    #[test]
    fn a_journal_is_no_longer_than_the_tracer_makes_it() {
        let source = with(Part::Journal, [65536, 2 << 30, 2 << 30], 1 << 30);
        assert!(matches!(SpoolReader(&source).copy(Part::Journal), Err(Error::Limit { .. })));
    }

    #[test]
    fn what_is_used_and_not_in_the_file_is_missing() {
        for (entry, missing) in [
            ([65536, 1 << 40, 1000], 0),
            // Bytes past the end of the file count as missing only if they are in use.
            ([(4 << 30) - 1000, 2000, 1000], 0),
            ([(4 << 30) - 1000, 2000, 1001], 1),
            ([(4 << 30) + 1000, 2000, 1500], 1500),
            ([(4 << 30) + 1000, 2000, u64::MAX], 2000),
        ] {
            assert_eq!(SpoolReader(&with(Part::Arena, entry, 1 << 30)).missing().unwrap(), missing, "{entry:?}");
        }
    }
}
