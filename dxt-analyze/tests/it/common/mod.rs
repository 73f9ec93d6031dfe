//! Helpers that build small traces in memory with the writer of trace-format, and run dxt-analyze on files.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use trace_format::columns::TickScale;
use trace_format::meta::{
    Combiner, DataSetAccess, DataSetDef, DatatypeExtents, DatatypeRole, DatatypeUse, FileDef, HintDef, HintOrigin, Job,
    JobInfo, Mpi, Process, ProcessInfo, Selection, StreamDef, ThreadDef, path_hash, stream_flags,
};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{Segment, StreamId};
use trace_format::write::{Encoder, Region, ThreadSegments, file};

pub(crate) mod facts;

/// Operation codes in the operation table of [`job`].
pub(crate) mod op {
    pub(crate) const POSIX_OPEN: u16 = 1;
    pub(crate) const POSIX_READ: u16 = 2;
    pub(crate) const POSIX_WRITE: u16 = 3;
    pub(crate) const POSIX_CLOSE: u16 = 4;
    pub(crate) const MPIIO_WRITE_ALL: u16 = 5;
    pub(crate) const STDIO_WRITE: u16 = 6;
    pub(crate) const HDF5_WRITE_ALL: u16 = 7;
    pub(crate) const HDF5_READ: u16 = 8;
}

fn ops() -> Vec<OpDef> {
    let def = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    vec![
        def(op::POSIX_OPEN, Layer::Posix, OpClass::Open, OpMode::Plain, "open"),
        def(op::POSIX_READ, Layer::Posix, OpClass::Read, OpMode::Plain, "read"),
        def(op::POSIX_WRITE, Layer::Posix, OpClass::Write, OpMode::Plain, "write"),
        def(op::POSIX_CLOSE, Layer::Posix, OpClass::Close, OpMode::Plain, "close"),
        def(op::MPIIO_WRITE_ALL, Layer::Mpiio, OpClass::Write, OpMode::Collective, "write"),
        def(op::STDIO_WRITE, Layer::Stdio, OpClass::Write, OpMode::Plain, "write"),
        def(op::HDF5_WRITE_ALL, Layer::Hdf5, OpClass::Write, OpMode::Collective, "write"),
        def(op::HDF5_READ, Layer::Hdf5, OpClass::Read, OpMode::Plain, "read"),
    ]
}

/// Returns the job block of job `key` with `ranks` ranks; 0 ranks means without MPI.
pub(crate) fn job(key: &str, ranks: u32) -> Job {
    let mpi = (ranks > 0).then(|| Mpi { ranks, family: "MPICH".into(), version: "4.0".into() });
    let info = JobInfo {
        key: key.into(),
        exe: b"/opt/app/bin/simulate".to_vec(),
        args: vec![b"simulate".to_vec(), b"--steps".to_vec(), b"10".to_vec()],
        start_unix_ns: EPOCH,
        mpi,
        tracer: "0.1.0".into(),
        ..JobInfo::default()
    };
    Job { info, ops: ops(), ..Job::default() }
}

/// Default start of all processes, ns since 1970-01-01 UTC.
pub(crate) const EPOCH: i64 = 1_700_000_000_000_000_000;

/// Process of a trace under construction: its tables, and the segments of each thread.
pub(crate) struct Builder {
    pub process: Process,
    pub threads: Vec<(u32, Vec<Segment>)>,
}

/// Returns a process of `rank` on `node`, with pid 1000 + rank and one thread whose tid equals the pid.
pub(crate) fn process(rank: i32, node: &str) -> Builder {
    let pid = (1000 + rank) as u32;
    let info = ProcessInfo {
        rank,
        node: node.into(),
        pid,
        epoch_unix_ns: EPOCH,
        clock_hz: 1_000_000_000,
        end_ns: 60_000_000_000,
        ended_by: "MPI_Finalize".into(),
        ..ProcessInfo::default()
    };
    let process = Process { info, threads: vec![ThreadDef { index: 0, tid: pid }], ..Process::default() };
    Builder { process, threads: vec![(0, Vec::new())] }
}

impl Builder {
    /// Returns the index of the file `path` in the process's file table, adding the file if it is new.
    pub(crate) fn file(&mut self, path: &str) -> u32 {
        let hash = path_hash(path.as_bytes());
        let files = &mut self.process.files;
        files.iter().position(|file| file.hash == hash).unwrap_or_else(|| {
            files.push(FileDef { hash, path: Some(path.into()), block_size: 4096, ..FileDef::default() });
            files.len() - 1
        }) as u32
    }

    /// Returns the ID of the stream (combination of file, operation and flags), adding the stream if it is new.
    pub(crate) fn stream(&mut self, path: &str, op: u16, flags: u8) -> u32 {
        let file = self.file(path);
        let streams = &mut self.process.streams;
        let known = streams.iter().position(|stream| (stream.file, stream.op, stream.flags) == (file, op, flags));
        known.unwrap_or_else(|| {
            let errno = if flags & stream_flags::FAILED != 0 { 28 } else { 0 };
            streams.push(StreamDef { id: streams.len() as u32, file, op, flags, errno });
            streams.len() - 1
        }) as u32
    }

    /// Adds a call to thread 0, as one segment. Times are ns since the process's epoch.
    #[expect(clippy::too_many_arguments, reason = "a segment and its stream")]
    pub(crate) fn add(
        &mut self,
        path: &str,
        op: u16,
        flags: u8,
        offset: i64,
        length: u64,
        start: u64,
        end: u64,
    ) -> &mut Self {
        let stream = self.stream(path, op, flags);
        self.threads[0].1.push(Segment::new(StreamId(stream), offset, length, start, end));
        self
    }

    /// Adds a failed call without data. All failures of operation `op` on this file get the error number `errno`.
    pub(crate) fn fail(&mut self, path: &str, op: u16, errno: u16, start: u64, end: u64) -> &mut Self {
        let stream = self.stream(path, op, stream_flags::FAILED);
        self.process.streams[stream as usize].errno = errno;
        self.add(path, op, stream_flags::FAILED, -1, 0, start, end)
    }

    /// Adds a POSIX write that is not nested in any other call.
    pub(crate) fn write(&mut self, path: &str, offset: i64, length: u64, start: u64, end: u64) -> &mut Self {
        self.add(path, op::POSIX_WRITE, 0, offset, length, start, end)
    }

    /// Encodes the process as region `number` of a trace file.
    pub(crate) fn region(&mut self, number: u32) -> Region {
        let mut encoder = Encoder::new().unwrap();
        let threads: Vec<ThreadSegments<'_>> = self
            .threads
            .iter()
            .map(|(thread, segments)| ThreadSegments { thread: *thread, pieces: vec![segments.as_slice().into()] })
            .collect();
        encoder.region(number, &mut self.process, &threads, &TickScale::IDENTITY).unwrap()
    }
}

/// Encodes a complete trace file.
pub(crate) fn trace(job: &Job, mut processes: Vec<Builder>) -> Vec<u8> {
    let regions = processes.iter_mut().enumerate().map(|(number, process)| process.region(number as u32)).collect();
    file(&mut Encoder::new().unwrap(), job, regions).unwrap()
}

/// Encodes a complete trace file like [`trace`], of a run that ends with its last call.
pub(crate) fn trace_of_calls(job: &Job, mut processes: Vec<Builder>) -> Vec<u8> {
    let ends = processes.iter().flat_map(|process| &process.threads).flat_map(|(_, segments)| segments);
    let last = ends.map(Segment::ended).max().unwrap_or(0);
    processes.iter_mut().for_each(|process| process.process.info.end_ns = last);
    trace(job, processes)
}

/// Runs dxt-analyze with `args`, and returns its output and exit status.
pub(crate) fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// Returns a command that runs dxt-analyze, not yet started, without environment variables that could affect it.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    command.args(args).env_remove("NO_COLOR").env("TERM", "xterm");
    command
}

/// Runs dxt-analyze, asserts its exit code, and returns its standard output.
pub(crate) fn stdout(args: &[&str], code: i32) -> String {
    let output = run(args);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
    out
}

/// Runs dxt-analyze, asserts its exit code, and returns its standard output as JSON.
pub(crate) fn json(args: &[&str], code: i32) -> serde_json::Value {
    serde_json::from_str(&stdout(args, code)).unwrap()
}

/// Writes `bytes` to the file `name` in `folder`; returns its path.
pub(crate) fn put(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns four ranks on two nodes; each opens a file, writes twice through MPI-IO (with nested POSIX writes), reads once and closes.
pub(crate) fn small() -> (Job, Vec<Builder>) {
    let processes = (0..4)
        .map(|rank| {
            let mut process = process(rank, if rank < 2 { "node1" } else { "node2" });
            let (path, base) = ("/scratch/out.h5", i64::from(rank) * 3000);
            let nested = stream_flags::NESTED;
            process.add(path, op::POSIX_OPEN, nested, -1, 0, 1000, 2000);
            for step in 0..2 {
                let (offset, start) = (base + step * 1000, 10_000 + step as u64 * 10_000);
                process.add(path, op::POSIX_WRITE, nested, offset, 1000, start + 1000, start + 4000);
                process.add(path, op::MPIIO_WRITE_ALL, 0, offset, 1000, start, start + 5000);
            }
            process.add("/etc/conf, \"x\"", op::POSIX_READ, 0, 0, 500, 40_000, 41_000);
            process.add(path, op::POSIX_CLOSE, nested, -1, 0, 50_000, 50_500);
            process
        })
        .collect();
    (job("job-1", 4), processes)
}

/// Encodes a trace of two ranks with an HDF5 file each; both files have a data set of the same path. Each rank writes through HDF5, MPI-IO
/// and POSIX, and reads. The trace also contains MPI-IO hints and datatypes.
pub(crate) fn hdf5() -> Vec<u8> {
    let processes = (0..2)
        .map(|rank| {
            let mut process = process(rank, "node1");
            let (path, base) = (format!("/scratch/{}.h5", rank % 2), i64::from(rank) * 4096 + 2048);
            let (inside, both) = (stream_flags::IN_HDF5, stream_flags::IN_HDF5 | stream_flags::NESTED);
            process.add(&path, op::POSIX_OPEN, 0, -1, 0, 1000, 2000);
            process.add(&path, op::POSIX_WRITE, both, base, 4096, 12_000, 15_000);
            process.add(&path, op::MPIIO_WRITE_ALL, inside, base, 4096, 11_000, 16_000);
            process.add(&path, op::HDF5_WRITE_ALL, 0, -1, 800, 10_000, 20_000);
            process.add(&path, op::POSIX_READ, inside, 0, 2048, 31_000, 32_000);
            process.add(&path, op::HDF5_READ, 0, -1, 400, 30_000, 35_000);
            let streams = [op::HDF5_WRITE_ALL, op::HDF5_READ].map(|op| process.stream(&path, op, 0));
            let access = |stream, kind: Selection, elements| {
                let mut selections = [0; Selection::COUNT];
                selections[kind as usize] = 1;
                DataSetAccess { stream, selections, elements }
            };
            let file = process.file(&path);
            process.process.data_sets.push(DataSetDef {
                file,
                path: b"/grid/t".to_vec(),
                element_bytes: 8,
                extent: vec![10 + rank as u64, 20],
                accesses: vec![
                    access(streams[0], Selection::RegularHyperslab, 100),
                    access(streams[1], Selection::Points, 50),
                ],
            });
            let hint = |origin, key: &str, value: &str| HintDef { file, origin, key: key.into(), value: value.into() };
            process.process.hints = vec![
                hint(HintOrigin::Asked, "cb_nodes", "4"),
                hint(HintOrigin::InEffect, "cb_nodes", "1"),
                hint(HintOrigin::InEffect, "romio_filesystem_type", "UFS:"),
            ];
            let used = |role, combiner, count| DatatypeUse { file, role, combiner, count };
            process.process.datatypes = vec![
                used(DatatypeRole::Filetype, Combiner::Subarray, 1),
                used(DatatypeRole::WriteBuffer, Combiner::Named, 3),
            ];
            let extents = |role, extents| DatatypeExtents { file, role, extents };
            process.process.datatype_extents = vec![
                extents(DatatypeRole::WriteBuffer, [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
                extents(DatatypeRole::Filetype, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]),
            ];
            process
        })
        .collect();
    trace(&job("job-1", 2), processes)
}

/// Reports a test as skipped whose requirement scripts/setup.sh could install. The message bypasses output capture; CI treats it as a
/// failure (scripts/test.sh).
pub(crate) fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {}: {what}", std::thread::current().name().unwrap_or("a test"));
}

/// Reports a test as skipped that this machine cannot run, or whose input files are missing.
pub(crate) fn skip_here(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped here: {}: {what}", std::thread::current().name().unwrap_or("a test"));
}

/// Returns the Python interpreter of the tests (`DXT_TEST_PYTHON`, or that of scripts/test.sh) if it has these modules; otherwise reports
/// the test `what` as skipped.
pub(crate) fn python(modules: &[&str], what: &str) -> Option<PathBuf> {
    let python = python_with(modules);
    if python.is_none() {
        skip(&format!("{what}: no Python with the modules {} (DXT_TEST_PYTHON)", modules.join(", ")));
    }
    python
}

/// Returns the Python interpreter of the tests if it has these modules; otherwise `None`, without a message.
pub(crate) fn python_with(modules: &[&str]) -> Option<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let named = std::env::var_os("DXT_TEST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| project.join("target/test-venv/bin/python3"));
    let imports = format!("import {}", modules.join(", "));
    let tried = Command::new(&python).args(["-c", &imports]).output();
    tried.is_ok_and(|output| output.status.success()).then_some(python)
}

/// Returns the Darshan logs in the project's test data and in the folder that `DXT_DARSHAN_LOGS` names.
pub(crate) fn logs() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/darshan")];
    match std::env::var_os("DXT_DARSHAN_LOGS") {
        Some(folder) => folders.push(PathBuf::from(folder)),
        None => skip_here("more logs than the project has: DXT_DARSHAN_LOGS is not set"),
    }
    let all = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut out: Vec<PathBuf> = all.map(|entry| entry.expect("an entry").path()).collect();
    out.retain(|path| path.extension().is_some_and(|extension| extension == "darshan"));
    out.sort();
    out
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Writes a Darshan log of two ranks that has only heat maps: the ranks write 1,000 and 2,000 bytes between 0.5 and 1 s, and 7 bytes each later.
pub(crate) fn heat_log(folder: &Path) -> String {
    let of_rank = |rank: i64| darshan_log::HeatmapRecord {
        id: darshan_log::record_id(b"heatmap:POSIX"),
        rank,
        bin_width_seconds: 0.5,
        write_bytes: vec![0, 1000 * (rank + 1), 0, 0, 0, 0, 7, 0],
        read_bytes: vec![0; 8],
    };
    let mut job = darshan_log::Job::default();
    (job.nprocs, job.exe, job.end_sec) = (2, "./app".into(), 4);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [darshan_log::Mount { point: "/".into(), fs_type: "ext4".into() }];
    let out = std::io::Cursor::new(Vec::new());
    let mut writer = darshan_log::write::Writer::new(out, &job, &mounts, [b"heatmap:POSIX"]).unwrap();
    writer.heatmaps([of_rank(0), of_rank(1)]).unwrap();
    let path = folder.join("heat.darshan");
    std::fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    path.display().to_string()
}
