//! Where the parts of a spool lie in its file, and how they are read.

use super::parts::u64_at;
use super::{PART_BYTES, Part, header};
use crate::error::{Error, Result};
use crate::limits;
use crate::read::Source;

/// The spool to read from.
pub(super) struct SpoolReader<'a, S: ?Sized>(pub(super) &'a S);

impl<S: Source + ?Sized> SpoolReader<'_, S> {
    /// Where a part lies, and how much of it is in use by now.
    pub(super) fn part(&self, part: Part) -> Result<(u64, u64)> {
        let mut entry = [0; PART_BYTES];
        let at = (header::PARTS + part as usize * PART_BYTES) as u64;
        self.read(at, &mut entry)?;
        let (offset, capacity, used) = (u64_at(&entry, 0), u64_at(&entry, 8), u64_at(&entry, 16));
        let size = self.0.size().map_err(|source| Error::Io { offset: 0, length: 0, source })?;
        let length = used.min(capacity).min(size.saturating_sub(offset));
        limits::check("bytes of a spool's part", length, limits::SPOOL_PART_BYTES, at)?;
        Ok((offset, length))
    }

    /// Bytes of a part that are not in use yet.
    pub(super) fn room(&self, part: Part) -> Result<u64> {
        let mut entry = [0; PART_BYTES];
        self.read((header::PARTS + part as usize * PART_BYTES) as u64, &mut entry)?;
        Ok(u64_at(&entry, 8).saturating_sub(u64_at(&entry, 16)))
    }

    /// Parts do not overlap, so together they are no longer than the file.
    pub(super) fn check(&self) -> Result<()> {
        let mut unclaimed = self.0.size().map_err(|source| Error::Io { offset: 0, length: 0, source })?;
        for part in [Part::Journal, Part::Arena, Part::Scratch, Part::Folded, Part::Landing, Part::Meetings] {
            unclaimed = unclaimed.checked_sub(self.part(part)?.1).ok_or_else(|| Error::Malformed {
                what: "a spool",
                offset: (header::PARTS + part as usize * PART_BYTES) as u64,
                why: "its parts are longer than the file together".into(),
            })?;
        }
        Ok(())
    }

    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let length = into.len() as u64;
        self.0.read_exact_at(offset, into).map_err(|source| Error::Io { offset, length, source })
    }

    /// Bytes of a part from `at` on.
    pub(super) fn fill(&self, part: Part, at: usize, into: &mut [u8]) -> Result<()> {
        self.read(self.part(part)?.0 + at as u64, into)
    }

    /// As much of a part as is in use by now.
    pub(super) fn copy(&self, part: Part) -> Result<Vec<u8>> {
        let (offset, length) = self.part(part)?;
        // A file with holes can be longer than memory.
        let no_room = |_| Error::Io { offset, length, source: std::io::ErrorKind::OutOfMemory.into() };
        let (mut bytes, wanted) = (Vec::new(), usize::try_from(length).unwrap_or(usize::MAX));
        bytes.try_reserve_exact(wanted).map_err(no_room)?;
        bytes.resize(wanted, 0);
        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }
}
