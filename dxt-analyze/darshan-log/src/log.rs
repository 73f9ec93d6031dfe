//! Open log: header, job, mounts and names in memory, and readers for the log's modules.

use crate::counters::Counters;
use crate::counters::layout::Layout;
use crate::dxt::{self, Api, Dxt, SegmentKind};
use crate::error::{Error, Problem, Result};
use crate::fit::{Body, Fit, Probe};
use crate::header::{Compression, HEADER_BYTES, Header, ModuleEntry, Region};
use crate::heatmap::{self, Heatmaps};
use crate::job::Job;
use crate::limits;
use crate::lustre::{self, Layouts};
use crate::module::{KNOWN, Module};
use crate::mounts::Mounts;
use crate::names::Names;
use crate::packed::refuse_packed;
use crate::stream::Stream;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Module whose records are in the log, but which this reader skips.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Index of the module in a header of format 3.41.
    pub place: usize,
    /// Skipped module; `None` if this reader does not know the module's index.
    pub module: Option<Module>,
    /// Version of the module's records.
    pub version: u32,
    /// Reason for skipping the module.
    pub reason: SkipReason,
}

/// Reason why this reader skips a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// The module index is unknown to this reader.
    Unknown,
    /// The module is known, but this reader cannot decode its records.
    NotRead,
    /// The version of the records is 0 or newer than this reader.
    Version,
}

/// Contents of a log except for the records of its modules.
#[derive(Debug)]
#[non_exhaustive]
pub struct Info {
    /// Header with format version, byte order, compression, and file offsets of the regions.
    pub header: Header,
    /// Job description; all fields are zero or empty if the job region could not be read.
    pub job: Job,
    /// Mount table, with which the mount point of a file is found.
    pub mounts: Mounts,
    /// Names (mostly paths) by record id.
    pub names: Names,
    /// Regions before which a modified Darshan wrote zero bytes, with the number of these bytes. The regions in `header` begin after them.
    pub padding: Vec<(&'static str, u64)>,
    /// Detected record sizes by module index, each determined on first use.
    fits: [OnceLock<Option<Fit>>; KNOWN],
}

/// Log opened for reading. One module's reader at a time borrows the log; unreadable data is reported in [`Self::problems`].
#[derive(Debug)]
pub struct Log<R> {
    source: R,
    info: Arc<Info>,
    problems: Vec<Problem>,
}

impl Log<File> {
    /// Opens the log file at `path`.
    ///
    /// # Errors
    /// Returns [`Error::Io`] if `path` cannot be opened or is not a regular file, and the errors of [`Self::new`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let io = |source| Error::Io { offset: 0, source };
        // Opening a FIFO would block until its other end is opened.
        if !path.as_ref().metadata().map_err(io)?.is_file() {
            return Err(io(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file")));
        }
        Self::new(File::open(path).map_err(io)?)
    }
}

impl<B: AsRef<[u8]>> Log<Cursor<B>> {
    /// Opens a log whose bytes are in memory.
    ///
    /// # Errors
    /// Returns the errors of [`Self::new`].
    pub fn from_bytes(bytes: B) -> Result<Self> {
        Self::new(Cursor::new(bytes))
    }
}

impl<R: Read + Seek> Log<R> {
    /// Opens a log and reads header, job, mounts and names. Damage after the header is not an error but reported in [`Self::problems`].
    /// `source` needs no buffering.
    ///
    /// # Errors
    /// Returns [`Error::NotALog`], [`Error::Darshan2`], [`Error::Packed`], [`Error::Version`] or [`Error::Compression`] if the file is not
    /// a supported log, [`Error::Truncated`] if the header is incomplete, and [`Error::Io`] if reading fails.
    pub fn new(mut source: R) -> Result<Self> {
        let io = |source| Error::Io { offset: 0, source };
        refuse_packed(&mut source)?;
        let size = source.seek(SeekFrom::End(0)).map_err(io)?;
        source.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut bytes = Vec::new();
        source.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(io)?;
        let mut problems = Vec::new();
        let mut header = Header::decode(&bytes, size, &mut problems)?;
        let padding = skip_padding(&mut source, &mut header)?;
        let (job, mounts) = read_job(&mut source, &header, &mut problems).unwrap_or_default();
        let names = read_names(&mut source, &header, &mut problems);
        let fits = [const { OnceLock::new() }; KNOWN];
        Ok(Self { source, info: Arc::new(Info { header, job, mounts, names, padding, fits }), problems })
    }

    /// Opens the same log again, from another source of the same bytes. Header, job, mounts and names are shared, not read again.
    pub fn another<S: Read + Seek>(&self, source: S) -> Log<S> {
        Log { source, info: Arc::clone(&self.info), problems: Vec::new() }
    }

    /// Returns header, job, mounts and names, which remain accessible while a reader borrows the log. The result is cheap to clone.
    #[must_use]
    pub fn info(&self) -> Arc<Info> {
        Arc::clone(&self.info)
    }

    /// Returns the header of the log ([`Info::header`]).
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.info.header
    }

    /// Returns the log's job description ([`Info::job`]).
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.info.job
    }

    /// Returns the log's mount table ([`Info::mounts`]).
    #[must_use]
    pub fn mounts(&self) -> &Mounts {
        &self.info.mounts
    }

    /// Returns the log's names (mostly paths) by record id ([`Info::names`]).
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.info.names
    }

    /// Returns the parts of the log found unreadable so far; the modules' readers add more.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the modules whose records are in the log, but which this reader skips.
    #[must_use]
    pub fn skipped(&self) -> Vec<Skipped> {
        let entries = self.info.header.modules.iter().filter(|entry| entry.region.length > 0);
        entries
            .filter_map(|entry| {
                let reason = skip_reason(entry)?;
                Some(Skipped { place: entry.place, module: entry.module, version: entry.version, reason })
            })
            .collect()
    }

    /// Returns the modules with missing records: the Darshan runtime ran out of memory for them.
    pub fn partial(&self) -> impl Iterator<Item = &ModuleEntry> {
        self.info.header.modules.iter().filter(|entry| entry.partial)
    }

    /// Returns the modules whose record sizes differ from those of all Darshan releases, with the detected sizes; `None` if no size fits,
    /// so that the module is not read.
    pub fn unofficial(&mut self) -> Vec<(Module, Option<Fit>)> {
        let modules: Vec<Module> = self.info.header.modules.iter().filter_map(|entry| entry.module).collect();
        let known = self.problems.len();
        let mut out = Vec::new();
        for module in modules {
            let Some((region, version)) = self.readable(module) else { continue };
            let fit = self.fit(module, version, region);
            if fit.is_none_or(|fit| fit.extra > 0) {
                out.push((module, fit));
            }
        }
        self.problems.truncate(known);
        out
    }

    /// Returns a reader of the counter records of POSIX, MPI-IO, STDIO, H5F, H5D, PNETCDF_FILE, PNETCDF_VAR, DFS or DAOS; `None` if the log
    /// has no records of the module that this reader can decode. An unsupported version or an unknown layout is also reported in
    /// [`Self::problems`].
    pub fn counters(&mut self, module: Module) -> Option<Counters<'_, R>> {
        Layout::of(module, 1)?;
        let (region, version, fit) = self.records(module)?;
        let endian = self.info.header.endian;
        Counters::new(self.stream(module.name(), region), endian, module, version, fit.extra)
    }

    /// Returns a reader of the stripe layouts of files on Lustre; `None` under the conditions of [`Self::counters`].
    pub fn lustre(&mut self) -> Option<Layouts<'_, R>> {
        let (region, version, fit) = self.records(Module::Lustre)?;
        let endian = self.info.header.endian;
        Some(Layouts::new(self.stream(Module::Lustre.name(), region), endian, version, fit.bytes()))
    }

    /// Returns a reader of the heat maps (bytes per time bin, by rank and API); `None` under the conditions of [`Self::counters`].
    pub fn heatmaps(&mut self) -> Option<Heatmaps<'_, R>> {
        let (region, _, fit) = self.records(Module::Heatmap)?;
        let endian = self.info.header.endian;
        Some(Heatmaps::new(self.stream(Module::Heatmap.name(), region), endian, fit.bytes()))
    }

    /// Returns a reader of the segments (reads and writes) of API `api`; `None` under the conditions of [`Self::counters`].
    pub fn dxt(&mut self, api: Api) -> Option<Dxt<'_, R>> {
        let module = match api {
            Api::Posix => Module::DxtPosix,
            Api::MpiIo => Module::DxtMpiIo,
        };
        let (region, _, fit) = self.records(module)?;
        let (endian, kind) = (self.info.header.endian, fit.kind?);
        Some(Dxt::new(self.stream(module.name(), region), endian, kind, fit))
    }

    /// Returns a module's region, version and record sizes; `None` if the log lacks the module or the sizes are unknown.
    fn records(&mut self, module: Module) -> Option<(Region, u32, Fit)> {
        let (region, version) = self.readable(module)?;
        let fit = self.fit(module, version, region);
        if fit.is_none() {
            let (offset, length) = (region.offset, region.length);
            let known = |problem: &Problem| matches!(&problem.error, Error::UnknownLayout { module: known, .. } if *known == module);
            if !self.problems.iter().any(known) {
                self.problems.push(Problem { offset, error: Error::UnknownLayout { module, length } });
            }
        }
        Some((region, version, fit?))
    }

    /// Returns the detected record sizes of a module; `None` if no size fits.
    fn fit(&mut self, module: Module, version: u32, region: Region) -> Option<Fit> {
        let info = self.info();
        let slot = info.fits.get(module.place())?;
        if let Some(found) = slot.get() {
            return *found;
        }
        let (official, body) = match module {
            Module::DxtPosix | Module::DxtMpiIo => (dxt::HEAD_BYTES, Body::Segments(SegmentKind::of(module, version)?)),
            Module::Heatmap => (heatmap::HEAD_BYTES, Body::Bins),
            Module::Lustre if version == 1 => (lustre::HEAD_BYTES[0], Body::Osts),
            Module::Lustre => (lustre::HEAD_BYTES[1], Body::Components),
            _ => (Layout::of(module, version)?.bytes(), Body::Nothing),
        };
        let (source, compression) = (&mut self.source, info.header.compression);
        let open = |problems: &mut Vec<Problem>, walk: &mut dyn FnMut(&mut Stream<'_, R>)| {
            walk(&mut Stream::new(source, problems, compression, module.name(), region));
        };
        // Darshan stores no names for the records of BG/Q and DAOS.
        let has_names = !info.names.is_empty() && !matches!(module, Module::BgQ | Module::Daos);
        let found = Probe { info: &info, has_names, official, body, open }.find();
        *slot.get_or_init(|| found)
    }

    /// Returns a module's region and version; `None` if the log lacks the module or this reader does not support the version.
    fn readable(&mut self, module: Module) -> Option<(Region, u32)> {
        let entry = *self.info.header.module(module)?;
        if entry.region.length == 0 {
            return None;
        }
        if skip_reason(&entry).is_some() {
            let (found, supported) = (entry.version, module.newest_version());
            let offset = entry.region.offset;
            // Each module with an unsupported version is reported only once.
            let known = |problem: &Problem| matches!(&problem.error, Error::ModuleVersion { module: known, .. } if *known == module);
            if !self.problems.iter().any(known) {
                self.problems.push(Problem { offset, error: Error::ModuleVersion { module, found, supported } });
            }
            return None;
        }
        Some((entry.region, entry.version))
    }

    fn stream(&mut self, what: &'static str, region: Region) -> Stream<'_, R> {
        Stream::new(&mut self.source, &mut self.problems, self.info.header.compression, what, region)
    }

    /// Removes the problems from index `first` on. A first pass over a module found them, and the second pass will find them again.
    pub(crate) fn forget_problems_from(&mut self, first: usize) {
        self.problems.truncate(first);
    }
}

fn read_job<R: Read + Seek>(source: &mut R, header: &Header, problems: &mut Vec<Problem>) -> Option<(Job, Mounts)> {
    if header.job.length == 0 {
        return None;
    }
    let mut stream = Stream::new(source, problems, header.compression, "the job region", header.job);
    let mut bytes = stream.exact("the job", Job::fixed_bytes(header.version))?.to_vec();
    // Old logs lack the NUL after the text.
    let left = limits::JOB_BYTES - bytes.len();
    stream.rest("the command line and mounts", &mut bytes, left);
    Some(Job::decode(&bytes, header.version, header.endian))
}

fn read_names<R: Read + Seek>(source: &mut R, header: &Header, problems: &mut Vec<Problem>) -> Names {
    if header.names.length == 0 {
        return Names::default();
    }
    let mut stream = Stream::new(source, problems, header.compression, "the names region", header.names);
    Names::read(&mut stream, header.version, header.endian)
}

/// Moves the start of each region to the region's first compressed stream, which never begins with a zero byte. Returns the changed regions
/// with the number of skipped bytes.
fn skip_padding<R: Read + Seek>(source: &mut R, header: &mut Header) -> Result<Vec<(&'static str, u64)>> {
    let mut out = Vec::new();
    if header.compression == Compression::None {
        return Ok(out);
    }
    let modules = header
        .modules
        .iter_mut()
        .map(|entry| (entry.module.map_or("an unknown module", Module::name), &mut entry.region));
    let regions = [("the job region", &mut header.job), ("the names region", &mut header.names)];
    for (what, region) in regions.into_iter().chain(modules).filter(|(_, region)| region.length > 0) {
        let zeros = zeros(source, *region).map_err(|source| Error::Io { offset: region.offset, source })?;
        // A region that consists of zeros only is damaged.
        if zeros > 0 && zeros < region.length {
            *region = Region { offset: region.offset + zeros, length: region.length - zeros };
            out.push((what, zeros));
        }
    }
    Ok(out)
}

/// Returns the number of zero bytes at the start of a region.
fn zeros<R: Read + Seek>(source: &mut R, region: Region) -> std::io::Result<u64> {
    source.seek(SeekFrom::Start(region.offset))?;
    let mut piece = [0; 512];
    let mut zeros = 0;
    loop {
        let most = usize::try_from(region.length - zeros).unwrap_or(usize::MAX).min(piece.len());
        // Without padding, one byte suffices to see that the region begins with data.
        let read = source.read(&mut piece[..if zeros == 0 { most.min(1) } else { most }])?;
        let found = piece[..read].iter().position(|&byte| byte != 0);
        zeros += found.unwrap_or(read) as u64;
        if found.is_some() || read == 0 {
            return Ok(zeros);
        }
    }
}

fn skip_reason(entry: &ModuleEntry) -> Option<SkipReason> {
    let Some(module) = entry.module else { return Some(SkipReason::Unknown) };
    match module.newest_version() {
        0 => Some(SkipReason::NotRead),
        newest if entry.version == 0 || entry.version > newest => Some(SkipReason::Version),
        _ => None,
    }
}
