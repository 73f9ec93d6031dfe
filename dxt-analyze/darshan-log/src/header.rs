//! The header, the only part of a log that is never compressed: where the regions lie, and which versions they have.
//!
//! Two layouts: 1,328 bytes with 64 places since 3.41, 360 bytes with 16 places before. Old places are moved to those of
//! 3.41 here, so that nothing else need know of them.

use crate::bytes::{Endian, until_nul};
use crate::error::{Error, Problem, Result};
use crate::module::{Module, PLACES};

/// The number at offset 8 that makes a file a log and tells its byte order.
pub const MAGIC: u64 = 6_567_223;
/// Size of the header since 3.41, in bytes.
pub const HEADER_BYTES: usize = 1328;
/// Size of the header before 3.41, in bytes.
pub const OLD_HEADER_BYTES: usize = 360;
const OLD_PLACES: usize = 16;
const SUPPORTED: &str = "3.00, 3.10, 3.20, 3.21, 3.41";

/// Version of the log format. It is not Darshan's release number: 3.41 is written by releases 3.4.1 to 3.5.0 at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Version {
    /// Releases 3.0.x.
    V3_00,
    /// Releases 3.1.x.
    V3_10,
    /// Release 3.2.0.
    V3_20,
    /// Releases 3.2.1 to 3.4.0.
    V3_21,
    /// Releases since 3.4.1.
    V3_41,
}

impl Version {
    const ALL: [Self; 5] = [Self::V3_00, Self::V3_10, Self::V3_20, Self::V3_21, Self::V3_41];

    /// As the header has it.
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

    /// Whether counters may be corrupt: Darshan's release 3.2.0, which alone wrote 3.20, damaged those of common accesses and
    /// perhaps those before them. Its tools warn of it.
    #[must_use]
    pub fn has_doubtful_counters(self) -> bool {
        self == Self::V3_20
    }

    /// The place in a 3.41 header of what is at `place` in a header of this version.
    fn place_since_3_41(self, place: usize) -> usize {
        match self {
            // No place for H5D nor PNETCDF_VAR yet.
            Self::V3_00 | Self::V3_10 if place >= 5 => place + 2,
            Self::V3_00 | Self::V3_10 if place == 4 => place + 1,
            // No place for PNETCDF_VAR yet.
            Self::V3_20 | Self::V3_21 if place >= 6 => place + 1,
            _ => place,
        }
    }
}

/// How the regions are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// zlib streams, as the runtime writes.
    Zlib,
    /// bzip2 streams, as `darshan-convert --bzip2` writes.
    Bzip2,
    /// Raw bytes.
    None,
}

/// Where a region lies in the file; `length` 0 means that it is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// First byte, from the start of the file.
    pub offset: u64,
    /// Compressed length in bytes, as far as the file has it.
    pub length: u64,
}

impl Region {
    /// The first byte behind it.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// One place of the module table that says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleEntry {
    /// Its place in a 3.41 header.
    pub place: usize,
    /// The module; `None` if the place had no meaning when this reader was written.
    pub module: Option<Module>,
    /// Where its records lie; `length` 0 if it has none and is only said to be partial.
    pub region: Region,
    /// Version of its records.
    pub version: u32,
    /// Whether it is incomplete: the runtime ran out of memory for its records and dropped some.
    pub partial: bool,
}

/// A log's header.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Header {
    /// Version of the log format.
    pub version: Version,
    /// Byte order of every number in the log.
    pub endian: Endian,
    /// How the regions are compressed.
    pub compression: Compression,
    /// Where the job region lies: it has no entry of its own, but begins behind the header and ends where the next begins.
    pub job: Region,
    /// Where the names lie.
    pub names: Region,
    /// The places of the module table that say something, ascending.
    pub modules: Vec<ModuleEntry>,
}

impl Header {
    /// Decodes the first bytes of a file of `size` bytes: [`HEADER_BYTES`] of them, or all if there are fewer.
    /// A region that reaches behind the end of the file is cut there, and said so in `problems`.
    ///
    /// # Errors
    /// [`Error::NotALog`], [`Error::Version`], [`Error::Compression`], [`Error::Truncated`].
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

    /// The entry of a module, if the log has it or says that it is partial.
    #[must_use]
    pub fn module(&self, module: Module) -> Option<&ModuleEntry> {
        self.modules.iter().find(|entry| entry.module == Some(module))
    }
}

/// The byte order of a log that begins with `bytes`.
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

/// Cuts a region at the end of the file.
fn inside(what: &'static str, region: Region, size: u64, problems: &mut Vec<Problem>) -> Region {
    if region.length == 0 || region.offset.checked_add(region.length).is_some_and(|end| end <= size) {
        return region;
    }
    let (offset, available) = (region.offset, size.saturating_sub(region.offset));
    problems.push(Problem { offset, error: Error::Truncated { what, offset, needed: region.length, available } });
    Region { offset, length: available }
}

/// The job region ends where the names begin, or without names the first module, or without any the file.
fn job_region(begin: u64, names: Region, modules: &[ModuleEntry], size: u64, problems: &mut Vec<Problem>) -> Region {
    let first_module = || modules.iter().map(|entry| entry.region.offset).find(|&offset| offset > 0);
    let end = if names.offset > 0 { names.offset } else { first_module().unwrap_or(size) };
    let region = Region { offset: begin, length: end.saturating_sub(begin) };
    if end < begin {
        let why = format!("it would end at {end}, before it begins");
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
