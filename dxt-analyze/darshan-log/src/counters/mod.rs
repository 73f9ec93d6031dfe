//! Counter records of POSIX, MPI-IO, STDIO, HDF5, PnetCDF and DAOS: one record per file and rank, or one record for a file that all ranks
//! share. Records of older versions are converted to the newest version.

mod daos;
pub(crate) mod layout;
mod libraries;
mod names;

use crate::bytes::Endian;
use crate::module::Module;
use crate::stream::Stream;
use layout::Layout;
use std::io::{Read, Seek};

/// Darshan's counters of one file, for one rank or aggregated over all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRecord {
    /// Record id, the hash of the file's name; [`crate::Log::names`] has the file's name.
    pub id: u64,
    /// MPI rank; -1 if the record aggregates all ranks.
    pub rank: i64,
    /// Record id of the file that contains the data set or variable, in records of H5D (0 in version 1) and PNETCDF_VAR; else `None`.
    pub file_id: Option<u64>,
    /// Location of the file or object on DAOS, in records of DFS and DAOS; else `None`.
    pub daos: Option<DaosPlace>,
    /// Integer counters in the order of [`int_names`]; -1 for a counter that was not monitored.
    pub ints: Vec<i64>,
    /// Floating-point counters in the order of [`float_names`], in seconds except for variances.
    pub floats: Vec<f64>,
}

/// Location of a file or object on DAOS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaosPlace {
    /// UUID of the DAOS pool.
    pub pool: [u8; 16],
    /// UUID of the DAOS container.
    pub container: [u8; 16],
    /// Upper and lower half of the DAOS object id, in records of the DAOS module, which have no names; else `None`.
    pub object: Option<(u64, u64)>,
}

impl DaosPlace {
    /// Decodes the location from `tail`, the bytes after the counters of a record.
    fn decode(tail: &[u8], endian: Endian) -> Option<Self> {
        let (pool, rest) = tail.split_first_chunk()?;
        let (container, object) = rest.split_first_chunk()?;
        let object = (object.len() >= 16).then(|| (endian.u64(object), endian.u64(&object[8..])));
        Some(Self { pool: *pool, container: *container, object })
    }

    /// Returns pool and container in the form that `darshan-parser` prints instead of a mount point.
    #[must_use]
    pub fn pool_and_container(&self) -> String {
        format!("{}:{}", uuid(&self.pool), uuid(&self.container))
    }
}

/// Formats 16 bytes as a UUID.
#[must_use]
pub fn uuid(bytes: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

/// Suffixes of the names of access-size counters, as in `POSIX_SIZE_READ_0_100`. Upper bounds are inclusive; K is 1,024.
pub const SIZE_NAMES: [&str; 10] =
    ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"];

/// Returns the names of a module's integer counters in record order; empty for modules without counter records.
#[must_use]
pub fn int_names(module: Module) -> &'static [&'static str] {
    layout::counter_names(module).0
}

/// Returns the names of a module's floating-point counters in record order; empty for modules without counter records.
#[must_use]
pub fn float_names(module: Module) -> &'static [&'static str] {
    layout::counter_names(module).1
}

impl CounterRecord {
    /// Creates a record of `module` in which all counters are 0; returns `None` for modules without counter records.
    #[must_use]
    pub fn zero(module: Module, id: u64, rank: i64) -> Option<Self> {
        let layout = Layout::of(module, module.newest_version())?;
        let (ints, floats) = (vec![0; layout.ints], vec![0.0; layout.floats]);
        let daos = DaosPlace::decode(&vec![0; layout.tail], Endian::Little);
        Some(Self { id, rank, file_id: layout.file_id.then_some(0), daos, ints, floats })
    }

    /// Returns the integer counter `name`, such as `POSIX_BYTES_READ`; `None` if the module has no such counter.
    #[must_use]
    pub fn int(&self, module: Module, name: &str) -> Option<i64> {
        self.ints.get(int_names(module).iter().position(|&known| known == name)?).copied()
    }

    /// Returns the floating-point counter `name`, such as `POSIX_F_READ_TIME`; `None` if the module has no such counter.
    #[must_use]
    pub fn float(&self, module: Module, name: &str) -> Option<f64> {
        self.floats.get(float_names(module).iter().position(|&known| known == name)?).copied()
    }
}

/// Iterator over the counter records of one module in the order of the log. It ends early if the log is damaged, which
/// [`crate::Log::problems`] then reports.
pub struct Counters<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    module: Module,
    version: u32,
    layout: Layout,
    /// Number of extra bytes in each record of a modified Darshan; they are skipped.
    extra: usize,
}

impl<'a, R: Read + Seek> Counters<'a, R> {
    pub(crate) fn new(
        stream: Stream<'a, R>,
        endian: Endian,
        module: Module,
        version: u32,
        extra: usize,
    ) -> Option<Self> {
        let layout = Layout::of(module, version)?;
        Some(Self { stream, endian, module, version, layout, extra })
    }
}

impl<R: Read + Seek> Iterator for Counters<'_, R> {
    type Item = CounterRecord;

    fn next(&mut self) -> Option<CounterRecord> {
        loop {
            let bytes = self.stream.head("a counter record", self.layout.bytes() + self.extra)?;
            let endian = self.endian;
            let (head, rest) = bytes.split_at(if self.layout.file_id { 24 } else { 16 });
            let (ints, rest) = rest.split_at(8 * self.layout.ints);
            let (floats, rest) = rest.split_at(8 * self.layout.floats);
            let mut record = CounterRecord {
                id: endian.u64(head),
                rank: endian.i64(&head[8..]),
                file_id: match self.module {
                    Module::H5D | Module::PnetcdfVar => Some(endian.u64(head.get(16..).unwrap_or_default())),
                    _ => None,
                },
                daos: DaosPlace::decode(&rest[..self.layout.tail], endian),
                ints: ints.chunks_exact(8).map(|field| endian.i64(field)).collect(),
                floats: floats.chunks_exact(8).map(|field| endian.f64(field)).collect(),
            };
            if layout::upgrade(self.module, self.version, &mut record.ints, &mut record.floats) {
                return Some(record);
            }
        }
    }
}
