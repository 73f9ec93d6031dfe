//! What of a run decides which remedy fits: the library behind MPI-IO, the file systems, hints, and sums by file.

use crate::findings::{Code, Finding, Severity};
use crate::model::{Class, FileId, LayoutOrigin, ProcessId, Run};
use crate::sum::Sum;
use crate::topics::causes::grid::Grid;
use crate::topics::signatures::advice::OneCall;
use crate::topics::stripes::result::{FilePart, LayoutPart};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;
use trace_format::op::Layer;

/// What does the work of MPI-IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Nothing: the program does not use it.
    Absent,
    /// ROMIO: in MPICH and those made of it, or in Open MPI.
    Romio,
    /// ROMIO as Cray has it, with a variable of its own for hints.
    Cray,
    /// Open MPI's own.
    Ompio,
    /// It is not known which: a log does not tell.
    Unknown,
}

/// What a file lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Lustre.
    Lustre,
    /// CephFS.
    Ceph,
    /// BeeGFS.
    BeeGfs,
    /// Another one, or not known.
    Other,
}

/// Calls of a kind on a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    /// How many.
    pub(crate) calls: u64,
    /// Bytes.
    pub(crate) bytes: u64,
}

impl Calls {
    fn add(&mut self, calls: u64, bytes: u64) {
        self.calls = self.calls.saturating_add(calls);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Bytes of a call, 0 of none.
    pub(crate) fn mean(self) -> u64 {
        self.bytes.checked_div(self.calls).unwrap_or(0)
    }
}

/// One direction of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// Asked of MPI-IO by independent calls.
    pub(crate) alone: Calls,
    /// Asked of MPI-IO by collective calls.
    pub(crate) together: Calls,
    /// System calls inside MPI-IO and HDF5.
    pub(crate) inside: Calls,
    /// System calls of the program itself.
    pub(crate) own: Calls,
}

/// What is known of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfFile {
    /// Reads.
    pub(crate) reads: Way,
    /// Writes.
    pub(crate) writes: Way,
    /// Processes that use it.
    pub(crate) processes: BTreeSet<ProcessId>,
    /// Bytes that each moves by system calls inside MPI-IO.
    moved: BTreeMap<ProcessId, u64>,
    /// Whether C streams are used.
    pub(crate) stdio: bool,
    /// Whether MPI-IO is.
    pub(crate) mpiio: bool,
    /// Whether HDF5 is.
    pub(crate) hdf5: bool,
}

/// Part of what the busiest mover moves from which another is one, too: who only reads a library's own few bytes is none.
const MOVER: f64 = 0.1;

impl OfFile {
    /// Processes that move the file's bytes by system calls inside MPI-IO.
    pub(crate) fn movers(&self) -> u64 {
        let most = self.moved.values().copied().max().unwrap_or(0);
        self.moved.values().filter(|bytes| **bytes as f64 >= most as f64 * MOVER).count() as u64
    }

    /// All bytes.
    fn bytes(&self) -> u64 {
        [self.reads, self.writes]
            .iter()
            .flat_map(|way| [way.inside.bytes, way.own.bytes, way.alone.bytes])
            .sum::<Sum>()
            .get()
    }
}

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct Facts<'g, 'a> {
    pub(crate) grid: &'g Grid<'a>,
    pub(crate) run: &'a Run,
    /// By index of the file: its layout, if it is no guess.
    layouts: FxHashMap<FileId, LayoutPart>,
    files: BTreeMap<FileId, OfFile>,
    pub(crate) engine: Engine,
    pub(crate) ranks: u64,
    pub(crate) nodes: u64,
    /// Storage targets that are slow by any finding that matters.
    pub(crate) slow: BTreeSet<u32>,
    /// Loops that are one collective call, by file.
    loops: Vec<OneCall>,
}

impl<'g, 'a> Facts<'g, 'a> {
    /// Of a run.
    pub(crate) fn new(grid: &'g Grid<'a>) -> Self {
        let run = grid.run;
        let mut files: BTreeMap<FileId, OfFile> = BTreeMap::new();
        for entry in &grid.entries {
            let of = files.entry(entry.file).or_default();
            of.processes.insert(entry.process);
            let layer = grid.stream(entry).and_then(|stream| run.op(stream).layer);
            of.mpiio |= layer == Some(Layer::Mpiio);
            of.hdf5 |= layer == Some(Layer::Hdf5);
            of.stdio |= layer == Some(Layer::Stdio) && !entry.inside;
            let (calls, bytes) = (entry.cell.calls, entry.cell.bytes);
            let way = match entry.class {
                Class::Read => &mut of.reads,
                Class::Write => &mut of.writes,
                _ => continue,
            };
            if entry.leaf && entry.inside {
                let moved = of.moved.entry(entry.process).or_default();
                *moved = moved.saturating_add(bytes);
            }
            match (layer, entry.leaf, entry.inside) {
                (Some(Layer::Mpiio), ..) if entry.collective => way.together.add(calls, bytes),
                (Some(Layer::Mpiio), ..) => way.alone.add(calls, bytes),
                (_, true, true) => way.inside.add(calls, bytes),
                (_, true, false) => way.own.add(calls, bytes),
                _ => {}
            }
        }
        // A log may not tell of the library: the name does.
        for (at, of) in &mut files {
            let name = run.file_name(*at);
            of.hdf5 |= [".h5", ".hdf5", ".nc4"].iter().any(|end| name.ends_with(end));
        }
        // A data set is used where no call of HDF5's is on record.
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
            grid,
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

    /// With layouts as they count for the stripe audit: those that the user gave among them.
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

    /// With the slow targets that findings name, which new files are to keep away from all.
    pub(crate) fn with_slow<'f>(mut self, findings: impl Iterator<Item = &'f Finding>) -> Self {
        // What costs next to nothing is no reason to give up a target.
        let slow = findings.filter(|finding| finding.code == Code::SLOW_TARGET && finding.severity >= Severity::Warn);
        self.slow.extend(slow.flat_map(|finding| &finding.evidence).filter_map(|evidence| evidence.about.ost));
        self
    }

    /// With the loops of small calls that are one collective call.
    pub(crate) fn with_loops(mut self, loops: &[OneCall]) -> Self {
        self.loops = loops.to_vec();
        self
    }

    /// The loop on a file that is one collective call.
    pub(crate) fn loop_on(&self, file: FileId) -> Option<&OneCall> {
        let name = &self.run.file(file)?.name;
        self.loops.iter().find(|one| one.file == *name)
    }

    /// What is known of a file.
    pub(crate) fn file(&self, file: FileId) -> OfFile {
        self.files.get(&file).cloned().unwrap_or_default()
    }

    /// The file called so.
    pub(crate) fn named(&self, name: &str) -> Option<FileId> {
        self.run.file_named(name)
    }

    /// The file that most bytes are moved on, among those that `wanted` takes.
    pub(crate) fn main(&self, wanted: impl Fn(&OfFile) -> bool) -> Option<FileId> {
        let all = self.files.iter().filter(|(_, file)| wanted(file) && file.bytes() > 0);
        all.max_by_key(|(at, file)| (file.bytes(), std::cmp::Reverse(**at))).map(|(at, _)| *at)
    }

    /// Stripe size and count that hold most of the file; `None` if they are not known.
    pub(crate) fn stripes(&self, file: FileId) -> Option<(u64, u64)> {
        let layout = self.layouts.get(&file)?;
        let main = layout.components.iter().rev().find(|part| part.active && !part.on_metadata)?;
        Some((main.stripe_size, u64::from(main.stripe_count)))
    }

    /// Storage targets of all layouts, in order.
    pub(crate) fn targets(&self) -> BTreeSet<u32> {
        let parts = self.layouts.values().flat_map(|layout| &layout.components);
        parts.flat_map(|part| part.osts.iter().copied()).collect()
    }

    /// What a file lies on. A layout that was given may be of a file that lay elsewhere: then the mount knows better.
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

    /// Value of a hint of a file: as the program asked for it, or as it was in effect.
    pub(crate) fn hint(&self, file: FileId, origin: HintOrigin, key: &str) -> Option<&'a str> {
        let mut of = self.run.hints.iter().filter(|hint| hint.file == file && hint.origin == origin && hint.key == key);
        of.next().map(|hint| hint.value.trim())
    }

    /// Whether the program is a Python script.
    pub(crate) fn is_python(&self) -> bool {
        let exe = String::from_utf8_lossy(&self.run.info.exe);
        exe.rsplit('/').next().is_some_and(|name| name.starts_with("python"))
    }
}

/// Which library does the work of MPI-IO.
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

/// ROMIO tells of hints that nobody asked for, where it is asked itself. Open MPI's own component tries locks on a file of its own beside
/// each that it opens (`NAME.locktest.RANK`), or keeps a shared pointer in one (`NAME_cid-...sm`).
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
