//! Slices: sets of calls of the same file, layer, operation and caller. Slices with most time stay separate; all others are merged by layer
//! and kind, which bounds the number of slices.

use crate::model::{FileId, Process, ProcessId, Run, Stream, StreamIx};
use crate::shared::totals::StreamTotal;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::meta::HeatDef;
use trace_format::op::{Layer, OpClass};

/// Maximum number of files that have slices (sets of calls) of their own.
pub const FILES: usize = 8;
/// Maximum number of separate slices (sets of calls of one file, layer, operation and caller); merged slices add at most six per layer.
const SLICES: usize = 40;
/// Slice index of calls that are in no slice because they failed or are not selected.
pub const NO_SLICE: u16 = u16::MAX;

/// Kind of a call's activity: read, write, or other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Calls that read data from a file.
    Read,
    /// Calls that write data to a file.
    Write,
    /// All other calls: open, close, seek, sync, lock and so on.
    Metadata,
}

impl Kind {
    /// Returns the kind of activity of an operation class.
    #[must_use]
    pub fn of(class: Option<OpClass>) -> Self {
        match class {
            Some(OpClass::Read) => Self::Read,
            Some(OpClass::Write) => Self::Write,
            _ => Self::Metadata,
        }
    }

    /// Returns the name of the kind of activity.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Metadata => "metadata",
        }
    }
}

/// Set of calls of the same file, layer, operation and caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Slice {
    /// File that the calls are on, as an index into [`Run::files`]; `None` for all files that slices do not distinguish.
    pub file: Option<FileId>,
    /// Name of the I/O layer, such as `POSIX`.
    pub layer: &'static str,
    /// True for calls made inside an MPI-IO or HDF5 call.
    pub nested: bool,
    /// Kind of the calls: read, write or metadata.
    pub kind: Kind,
    /// Operation and call variant of reads and writes, such as `write collective`.
    pub op: String,
}

impl Slice {
    fn of(run: &Run, stream: &Stream) -> Self {
        let op = run.op(stream);
        let kind = Kind::of(op.class);
        let name = if kind == Kind::Metadata { kind.name().to_owned() } else { op.label() };
        let nested = stream.nested || stream.in_hdf5;
        Self { file: Some(stream.file), layer: op.layer_name(), nested, kind, op: name }
    }

    /// Returns the slice of a heat map (bytes over time). At the POSIX layer, heat maps include bytes of MPI-IO calls; if the process has
    /// such calls, the slice counts as nested.
    fn of_heat(run: &Run, process: &Process, def: &HeatDef) -> Self {
        let of_mpi = |stream: &Stream| run.op(stream).layer == Some(Layer::Mpiio) && run.op(stream).is_data();
        let through_mpi =
            process.heat.iter().any(|other| other.layer == Layer::Mpiio) || process.streams.iter().any(of_mpi);
        let kind = if def.writes { Kind::Write } else { Kind::Read };
        let nested = through_mpi && def.layer == Layer::Posix;
        Self { file: None, layer: def.layer.name(), nested, kind, op: kind.name().to_owned() }
    }

    fn without_file(mut self) -> Self {
        self.file = None;
        self
    }

    fn of_the_rest(mut self) -> Self {
        self.kind.name().clone_into(&mut self.op);
        self.without_file()
    }

    /// Returns the title of the slice (set of calls), such as `POSIX write`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.layer, self.op)
    }
}

/// Slices of a run (sets of calls of one file, layer, operation and caller), and the slice of each stream (one operation, file and caller).
#[derive(Clone, Debug, Default)]
pub struct Slices {
    /// All slices (sets of calls); slice indices refer to this list.
    pub all: Vec<Slice>,
    /// Files that have slices (sets of calls) of their own, longest time first.
    pub files: Vec<FileId>,
    /// Slice index of each stream (one operation, file and caller), by process and stream index; [`NO_SLICE`] for streams in no slice.
    pub of_stream: Vec<Vec<u16>>,
    /// Slice index (set of calls) of each heat map (bytes over time), by process and index into [`crate::model::Process::heat`].
    pub of_heat: Vec<Vec<u16>>,
}

impl Slices {
    /// Chooses the slices (sets of calls) that stay separate, by the time of the streams in `totals`.
    #[must_use]
    pub fn new(run: &Run, totals: &[StreamTotal]) -> Self {
        let files = files_by_time(run, totals).into_iter().take(FILES).collect::<Vec<FileId>>();
        let named = |run: &Run, stream: &Stream| {
            let slice = Slice::of(run, stream);
            if slice.file.is_some_and(|file| files.contains(&file)) { slice } else { slice.without_file() }
        };
        let mut times: BTreeMap<Slice, u64> = BTreeMap::new();
        for total in totals {
            let Some(stream) = stream_of(run, total).filter(|stream| looked_at(stream)) else { continue };
            let time = times.entry(named(run, stream)).or_default();
            *time = time.saturating_add(total.all.duration);
        }
        let mut ranked: Vec<(u64, Slice)> = times.into_iter().map(|(slice, time)| (time, slice)).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut numbers: BTreeMap<Slice, u16> = BTreeMap::new();
        for (_, slice) in ranked.into_iter().take(SLICES) {
            let next = numbers.len() as u16;
            numbers.entry(slice).or_insert(next);
        }
        let mut of_stream = Vec::with_capacity(run.processes.len());
        for process in &run.processes {
            let number = |stream: &Stream| {
                if !looked_at(stream) {
                    return NO_SLICE;
                }
                let slice = named(run, stream);
                if let Some(&known) = numbers.get(&slice) {
                    return known;
                }
                let next = numbers.len() as u16;
                *numbers.entry(slice.of_the_rest()).or_insert(next)
            };
            of_stream.push(process.streams.iter().map(number).collect());
        }
        let of_heat = run.processes.iter().map(|process| {
            let slice = |def: &HeatDef| {
                let next = numbers.len() as u16;
                *numbers.entry(Slice::of_heat(run, process, def)).or_insert(next)
            };
            process.heat.iter().map(slice).collect()
        });
        let of_heat = of_heat.collect();
        let mut all: Vec<(u16, Slice)> = numbers.into_iter().map(|(slice, number)| (number, slice)).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        Self { all: all.into_iter().map(|(_, slice)| slice).collect(), files, of_stream, of_heat }
    }

    /// Returns the index of the slice (set of calls) to which a process's stream (one operation, file and caller) belongs; `None` if it
    /// belongs to none.
    #[inline]
    #[must_use]
    pub fn find(&self, process: ProcessId, stream: StreamIx) -> Option<usize> {
        let slice = *self.of_stream.get(process.index())?.get(stream.index())?;
        (slice != NO_SLICE).then_some(usize::from(slice))
    }
}

fn looked_at(stream: &Stream) -> bool {
    stream.chosen && !stream.failed
}

fn stream_of<'a>(run: &'a Run, total: &StreamTotal) -> Option<&'a Stream> {
    run.process(total.process)?.stream(total.stream)
}

/// Returns the files, sorted by the time of the program's own calls on them, longest first.
#[must_use]
pub fn files_by_time(run: &Run, totals: &[StreamTotal]) -> Vec<FileId> {
    let mut times: BTreeMap<FileId, u64> = BTreeMap::new();
    for total in totals {
        let Some(stream) = stream_of(run, total).filter(|stream| looked_at(stream)) else { continue };
        let time = times.entry(stream.file).or_default();
        if !stream.nested && !stream.in_hdf5 {
            *time = time.saturating_add(total.all.duration);
        }
    }
    let mut files: Vec<(u64, FileId)> = times.into_iter().map(|(file, time)| (time, file)).collect();
    files.sort_unstable_by_key(|&(time, file)| (std::cmp::Reverse(time), file));
    files.into_iter().map(|(_, file)| file).collect()
}
