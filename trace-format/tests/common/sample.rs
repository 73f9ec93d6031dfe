//! Small trace that contains each kind of data once, for several tests.

use super::common::Rank;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{
    ClockSource, FileDef, FileKind, Job, JobInfo, LayoutDef, LayoutMoment, LayoutSource, Missing, Mpi, Note, Process,
    ProcessInfo, SharedName, StreamDef, ThreadDef, path_hash, stream_flags,
};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::{Segment, StreamId};

/// Returns the job block of the small trace, with every layer, operation class and call variant.
pub(crate) fn job() -> Job {
    let op = |code, layer, class, mode, name: &str| OpDef { code, layer, class, mode, name: name.into() };
    Job {
        info: JobInfo {
            key: "golden-1".into(),
            scheduler: "SLURM_JOB_ID=42".into(),
            uid: 1000,
            exe: b"/usr/bin/app".to_vec(),
            args: vec![b"app".to_vec(), b"--in\xff".to_vec(), Vec::new()],
            cwd: b"/home/user".to_vec(),
            start_unix_ns: 1_700_000_000_000_000_001,
            mpi: Some(Mpi { ranks: 2, family: "MPICH".into(), version: "MPICH Version: 4.0.2".into() }),
            tracer: "0.1.0".into(),
        },
        ops: vec![
            op(1, Layer::Posix, OpClass::Open, OpMode::Plain, "open"),
            op(2, Layer::Posix, OpClass::Close, OpMode::Plain, "close"),
            op(3, Layer::Posix, OpClass::Write, OpMode::Plain, "write"),
            op(4, Layer::Posix, OpClass::Read, OpMode::Vectored, "read"),
            op(250, Layer::Stdio, OpClass::Seek, OpMode::Plain, "seek"),
            op(251, Layer::Mpiio, OpClass::Write, OpMode::Collective, "write"),
            op(252, Layer::Mpiio, OpClass::Read, OpMode::Shared, "read"),
            op(300, Layer::Mpiio, OpClass::Write, OpMode::Ordered, "write"),
            op(301, Layer::Mpiio, OpClass::Sync, OpMode::Nonblocking, "sync"),
            op(302, Layer::Mpiio, OpClass::Read, OpMode::Split, "read"),
            op(400, Layer::Hdf5, OpClass::Metadata, OpMode::Plain, "set_extent"),
            op(500, Layer::Pnetcdf, OpClass::Lock, OpMode::Plain, "lock"),
            op(501, Layer::Pnetcdf, OpClass::Unlock, OpMode::Plain, "unlock"),
            op(65535, Layer::Posix, OpClass::Map, OpMode::Plain, "mmap"),
        ],
        names: vec![SharedName { hash: path_hash(b"/scratch/shared"), path: b"/scratch/shared".to_vec() }],
        settings: vec![("DXT_ENABLE".into(), "trace".into()), ("DXT_BUFFER_MAX".into(), "4194304".into())],
        mounts: Vec::new(),
    }
}

pub(crate) fn ranks() -> Vec<Rank> {
    (0..2).map(|rank| Rank { process: process(rank), threads: vec![regular(rank), scattered()] }).collect()
}

/// Returns the segments of an open, 200 sequential writes (one pause and one slow write among them), and a close.
fn regular(rank: i32) -> Vec<Segment> {
    let mut now = 1_000_000_000 + rank as u64;
    let mut segment = |stream, offset, length, pause: u64, took: u64| {
        now += pause + took;
        Segment::new(StreamId(stream), offset, length, now - took, now)
    };
    let mut out = vec![segment(0, -1, 0, 0, 25_000)];
    for i in 0..200_u64 {
        let (pause, took) = (40 + i % 5, if i == 77 { 3_000_000_000 } else { 600 + i * 7 % 31 });
        let pause = if i == 100 { 1_000_000_000 } else { pause };
        out.push(segment(1, (i * 4096) as i64 + i64::from(rank) * (5 << 30), 4096, pause, took));
    }
    out.push(segment(2, -1, 0, 90, 1_500));
    out
}

/// Returns 70 segments of two streams at scattered offsets, where calls of one stream are nested in calls of the other, and one segment
/// with the largest possible numbers.
fn scattered() -> Vec<Segment> {
    let mut out = Vec::new();
    for i in 0..35_u64 {
        let (offset, start) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20, 5_000_000 + i * 90_000);
        out.push(Segment::new(StreamId(3), offset as i64, 1 << (i % 41), start + 100, start + 40_000));
        out.push(Segment::new(StreamId(16_777_215), offset as i64, i, start, start + 50_000));
    }
    // The two highest bits of the end time are mark bits, which no clock reaches.
    out.push(Segment::new(StreamId(4), i64::MAX, (1 << 40) - 1, (1 << 62) - 2, (1 << 62) - 1));
    out
}

fn process(rank: i32) -> Process {
    let mut counters = Counters::default();
    let mut previous = Previous::default();
    for i in 0..5 {
        counters.fold(&mut previous, i * 1000, 900 + i as u64 * 50, 100 + i as u64, 200 + i as u64 * 3);
    }
    let own = format!("/scratch/own.{rank}").into_bytes();
    let stream = |id, file, op, flags, errno| StreamDef { id, file, op, flags, errno };
    Process {
        info: ProcessInfo {
            rank,
            node: format!("node{rank}"),
            pid: 70_000 + rank as u32,
            ppid: 1,
            exe: b"/usr/bin/app".to_vec(),
            epoch_unix_ns: 1_700_000_000_000_000_000 + i64::from(rank) * 1500,
            clock: if rank == 0 { ClockSource::Counter } else { ClockSource::Monotonic },
            clock_hz: 2_600_000_000,
            sync_ns: (rank == 0).then_some(12_345),
            end_ns: 9_000_000_000,
            ended_by: "MPI_Finalize".into(),
            ..ProcessInfo::default()
        },
        threads: vec![ThreadDef { index: 0, tid: 70_000 + rank as u32 }, ThreadDef { index: 1, tid: 90_000 }],
        files: vec![
            FileDef { hash: path_hash(b"/scratch/shared"), kind: FileKind::Regular, inode: 7, ..FileDef::default() },
            FileDef {
                hash: path_hash(&own),
                path: Some(own),
                kind: FileKind::Block,
                device: 1 << 40,
                inode: u64::MAX,
                block_size: 4 << 20,
            },
            FileDef { path: Some(b"/dev/tty".to_vec()), kind: FileKind::Character, ..FileDef::default() },
        ],
        streams: vec![
            stream(0, 0, 1, 0, 0),
            stream(1, 0, 3, 0, 0),
            stream(2, 0, 2, 0, 0),
            stream(3, 1, 4, stream_flags::NESTED, 0),
            stream(4, 2, 65535, stream_flags::FAILED, 28),
            stream(16_777_215, 1, 252, 0, 0),
        ],
        layouts: vec![
            LayoutDef { file: 0, moment: LayoutMoment::Open, source: LayoutSource::Lustre, bytes: vec![0xd0, 0x0b, 0] },
            LayoutDef { file: 1, moment: LayoutMoment::Close, source: LayoutSource::Ceph, bytes: b"a=1".to_vec() },
        ],
        missing: vec![Missing { stream: 1, counters }],
        notes: vec![Note { what: "calls on sockets".into(), count: 300 }],
        ..Process::default()
    }
}
