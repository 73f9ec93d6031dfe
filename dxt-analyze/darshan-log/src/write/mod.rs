//! Writer of logs in format 3.41, for PyDarshan and for Darshan's tools of releases 3.4.1 to 3.5.0.
//!
//! Modules are written one after another in the order of the format, and records are streamed: no module is held in memory. Module versions
//! are the newest that released tools read: POSIX 4, MPI-IO 3, STDIO 2, LUSTRE 1 or 2, DXT_POSIX 1, DXT_MPIIO 2 and HEATMAP 1; DXT with
//! thread ids has newer versions, which no release reads yet. Numbers are little-endian; each region is one zlib stream.
//!
//! ```
//! # fn main() -> Result<(), darshan_log::write::Error> {
//! use darshan_log::write::{DxtVersion, Writer};
//! use darshan_log::{Api, DxtRecord, Job, Mount, Segment, record_id};
//! let mut job = Job::default();
//! (job.nprocs, job.exe) = (1, "./app".into());
//! job.metadata.push(("lib_ver".into(), "3.5.0".into()));
//! let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
//! let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, [b"/data/x"])?;
//! writer.dxt(Api::Posix, DxtVersion::Plain, |dxt| {
//!     let (id, hostname) = (record_id(b"/data/x"), "node1".into());
//!     dxt.record(&DxtRecord { id, rank: 0, hostname, write_count: 1, read_count: 0 })?;
//!     dxt.segments(&[Segment { offset: 0, length: 4096, start: 0.25, end: 0.5, thread: None }])
//! })?;
//! let log = writer.finish()?.into_inner();
//! assert_eq!(log[..4], *b"3.41");
//! # Ok(())
//! # }
//! ```

mod dxt;
mod error;
mod job;
mod records;
mod region;

use crate::bytes::Text;
use crate::counters::CounterRecord;
use crate::counters::layout::Layout;
use crate::dxt::Api;
use crate::hash::record_id;
use crate::header::{HEADER_BYTES, MAGIC, Region};
use crate::heatmap::HeatmapRecord;
use crate::job::Job;
use crate::lustre::LustreRecord;
use crate::module::Module;
use crate::mounts::Mount;
pub use dxt::{DxtVersion, DxtWriter};
pub use error::{Error, Result};
pub use records::LustreVersion;
use region::RegionWriter;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Borrow;
use std::io::{Seek, SeekFrom, Write};

/// Maximum length of a record's name, in bytes: libdarshan reads names into a buffer of 4,096 bytes, including the NUL.
const NAME_BYTES: u64 = 4095;
/// Byte offset, in a header of format 3.41, of the bit mask of modules with incomplete records.
const PARTIAL_AT: usize = 24;
/// Byte offset, in a header of format 3.41, of the location of the names region.
const NAMES_AT: usize = 32;
/// Byte offset, in a header of format 3.41, of the table of the modules' regions.
const MODULES_AT: usize = 48;
/// Byte offset, in a header of format 3.41, of the table of the modules' record versions.
const VERSIONS_AT: usize = 1072;

/// Writer of one log. Before [`Self::finish`], the file has no header and is not a valid log.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    position: u64,
    names: Region,
    modules: Vec<(Module, u32, Region)>,
    partial: u64,
    ids: FxHashSet<u64>,
    mounts_left_out: usize,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a log at the start of `out`, which must be empty, and writes everything before the modules.
    ///
    /// All fields of `job` are written except `run_time`, which follows from start and end. PyDarshan requires the metadata key `lib_ver`.
    /// Too long command lines are truncated, and mounts that do not fit are omitted, see [`Self::mounts_left_out`].
    ///
    /// `names` must contain the name of every record that will be written; a record's id is the [`record_id`] of the name. Heat maps need
    /// the name `heatmap:POSIX`, `heatmap:MPIIO` or `heatmap:STDIO`.
    ///
    /// # Errors
    /// Returns [`Error::NoMount`] or [`Error::NoLibraryVersion`] if `mounts` or `lib_ver` is missing; [`Error::BadText`] for texts that are
    /// empty or contain a byte that would end them (NULs, line breaks except in names, `=` in metadata keys, blanks in mounts);
    /// [`Error::TooLong`] for a name over 4,095 bytes, metadata over 1,023 or mounts that are all too long; [`Error::SameId`] if two names
    /// have the same record id; and [`Error::Io`] if writing fails.
    pub fn new<N: AsRef<[u8]>>(
        mut out: W,
        job: &Job,
        mounts: &[Mount],
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self> {
        let (bytes, mounts_left_out) = job::encode(job, mounts)?;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&[0; HEADER_BYTES])?;
        let mut position = HEADER_BYTES as u64;
        let mut region = RegionWriter::new(&mut out, "the job region");
        region.put(&bytes)?;
        position += region.finish()?;
        let mut region = RegionWriter::new(&mut out, "the names region");
        let ids = put_names(&mut region, names)?;
        // The job region ends where the names begin, even if the log has no names.
        let names = Region { offset: position, length: region.finish()? };
        position = names.end();
        Ok(Self { out, position, names, modules: Vec::new(), partial: 0, ids, mounts_left_out })
    }

    /// Returns the number of mounts omitted for lack of space: command line and mount table share 3,015 bytes.
    #[must_use]
    pub fn mounts_left_out(&self) -> usize {
        self.mounts_left_out
    }

    /// Marks a module's records as incomplete in the header. May be called at any time before [`Self::finish`].
    pub fn set_partial(&mut self, module: Module) {
        self.partial |= 1 << module.place();
    }

    /// Writes the counter records of one module. Each record must have as many counters as the module's newest version. Without records,
    /// the log will not contain the module.
    ///
    /// # Errors
    /// Returns [`Error::Order`] for a module out of order, [`Error::NotWritten`] for BG/Q and for modules without counter records,
    /// [`Error::NoName`] or [`Error::Shape`] for invalid records, [`Error::TooLong`] for a region of 2 GiB or more in the file, and
    /// [`Error::Io`] if writing fails. After an error the log is unusable.
    pub fn counters<T: Borrow<CounterRecord>>(
        &mut self,
        module: Module,
        records: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        if Layout::of(module, 1).is_none() || module == Module::BgQ {
            return Err(Error::NotWritten { module });
        }
        let mut region = begin(&mut self.out, &self.modules, module)?;
        for record in records {
            // Records of DAOS objects have no names.
            if module != Module::Daos {
                named(&self.ids, module, record.borrow().id)?;
            }
            records::counters(&mut region, module, record.borrow())?;
        }
        let length = region.finish()?;
        self.end(module, module.newest_version(), length);
        Ok(())
    }

    /// Writes stripe layouts. A log with stripe layouts and DXT_POSIX should also contain DXT_MPIIO, because DXT Explorer 0.4 requires it.
    ///
    /// # Errors
    /// Returns the errors of [`Self::counters`], [`Error::Shape`] for a layout of version 1 that does not have exactly one component, and
    /// [`Error::TooLong`] if the name of an OST pool exceeds 15 bytes.
    pub fn lustre<T: Borrow<LustreRecord>>(
        &mut self,
        version: LustreVersion,
        records: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let mut region = begin(&mut self.out, &self.modules, Module::Lustre)?;
        for record in records {
            named(&self.ids, Module::Lustre, record.borrow().id)?;
            records::lustre(&mut region, version, record.borrow())?;
        }
        let length = region.finish()?;
        self.end(Module::Lustre, if version == LustreVersion::V1 { 1 } else { 2 }, length);
        Ok(())
    }

    /// Writes the DXT records (reads and writes) of one API. `fill` receives the writer of the records and must write all of them.
    ///
    /// # Errors
    /// Returns the errors of [`Self::counters`], of [`DxtWriter`] and of `fill`.
    pub fn dxt<E: From<Error>>(
        &mut self,
        api: Api,
        version: DxtVersion,
        fill: impl FnOnce(&mut DxtWriter<'_, W>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let with_threads = version == DxtVersion::WithThreads;
        let (module, version) = match api {
            Api::Posix => (Module::DxtPosix, if with_threads { 2 } else { 1 }),
            Api::MpiIo => (Module::DxtMpiIo, if with_threads { 3 } else { 2 }),
        };
        let region = begin(&mut self.out, &self.modules, module)?;
        let mut dxt = DxtWriter::new(region, module, &self.ids, with_threads);
        fill(&mut dxt)?;
        dxt.complete()?;
        let length = dxt.region.finish()?;
        self.end(module, version, length);
        Ok(())
    }

    /// Writes heat maps. All heat maps of one API need equal bin widths and numbers of bins.
    ///
    /// # Errors
    /// Returns the errors of [`Self::counters`].
    pub fn heatmaps<T: Borrow<HeatmapRecord>>(&mut self, records: impl IntoIterator<Item = T>) -> Result<()> {
        let mut region = begin(&mut self.out, &self.modules, Module::Heatmap)?;
        for record in records {
            named(&self.ids, Module::Heatmap, record.borrow().id)?;
            records::heatmap(&mut region, record.borrow())?;
        }
        let length = region.finish()?;
        self.end(Module::Heatmap, Module::Heatmap.newest_version(), length);
        Ok(())
    }

    /// Writes the header, without which the file is not a valid log; returns the output.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if writing fails.
    pub fn finish(mut self) -> Result<W> {
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(b"3.41");
        header[8..16].copy_from_slice(&MAGIC.to_le_bytes());
        header[PARTIAL_AT..PARTIAL_AT + 8].copy_from_slice(&self.partial.to_le_bytes());
        put_region(&mut header, NAMES_AT, self.names);
        for &(module, version, region) in &self.modules {
            put_region(&mut header, MODULES_AT + 16 * module.place(), region);
            let at = VERSIONS_AT + 4 * module.place();
            header[at..at + 4].copy_from_slice(&version.to_le_bytes());
        }
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Adds a written region to the table of modules in the header, unless the region is empty.
    fn end(&mut self, module: Module, version: u32, length: u64) {
        let region = Region { offset: self.position, length };
        if length > 0 {
            self.modules.push((module, version, region));
            self.position = region.end();
        }
    }
}

/// Begins the region of `module`, which must follow all modules written so far in the order of the header.
fn begin<'w, W: Write>(
    out: &'w mut W,
    modules: &[(Module, u32, Region)],
    module: Module,
) -> Result<RegionWriter<'w, W>> {
    match modules.last() {
        Some(&(last, ..)) if last >= module => Err(Error::Order { module, last }),
        _ => Ok(RegionWriter::new(out, module.name())),
    }
}

/// Fails unless record id `id` has a name.
fn named(ids: &FxHashSet<u64>, module: Module, id: u64) -> Result<()> {
    if ids.contains(&id) { Ok(()) } else { Err(Error::NoName { module, id }) }
}

/// Writes the names with their record ids, each name once; returns the record ids.
fn put_names<W: Write, N: AsRef<[u8]>>(
    region: &mut RegionWriter<'_, W>,
    names: impl IntoIterator<Item = N>,
) -> Result<FxHashSet<u64>> {
    let mut seen: FxHashMap<u64, Text> = FxHashMap::default();
    for name in names {
        let name = Text::from(name.as_ref());
        job::plain("a name", &name, b"\0")?;
        error::check("a name", name.as_bytes().len() as u64, NAME_BYTES)?;
        let id = record_id(name.as_bytes());
        if let Some(first) = seen.get(&id) {
            if *first != name {
                return Err(Error::SameId { id, first: first.to_string(), second: name.to_string() });
            }
            continue;
        }
        region.put_u64(id)?;
        region.put(name.as_bytes())?;
        region.put(&[0])?;
        seen.insert(id, name);
    }
    Ok(seen.into_keys().collect())
}

fn put_region(header: &mut [u8; HEADER_BYTES], at: usize, region: Region) {
    header[at..at + 8].copy_from_slice(&region.offset.to_le_bytes());
    header[at + 8..at + 16].copy_from_slice(&region.length.to_le_bytes());
}
