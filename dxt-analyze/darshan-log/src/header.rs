//! Header of a log: offsets and versions of the regions. The header is the only part that is never compressed.
//!
//! The header has two layouts: 1,328 bytes with 64 module indices since format 3.41, and 360 bytes with 16 indices before. Old indices are
//! converted to those of format 3.41 here, so that no other code needs to know them.

use crate::bytes::{Endian, until_nul};
use crate::error::{Error, Problem, Result};
use crate::module::{Module, PLACES};

/// Magic number of a log, at offset 8; its byte order is the log's byte order.
pub const MAGIC: u64 = 6_567_223;
/// Size of the header since format 3.41, in bytes.
pub const HEADER_BYTES: usize = 1328;
/// Size of the header before format 3.41, in bytes.
pub const OLD_HEADER_BYTES: usize = 360;
const OLD_PLACES: usize = 16;
const SUPPORTED: &str = "3.00, 3.10, 3.20, 3.21, 3.41";

/// Version of the log format, which differs from Darshan's release number: releases 3.4.1 to 3.5.0 at least write format 3.41.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Version {
    /// Format 3.00, written by Darshan releases 3.0.x.
    V3_00,
    /// Format 3.10, written by Darshan releases 3.1.x.
    V3_10,
    /// Format 3.20, written by Darshan release 3.2.0.
    V3_20,
    /// Format 3.21, written by Darshan releases 3.2.1 to 3.4.0.
    V3_21,
    /// Format 3.41, written by Darshan releases since 3.4.1.
    V3_41,
}

impl Version {
    const ALL: [Self; 5] = [Self::V3_00, Self::V3_10, Self::V3_20, Self::V3_21, Self::V3_41];

    /// Returns the version in the notation of the header, such as `3.41`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V3_00 => "3.00",
            Self::V3_10 => "3.10",
            Self::V3_20 => "3.20",
            Self::V3_21 => "3.21",
            Self::V3_41 => "3.41",
        }
    }

    /// True if counters may be corrupt: Darshan's release 3.2.0, the only one that wrote format 3.20, damaged the counters of common
    /// accesses and perhaps counters before them. Darshan's tools warn about this too.
    #[must_use]
    pub fn has_doubtful_counters(self) -> bool {
        self == Self::V3_20
    }

    /// Converts a module index in a header of this version to the module's index in a header of format 3.41.
    fn place_since_3_41(self, place: usize) -> usize {
        match self {
            // Formats 3.00 and 3.10 have no index for H5D and PNETCDF_VAR.
            Self::V3_00 | Self::V3_10 if place >= 5 => place + 2,
            Self::V3_00 | Self::V3_10 if place == 4 => place + 1,
            // Formats 3.20 and 3.21 have no index for PNETCDF_VAR.
            Self::V3_20 | Self::V3_21 if place >= 6 => place + 1,
            _ => place,
        }
    }
}

/// Compression of a log's regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// One or more zlib streams, which the Darshan runtime writes.
    Zlib,
    /// One or more bzip2 streams, which `darshan-convert --bzip2` writes.
    Bzip2,
    /// No compression: regions are stored as they are.
    None,
}

/// Location of a region in the file; the region is absent if `length` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// File offset of the region's first byte.
    pub offset: u64,
    /// Length of the region as stored (compressed), in bytes; never beyond the end of the file.
    pub length: u64,
}

impl Region {
    /// Returns the file offset of the first byte after the region.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Entry in the header's table of modules, for a module that the log contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleEntry {
    /// Index of the module in a header of format 3.41.
    pub place: usize,
    /// Module; `None` if this reader does not know the index.
    pub module: Option<Module>,
    /// Location of the module's records; `length` is 0 if the module has no records and is only marked as partial.
    pub region: Region,
    /// Version of the module's records.
    pub version: u32,
    /// True if records are missing, because the Darshan runtime ran out of memory for the module.
    pub partial: bool,
}

/// Header of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// Version of the log format.
    pub version: Version,
    /// Byte order of all numbers in the log.
    pub endian: Endian,
    /// Compression of all regions.
    pub compression: Compression,
    /// Location of the job region. The header does not state it: the region begins after the header and ends where the next region begins.
    pub job: Region,
    /// Location of the region of names.
    pub names: Region,
    /// Entries of the modules that the log contains, in ascending order of their indices.
    pub modules: Vec<ModuleEntry>,
}

impl Header {
    /// Decodes the header from `bytes`, the first [`HEADER_BYTES`] of a file of `size` bytes or the whole file if it is shorter. Regions
    /// that extend past the end of the file are truncated there, which is added to `problems`.
    ///
    /// # Errors
    /// Returns [`Error::NotALog`], [`Error::Version`], [`Error::Compression`] or [`Error::Truncated`] if the bytes are not the header of a
    /// supported log.
    pub fn decode(bytes: &[u8], size: u64, problems: &mut Vec<Problem>) -> Result<Self> {
        let endian = byte_order(bytes)?;
        let version = version(bytes)?;
        let new = version == Version::V3_41;
        let needed = if new { HEADER_BYTES } else { OLD_HEADER_BYTES };
        if bytes.len() < needed {
            let available = bytes.len() as u64;
            return Err(Error::Truncated { what: "the header", offset: 0, needed: needed as u64, available });
        }
        let compression = match bytes[16] {
            0 => Compression::Zlib,
            1 => Compression::Bzip2,
            2 => Compression::None,
            found => return Err(Error::Compression { found }),
        };
        let (places, maps) = if new { (PLACES, 32) } else { (OLD_PLACES, 24) };
        let partial = if new { endian.u64(&bytes[24..]) } else { u64::from(endian.u32(&bytes[20..])) };
        let mut map = |what, at: usize| {
            let (offset, length) = (endian.u64(&bytes[at..]), endian.u64(&bytes[at + 8..]));
            inside(what, Region { offset, length }, size, problems)
        };
        let names = map("the names region", maps);
        let versions_at = maps + 16 + places * 16;
        let mut modules = Vec::new();
        for old in 0..places {
            let what = Module::at(version.place_since_3_41(old)).map_or("an unknown module", Module::name);
            let region = map(what, maps + 16 + old * 16);
            let partial = partial >> old & 1 == 1;
            if region.length == 0 && !partial {
                continue;
            }
            let place = version.place_since_3_41(old);
            let module_version = endian.u32(&bytes[versions_at + old * 4..]);
            modules.push(ModuleEntry { place, module: Module::at(place), region, version: module_version, partial });
        }
        let job = job_region(needed as u64, names, &modules, size, problems);
        Ok(Self { version, endian, compression, job, names, modules })
    }

    /// Returns the entry of `module` in the module table; `None` if the log neither contains the module nor marks it as partial.
    #[must_use]
    pub fn module(&self, module: Module) -> Option<&ModuleEntry> {
        self.modules.iter().find(|entry| entry.module == Some(module))
    }
}

/// Returns the byte order of a log that begins with `bytes`.
pub(crate) fn byte_order(bytes: &[u8]) -> Result<Endian> {
    let found = bytes.get(8..).unwrap_or_default();
    let found = &found[..found.len().min(8)];
    if found == MAGIC.to_le_bytes() {
        Ok(Endian::Little)
    } else if found == MAGIC.to_be_bytes() {
        Ok(Endian::Big)
    } else {
        Err(Error::NotALog { found: found.to_vec(), expected: MAGIC })
    }
}

fn version(bytes: &[u8]) -> Result<Version> {
    let found = until_nul(&bytes[..8]);
    Version::ALL
        .into_iter()
        .find(|version| version.as_str().as_bytes() == found)
        .ok_or_else(|| Error::Version { found: String::from_utf8_lossy(found).into_owned(), supported: SUPPORTED })
}

/// Truncates a region at the end of the file; adds a problem if the region extends past that end.
fn inside(what: &'static str, region: Region, size: u64, problems: &mut Vec<Problem>) -> Region {
    if region.length == 0 || region.offset.checked_add(region.length).is_some_and(|end| end <= size) {
        return region;
    }
    let (offset, available) = (region.offset, size.saturating_sub(region.offset));
    problems.push(Problem { offset, error: Error::Truncated { what, offset, needed: region.length, available } });
    Region { offset, length: available }
}

/// Returns the location of the job region, which ends where the names begin, or without names at the first module, or without modules at
/// the end of the file.
fn job_region(begin: u64, names: Region, modules: &[ModuleEntry], size: u64, problems: &mut Vec<Problem>) -> Region {
    let first_module = || modules.iter().map(|entry| entry.region.offset).find(|&offset| offset > 0);
    let end = if names.offset > 0 { names.offset } else { first_module().unwrap_or(size) };
    let region = Region { offset: begin, length: end.saturating_sub(begin) };
    if end < begin {
        let why = format!("its end at {end} is before its start");
        problems
            .push(Problem { offset: begin, error: Error::Malformed { what: "the job region", offset: begin, why } });
    }
    inside("the job region", region, size, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_places_move_to_those_of_3_41() {
        let place = |version: Version, old| Module::at(version.place_since_3_41(old));
        assert_eq!(place(Version::V3_10, 3), Some(Module::H5F));
        assert_eq!(place(Version::V3_10, 4), Some(Module::PnetcdfFile));
        assert_eq!(place(Version::V3_00, 5), Some(Module::BgQ));
        assert_eq!(place(Version::V3_10, 8), Some(Module::DxtPosix));
        assert_eq!(place(Version::V3_21, 4), Some(Module::H5D));
        assert_eq!(place(Version::V3_21, 5), Some(Module::PnetcdfFile));
        assert_eq!(place(Version::V3_20, 9), Some(Module::DxtPosix));
        assert_eq!(place(Version::V3_41, 10), Some(Module::DxtPosix));
    }

    #[test]
    fn what_is_no_log_is_refused_with_a_reason() {
        let decode = |bytes: &[u8]| Header::decode(bytes, bytes.len() as u64, &mut Vec::new());
        assert!(matches!(decode(b""), Err(Error::NotALog { .. })));
        assert!(matches!(decode(b"3.41\0\0\0\0wrong magic"), Err(Error::NotALog { .. })));
        let mut bytes = [0; 100];
        bytes[..4].copy_from_slice(b"4.00");
        bytes[8..16].copy_from_slice(&MAGIC.to_be_bytes());
        assert!(matches!(decode(&bytes), Err(Error::Version { found, .. }) if found == "4.00"));
        bytes[..4].copy_from_slice(b"3.41");
        assert!(matches!(decode(&bytes), Err(Error::Truncated { needed: 1328, available: 100, .. })));
    }
}
