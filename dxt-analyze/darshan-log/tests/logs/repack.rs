//! Copies of real logs with another compression or a changed header.

use darshan_log::header::{Compression, Region, Version};
use darshan_log::{Endian, Log};
use std::io::{Cursor, Read, Write};

pub(crate) struct Header {
    pub(crate) bytes: Vec<u8>,
    endian: Endian,
    new: bool,
}

impl Header {
    /// Decodes the header of a log; returns `None` if `log` is not a log.
    pub(crate) fn of(log: &[u8]) -> Option<Self> {
        let header = Log::new(Cursor::new(log)).ok()?.header().clone();
        let new = header.version >= Version::V3_41;
        let bytes = log.get(..if new { 1328 } else { 360 })?.to_vec();
        Some(Self { bytes, endian: header.endian, new })
    }

    /// Returns the number of entries in the header's module table.
    pub(crate) fn places(&self) -> usize {
        if self.new { 64 } else { 16 }
    }

    /// Returns the header offset of the entry for the names region.
    pub(crate) fn names_at(&self) -> usize {
        if self.new { 32 } else { 24 }
    }

    /// Returns the header offset of entry `place` in the module table.
    pub(crate) fn map_at(&self, place: usize) -> usize {
        self.names_at() + 16 + 16 * place
    }

    /// Returns the header offset of the version of the module with index `place`.
    pub(crate) fn version_at(&self, place: usize) -> usize {
        self.map_at(self.places()) + 4 * place
    }

    pub(crate) fn region(&self, at: usize) -> Region {
        Region { offset: self.field(at), length: self.field(at + 8) }
    }

    fn field(&self, at: usize) -> u64 {
        let bytes = self.bytes[at..at + 8].try_into().expect("8 bytes");
        if self.endian == Endian::Big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    pub(crate) fn set_u64(&mut self, at: usize, value: u64) {
        let bytes = if self.endian == Endian::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[at..at + 8].copy_from_slice(&bytes);
    }

    pub(crate) fn set_u32(&mut self, at: usize, value: u32) {
        let bytes = if self.endian == Endian::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[at..at + 4].copy_from_slice(&bytes);
    }

    /// Sets the bit that marks a module's records as incomplete.
    pub(crate) fn set_partial(&mut self, place: usize) {
        if self.new { self.set_u64(24, 1 << place) } else { self.set_u32(20, 1 << place) }
    }
}

/// Returns a copy of a zlib log in which all regions have another compression; `None` if `log` is not a log or not compressed with zlib.
pub(crate) fn repacked(log: &[u8], compression: Compression) -> Option<Vec<u8>> {
    let mut header = Header::of(log)?;
    let job = Log::new(Cursor::new(log)).ok()?.header().job;
    if header.bytes[16] != 0 {
        return None;
    }
    header.bytes[16] = match compression {
        Compression::Zlib => 0,
        Compression::Bzip2 => 1,
        Compression::None => 2,
    };
    let modules = (0..header.places()).map(|place| header.map_at(place));
    let maps: Vec<usize> = std::iter::once(header.names_at()).chain(modules).collect();
    let mut body = pack(&unpack(log, job)?, compression);
    for at in maps {
        let region = header.region(at);
        if region.length > 0 {
            let bytes = pack(&unpack(log, region)?, compression);
            header.set_u64(at, (header.bytes.len() + body.len()) as u64);
            header.set_u64(at + 8, bytes.len() as u64);
            body.extend_from_slice(&bytes);
        }
    }
    header.bytes.extend_from_slice(&body);
    Some(header.bytes)
}

pub(crate) fn unpack(log: &[u8], region: Region) -> Option<Vec<u8>> {
    let mut rest = log.get(region.offset as usize..region.end() as usize)?;
    let mut bytes = Vec::new();
    while !rest.is_empty() {
        let mut decoder = flate2::bufread::ZlibDecoder::new(rest);
        decoder.read_to_end(&mut bytes).ok()?;
        rest = decoder.into_inner();
    }
    Some(bytes)
}

pub(crate) fn pack(bytes: &[u8], compression: Compression) -> Vec<u8> {
    // Two streams, as in a log of two ranks.
    let halves = bytes.split_at(bytes.len() / 2);
    let mut packed = Vec::new();
    for half in [halves.0, halves.1] {
        match compression {
            Compression::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(&mut packed, flate2::Compression::default());
                encoder.write_all(half).expect("writing to memory");
            }
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(&mut packed, bzip2::Compression::best());
                encoder.write_all(half).expect("writing to memory");
            }
            Compression::None => packed.extend_from_slice(half),
        }
    }
    packed
}
