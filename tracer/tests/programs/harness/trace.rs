//! Reads all traces of a run with the format's own reader, and checks invariants that hold for every trace.

use super::{Calls, Op};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use trace_format::counters::Counters;
use trace_format::meta::{Job, Note, Process, ProcessInfo, StreamDef, stream_flags};
use trace_format::op::{Layer, OpDef};
use trace_format::profile::Profile;
use trace_format::read::{Decoder, Trace};
use trace_format::spread::Spread;

/// Recorded call (segment), with IDs replaced by names.
#[derive(Clone, Debug)]
pub(crate) struct Seg {
    pub(crate) op: Op,
    /// True if the call was made inside an MPI-IO call.
    pub(crate) nested: bool,
    /// True if the call was made inside an HDF5 call.
    pub(crate) in_hdf5: bool,
    pub(crate) estimated: bool,
    /// Start of the call, in ns since the process's epoch.
    pub(crate) start_ns: u64,
    /// End of the call, in ns since the process's epoch.
    pub(crate) end_ns: u64,
}

/// Calls of one stream that are only counted and have no segments.
#[derive(Clone, Debug)]
pub(crate) struct MissingOps {
    /// Operation and file of the calls that are only counted. Offset and length are 0.
    pub(crate) op: Op,
    /// True if the calls were made inside an MPI-IO call.
    pub(crate) nested: bool,
    pub(crate) counters: Counters,
}

/// Data of one process (a process region) in a trace.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTrace {
    pub(crate) info: ProcessInfo,
    pub(crate) missing: Vec<MissingOps>,
    pub(crate) notes: Vec<Note>,
    /// Process block as decoded from the trace.
    pub(crate) block: Process,
    /// Paths of the process's files, by file index.
    pub(crate) paths: Vec<String>,
    /// Access profiles (statistics) of files, by layer and path.
    pub(crate) profiles: BTreeMap<(String, String), Profile>,
    /// Number of ranks whose counters this record sums up (0: a single process), and the differences between these ranks by layer and path.
    pub(crate) reduced: (u32, BTreeMap<(String, String), Spread>),
}

/// Contents of all traces in a directory.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) unfinished: Vec<PathBuf>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) processes: Vec<ProcessTrace>,
    /// Segments of successful calls, per thread in order of recording.
    pub(crate) segments: Vec<Seg>,
    /// Segments of failed calls, per thread in order of recording.
    pub(crate) failures: Vec<Seg>,
}

impl Traces {
    /// Reads every trace in `dir`; asserts that all are complete.
    pub(crate) fn read(dir: &Path) -> Self {
        let traces = Self::read_finished(dir);
        assert_eq!(traces.unfinished, Vec::<PathBuf>::new());
        traces
    }

    /// Reads every complete trace in `dir`. Other traces may be incomplete, if their process was killed.
    pub(crate) fn read_finished(dir: &Path) -> Self {
        let listed = std::fs::read_dir(dir).expect("failed to list the traces");
        let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("failed to list the traces").path()).collect();
        files.sort();
        let mut traces = Self::default();
        for file in files {
            match file.extension().and_then(|end| end.to_str()) {
                Some("dxt") => traces.add(&file),
                Some("partial") => traces.unfinished.push(file),
                _ => panic!("{} should not be there", file.display()),
            }
        }
        traces
    }

    /// Returns the descriptions of all processes in a directory's traces, without decoding segments.
    pub(crate) fn summaries(dir: &Path) -> Vec<ProcessInfo> {
        let listed = std::fs::read_dir(dir).expect("failed to list the traces");
        let of_file = |file: PathBuf| {
            let trace =
                Trace::open(std::fs::read(file).expect("failed to read a trace")).expect("failed to open a trace");
            let regions = trace.regions.iter().filter_map(|region| trace.region(region).process);
            regions.map(|process| process.info).collect::<Vec<_>>()
        };
        listed.flat_map(|entry| of_file(entry.expect("failed to list the traces").path())).collect()
    }

    fn add(&mut self, file: &Path) {
        let bytes = std::fs::read(file).expect("failed to read a trace");
        let trace = Trace::open(bytes).expect("failed to open a trace");
        assert!(trace.complete && trace.problems.is_empty(), "{}: {:?}", file.display(), trace.problems);
        let names: HashMap<u64, &[u8]> = trace.job.names.iter().map(|name| (name.hash, name.path.as_slice())).collect();
        let ops: HashMap<u16, &OpDef> = trace.job.ops.iter().map(|op| (op.code, op)).collect();
        for region in &trace.regions {
            let read = trace.region(region);
            assert!(read.problems.is_empty(), "{}: {:?}", file.display(), read.problems);
            let process = read.process.expect("a region has a process block");
            let entry = region.entry.expect("a region has an index entry");
            assert_eq!((entry.rank, entry.pid), (process.info.rank, process.info.pid));
            assert_eq!((entry.segments, entry.missing), (process.info.segments, process.info.missing));
            let streams: HashMap<u32, &StreamDef> = process.streams.iter().map(|stream| (stream.id, stream)).collect();
            let meaning = Meaning { process: &process, streams, names: &names, ops: &ops };
            let first = self.segments.len() + self.failures.len();
            let mut decoder = Decoder::default();
            for block in &read.blocks {
                let columns = decoder.block(trace.source(), block).expect("a block decodes");
                assert_eq!(columns.len(), block.head.segments as usize);
                let tid =
                    process.threads.iter().find(|thread| thread.index == block.head.thread).expect("a thread").tid;
                for i in 0..columns.len() {
                    let (op, nested, in_hdf5) =
                        meaning.of(columns.stream[i], columns.offset[i], columns.length[i], tid);
                    let (start_ns, end_ns) = (columns.start[i], columns.end[i]);
                    assert!(start_ns <= end_ns && end_ns <= process.info.end_ns, "times of {op:?}");
                    let flags = meaning.streams.get(&columns.stream[i]).map_or(0, |stream| stream.flags);
                    let estimated = flags & stream_flags::ESTIMATED != 0;
                    let list = if op.errno == 0 { &mut self.segments } else { &mut self.failures };
                    list.push(Seg { op, nested, in_hdf5, estimated, start_ns, end_ns });
                }
            }
            let found = self.segments.len() + self.failures.len() - first;
            assert_eq!(found as u64, process.info.segments, "{}", file.display());
            let folded: u64 = process.missing.iter().map(|missing| missing.counters.segments).sum();
            assert_eq!(folded, process.info.missing, "{}", file.display());
            let missing = process.missing.iter().map(|missing| {
                let (op, nested, _) = meaning.of(missing.stream, 0, 0, 0);
                MissingOps { op, nested, counters: missing.counters.clone() }
            });
            let missing = missing.collect();
            let (info, notes) = (process.info.clone(), process.notes.clone());
            let key = |layer: Layer, file: u32| (layer.name().to_owned(), meaning.path(file));
            let profiles = process.profiles.iter().map(|def| (key(def.layer, def.file), def.profile)).collect();
            let reduction = &process.reduction;
            let spreads = reduction.spreads.iter().map(|def| (key(def.layer, def.file), def.spread)).collect();
            let reduced = (reduction.ranks, spreads);
            let paths = (0..process.files.len() as u32).map(|file| meaning.path(file)).collect();
            self.processes.push(ProcessTrace { info, missing, notes, block: process, paths, profiles, reduced });
        }
        self.files.push(file.to_owned());
        self.jobs.push(trace.job);
    }

    /// Returns start and end of the program's calls `name` under `dir`. `name` is `submit` or `wait`: calls that submit asynchronous
    /// operations, or wait for them.
    pub(crate) fn kept(&self, name: &str, dir: &Path) -> Vec<(u64, u64)> {
        let of = |seg: &&Seg| {
            seg.op.keeps() && !seg.nested && seg.op.name == name && Path::new(&seg.op.path).starts_with(dir)
        };
        self.segments.iter().filter(of).map(|seg| (seg.start_ns, seg.end_ns)).collect()
    }

    /// Returns the operations on files under `dir` through the given layers, except nested calls and calls that submit asynchronous
    /// operations or wait for them.
    pub(crate) fn own_ops(&self, layers: &[&str], dir: &Path) -> Vec<Op> {
        let mut segments: Vec<&Seg> = self
            .segments
            .iter()
            .filter(|seg| !seg.nested && layers.contains(&seg.op.layer.as_str()) && !seg.op.keeps())
            .filter(|seg| Path::new(&seg.op.path).starts_with(dir))
            .collect();
        segments.sort_by_key(|seg| (seg.op.pid, seg.op.tid));
        segments.into_iter().map(|seg| seg.op.clone()).collect()
    }

    pub(crate) fn failed_ops(&self, dir: &Path) -> Vec<Op> {
        let failures = self.failures.iter().filter(|seg| Path::new(&seg.op.path).starts_with(dir));
        failures.map(|seg| seg.op.clone()).collect()
    }

    /// Returns the number of calls and bytes at the POSIX layer, per operation and file under `dir`, for comparison with the kernel's view.
    pub(crate) fn calls(&self, dir: &Path) -> Calls {
        let mut calls = Calls::new();
        for op in self.own_ops(&["POSIX"], dir) {
            if matches!(op.name.as_str(), "read" | "write") {
                let sum = calls.entry((op.path, op.name)).or_default();
                sum.0 += 1;
                sum.1 += op.length;
            }
        }
        calls
    }

    /// Returns (number, bytes) of the operations `name` through these I/O layers on files under `dir`, with or without segments. Nested
    /// calls are excluded.
    pub(crate) fn totals(&self, layers: &[&str], name: &str, dir: &Path) -> (u64, u64) {
        let on_record = self.own_ops(layers, dir);
        let on_record = on_record.iter().filter(|op| op.name == name).map(|op| (1, op.length));
        let missing = self.processes.iter().flat_map(|process| &process.missing);
        let missing = missing
            .filter(|missing| !missing.nested && layers.contains(&missing.op.layer.as_str()))
            .filter(|missing| missing.op.name == name && Path::new(&missing.op.path).starts_with(dir))
            .map(|missing| (missing.counters.segments, missing.counters.bytes));
        on_record.chain(missing).fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1))
    }

    /// Returns the number of writes to files in `dir`, and to files for whose names the byte budget has no room.
    pub(crate) fn writes_within_budget(&self, dir: &Path) -> u64 {
        [dir, Path::new("<other files>")].iter().map(|place| self.totals(&["POSIX"], "write", place).0).sum()
    }

    /// Returns the process region of this pid, of which there must be exactly one.
    #[track_caller]
    pub(crate) fn process(&self, pid: u32) -> &ProcessTrace {
        let mut found = self.processes.iter().filter(|process| process.info.pid == pid);
        let process = found.next().unwrap_or_else(|| panic!("process {pid} has no trace"));
        assert!(found.next().is_none(), "process {pid} has more than one trace");
        process
    }

    /// Returns the number of segments that were lost, over all processes.
    pub(crate) fn missing(&self) -> u64 {
        self.processes.iter().map(|process| process.info.missing).sum()
    }
}

/// Tables for replacing the IDs in segments by names.
struct Meaning<'a> {
    process: &'a Process,
    streams: HashMap<u32, &'a StreamDef>,
    names: &'a HashMap<u64, &'a [u8]>,
    ops: &'a HashMap<u16, &'a OpDef>,
}

impl Meaning<'_> {
    fn path(&self, file: u32) -> String {
        let file = &self.process.files[file as usize];
        let path = file.path.as_deref().or_else(|| self.names.get(&file.hash).copied()).expect("a file has a name");
        String::from_utf8_lossy(path).into_owned()
    }

    fn of(&self, stream: u32, offset: i64, length: u64, tid: u32) -> (Op, bool, bool) {
        let stream = self.streams.get(&stream).expect("a segment's stream is defined");
        let def = self.ops[&stream.op];
        let op = Op {
            pid: self.process.info.pid,
            tid,
            layer: def.layer.name().into(),
            name: def.name.clone(),
            mode: def.mode.name().into(),
            offset,
            length,
            path: self.path(stream.file),
            errno: stream.errno,
        };
        assert_eq!(op.errno != 0, stream.flags & stream_flags::FAILED != 0, "{op:?}");
        assert!(op.errno == 0 || length == 0, "{op:?}");
        (op, stream.flags & stream_flags::NESTED != 0, stream.flags & stream_flags::IN_HDF5 != 0)
    }
}
