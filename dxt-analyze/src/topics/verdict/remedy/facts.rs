//! Facts of a run that decide which remedy fits: MPI-IO library, file systems, hints, and sums by file.

use crate::cube::Cube;
use crate::findings::{Code, Finding, Severity};
use crate::model::{Class, FileId, LayoutOrigin, ProcessId, Run};
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::topics::signatures::advice::OneCall;
use crate::topics::stripes::result::{FilePart, LayoutPart};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;
use trace_format::op::Layer;

/// Library that implements MPI-IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The program does not use MPI-IO.
    Absent,
    /// ROMIO: in MPICH and MPI libraries based on it, or in Open MPI.
    Romio,
    /// ROMIO by Cray, with its own environment variable for hints.
    Cray,
    /// Open MPI's own component (OMPIO).
    Ompio,
    /// Unknown: a log does not tell.
    Unknown,
}

/// File system type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Lustre,
    Ceph,
    BeeGfs,
    /// Any other file system, or unknown.
    Other,
}

/// Number and bytes of the calls of one kind on a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
}

impl Calls {
    fn add(&mut self, calls: u64, bytes: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Returns the mean bytes of a call, 0 if there are none.
    pub(crate) fn mean(self) -> u64 {
        self.bytes.checked_div(self.calls).unwrap_or(0)
    }
}

/// Reads, or writes, of a file by kind of call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// Independent MPI-IO reads (or writes) of the file.
    pub(crate) alone: Calls,
    /// Collective MPI-IO reads (or writes) of the file.
    pub(crate) together: Calls,
    /// Reads (or writes) of the file by system calls inside MPI-IO and HDF5.
    pub(crate) inside: Calls,
    /// Reads (or writes) of the file by system calls that the program itself makes.
    pub(crate) own: Calls,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OfFile {
    pub(crate) reads: Way,
    pub(crate) writes: Way,
    pub(crate) processes: BTreeSet<ProcessId>,
    /// By process: bytes moved by system calls inside MPI-IO.
    moved: BTreeMap<ProcessId, u64>,
    /// True if the program uses the file through C streams.
    pub(crate) stdio: bool,
    /// True if the program uses the file through MPI-IO.
    pub(crate) mpiio: bool,
    /// True if the program uses the file through HDF5.
    pub(crate) hdf5: bool,
}

impl OfFile {
    /// Returns the number of processes that move the file's bytes by system calls inside MPI-IO.
    pub(crate) fn movers(&self, thresholds: &Thresholds) -> u64 {
        let most = self.moved.values().copied().max().unwrap_or(0);
        self.moved.values().filter(|bytes| **bytes as f64 >= most as f64 * thresholds.some_share).count() as u64
    }

    fn bytes(&self) -> u64 {
        [self.reads, self.writes]
            .iter()
            .flat_map(|way| [way.inside.bytes, way.own.bytes, way.alone.bytes])
            .sum::<Sum>()
            .get()
    }
}

#[derive(Debug)]
pub(crate) struct Facts<'g, 'a> {
    pub(crate) cube: &'g Cube<'a>,
    pub(crate) run: &'a Run,
    /// By file: layout, unless it is a guess.
    layouts: FxHashMap<FileId, LayoutPart>,
    files: BTreeMap<FileId, OfFile>,
    pub(crate) engine: Engine,
    pub(crate) ranks: u64,
    pub(crate) nodes: u64,
    /// Storage targets that findings with a severity of at least `Warn` call slow.
    pub(crate) slow: BTreeSet<u32>,
    /// Loops of calls that one collective call could replace.
    loops: Vec<OneCall>,
}

impl<'g, 'a> Facts<'g, 'a> {
    pub(crate) fn new(cube: &'g Cube<'a>) -> Self {
        let run = cube.run;
        let mut files: BTreeMap<FileId, OfFile> = BTreeMap::new();
        for cell in &cube.cells {
            let of = files.entry(cell.file).or_default();
            of.processes.insert(cell.process);
            let layer = cube.stream(cell).and_then(|stream| run.op(stream).layer);
            of.mpiio |= layer == Some(Layer::Mpiio);
            of.hdf5 |= layer == Some(Layer::Hdf5);
            of.stdio |= layer == Some(Layer::Stdio) && !cell.inside;
            let (calls, bytes) = (cell.sums.calls, cell.sums.bytes);
            let way = match cell.class {
                Class::Read => &mut of.reads,
                Class::Write => &mut of.writes,
                _ => continue,
            };
            if cell.leaf && cell.inside {
                let moved = of.moved.entry(cell.process).or_default();
                *moved = moved.saturating_add(bytes);
            }
            match (layer, cell.leaf, cell.inside) {
                (Some(Layer::Mpiio), ..) if cell.collective => way.together.add(calls, bytes),
                (Some(Layer::Mpiio), ..) => way.alone.add(calls, bytes),
                (_, true, true) => way.inside.add(calls, bytes),
                (_, true, false) => way.own.add(calls, bytes),
                _ => {}
            }
        }
        // A log may have no HDF5 calls: the file name tells.
        for (at, of) in &mut files {
            let name = run.file_name(*at);
            of.hdf5 |= [".h5", ".hdf5", ".nc4"].iter().any(|end| name.ends_with(end));
        }
        // A known data set means HDF5, even without recorded HDF5 calls.
        for set in &run.data_sets {
            files.entry(set.file).or_default().hdf5 = true;
        }
        let own = |(at, file): (FileId, &crate::model::File)| {
            Some((at, LayoutPart::of(file.layout.as_ref().filter(|layout| !layout.is_guess())?)))
        };
        let layouts = run.numbered_files().filter_map(own).collect();
        let engine = engine(run, files.values().any(|file| file.mpiio));
        let nodes = run.node_count().unwrap_or(1).max(1);
        Self {
            cube,
            run,
            layouts,
            files,
            engine,
            ranks: run.ranks().max(1),
            nodes,
            slow: BTreeSet::new(),
            loops: Vec::new(),
        }
    }

    /// Sets the layouts to those of the stripe audit, which include layouts given by the user.
    pub(crate) fn with_layouts(mut self, audited: &[FilePart]) -> Self {
        let by_name: FxHashMap<&str, FileId> =
            self.run.numbered_files().map(|(at, file)| (file.name.as_str(), at)).collect();
        for part in audited.iter().filter(|part| part.layout.origin != LayoutOrigin::Guess) {
            if let Some(at) = by_name.get(part.file.as_str()) {
                self.layouts.insert(*at, part.layout.clone());
            }
        }
        self
    }

    /// Adds the slow targets that findings name, which new files should avoid.
    pub(crate) fn with_slow<'f>(mut self, findings: impl Iterator<Item = &'f Finding>) -> Self {
        // A target that costs little is kept.
        let slow = findings.filter(|finding| finding.code == Code::SLOW_TARGET && finding.severity >= Severity::Warn);
        self.slow.extend(slow.flat_map(|finding| &finding.evidence).filter_map(|evidence| evidence.about.ost));
        self
    }

    /// Adds the loops of small calls that one collective call could replace.
    pub(crate) fn with_loops(mut self, loops: &[OneCall]) -> Self {
        self.loops = loops.to_vec();
        self
    }

    /// Returns the loop of calls on a file that one collective call could replace; `None` if there is none.
    pub(crate) fn loop_on(&self, file: FileId) -> Option<&OneCall> {
        let name = &self.run.file(file)?.name;
        self.loops.iter().find(|one| one.file == *name)
    }

    /// Returns the facts about a file, empty if unknown.
    pub(crate) fn file(&self, file: FileId) -> OfFile {
        self.files.get(&file).cloned().unwrap_or_default()
    }

    pub(crate) fn named(&self, name: &str) -> Option<FileId> {
        self.run.file_named(name)
    }

    /// Returns the file with most bytes moved, of those that `wanted` accepts; `None` if none of these moved any.
    pub(crate) fn main(&self, wanted: impl Fn(&OfFile) -> bool) -> Option<FileId> {
        let all = self.files.iter().filter(|(_, file)| wanted(file) && file.bytes() > 0);
        all.max_by_key(|(at, file)| (file.bytes(), std::cmp::Reverse(**at))).map(|(at, _)| *at)
    }

    /// Returns the stripe size in bytes and stripe count of most of the file; `None` if unknown.
    pub(crate) fn stripes(&self, file: FileId) -> Option<(u64, u64)> {
        let layout = self.layouts.get(&file)?;
        let main = layout.components.iter().rev().find(|part| part.active && !part.on_metadata)?;
        Some((main.stripe_size, u64::from(main.stripe_count)))
    }

    /// Returns the storage targets named by the known layouts of all files.
    pub(crate) fn targets(&self) -> BTreeSet<u32> {
        let parts = self.layouts.values().flat_map(|layout| &layout.components);
        parts.flat_map(|part| part.osts.iter().copied()).collect()
    }

    /// Returns the file system type of a file. The mount table counts more than a given layout, which may belong to a file elsewhere.
    pub(crate) fn storage(&self, file: FileId) -> Storage {
        let mount = self.run.file(file).and_then(|file| self.run.mount_of(file));
        match (mount.map(|(_, kind)| kind.as_str()), self.layouts.get(&file).map(|layout| layout.origin)) {
            (Some("lustre"), _) | (_, Some(LayoutOrigin::Lustre)) | (None, Some(LayoutOrigin::Given)) => {
                Storage::Lustre
            }
            (Some("ceph"), _) | (_, Some(LayoutOrigin::Ceph)) => Storage::Ceph,
            (Some("beegfs"), _) => Storage::BeeGfs,
            _ => Storage::Other,
        }
    }

    /// Returns the value of a file's hint `key`: the one that the program set or the one in effect, by `origin`; `None` if there is no
    /// record of it.
    pub(crate) fn hint(&self, file: FileId, origin: HintOrigin, key: &str) -> Option<&'a str> {
        let mut of = self.run.hints.iter().filter(|hint| hint.file == file && hint.origin == origin && hint.key == key);
        of.next().map(|hint| hint.value.trim())
    }

    pub(crate) fn is_python(&self) -> bool {
        let exe = String::from_utf8_lossy(&self.run.info.exe);
        exe.rsplit('/').next().is_some_and(|name| name.starts_with("python"))
    }
}

/// Returns the library that implements MPI-IO in this run. `used`: true if the program uses MPI-IO.
fn engine(run: &Run, used: bool) -> Engine {
    let mpi = run.info.mpi.as_ref();
    let (family, version) =
        mpi.map_or(("", String::new()), |mpi| (mpi.family.as_str(), mpi.version.to_ascii_lowercase()));
    let is_open_mpi = family == "Open MPI" || version.contains("open mpi");
    match (used, mpi) {
        (false, _) => Engine::Absent,
        _ if version.contains("cray") => Engine::Cray,
        _ if version.contains("spectrum mpi") => Engine::Romio,
        _ if is_open_mpi => of_open_mpi(run),
        _ if ["MPICH", "MPI ABI"].contains(&family) => Engine::Romio,
        _ => Engine::Unknown,
    }
}

/// Distinguishes ROMIO, which reports hints that nobody asked for, from OMPIO, which creates a file beside each one that it opens: for a lock
/// test (`NAME.locktest.RANK`) or a shared pointer (`NAME_cid-...sm`).
fn of_open_mpi(run: &Run) -> Engine {
    let of = |origin| run.hints.iter().filter(move |hint| hint.origin == origin);
    let asked: BTreeSet<(FileId, &str)> = of(HintOrigin::Asked).map(|hint| (hint.file, hint.key.as_str())).collect();
    let is_romios = |key: &str| key.starts_with("romio_") || key == "ind_rd_buffer_size";
    if of(HintOrigin::InEffect).any(|hint| is_romios(&hint.key) && !asked.contains(&(hint.file, &hint.key))) {
        return Engine::Romio;
    }
    let is_its_own = |name: &str| name.contains(".locktest.") || name.contains("_cid-") && name.ends_with(".sm");
    if run.files.iter().any(|file| is_its_own(&file.name)) { Engine::Ompio } else { Engine::Unknown }
}
