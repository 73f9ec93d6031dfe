//! Writer of the trace of a simulated job, with tables and segments in the form that the tracer writes.

use super::calls::{Op, table};
use super::change::Change;
use super::engine::{Doings, Done, Outcome};
use super::job::{Job, Placement};
use super::work::is_header;
use crate::lustre::attribute;
use anyhow::Context;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use trace_format::columns::TickScale;
use trace_format::frame::IndexEntry;
use trace_format::meta::{
    ClockSource, CommunicatorDef, CpuSample, FileDef, FileKind, Job as JobBlock, JobInfo, LayoutDef, LayoutMoment,
    LayoutSource, Mount, Mpi, Process, ProcessInfo, ProcessorDef, SharedName, StreamDef, ThreadDef, ThreadTimes, WORLD,
    path_hash, stream_flags,
};
use trace_format::segment::NO_OFFSET;
use trace_format::write::{Encoder, ThreadSegments, preamble, trailer};
use trace_format::{Segment, StreamId};

use crate::process::EPOCH_UNIX_NS;

/// Writes the trace of the simulated job, whose calls are in `outcome`, to `path`: one file, or a directory with the parts that `change` asks
/// for. Returns the size of the trace in bytes.
pub(super) fn write(job: &Job, outcome: &Outcome, path: &Path, change: &Change) -> anyhow::Result<u64> {
    if change.parts < 2 {
        return write_part(job, outcome, 0..job.ranks, path, change);
    }
    std::fs::create_dir_all(path).with_context(|| format!("failed to create {}", path.display()))?;
    let bound = |part: u32| job.ranks * part / change.parts;
    let sizes = (0..change.parts).map(|part| {
        let file = path.join(format!("part{part}.dxt"));
        write_part(job, outcome, bound(part)..bound(part + 1), &file, change)
    });
    sizes.sum()
}

/// Writes the calls of some ranks to the file `path`; returns its size in bytes.
fn write_part(job: &Job, outcome: &Outcome, ranks: Range<u32>, path: &Path, change: &Change) -> anyhow::Result<u64> {
    let (mut encoder, count) = (Encoder::new()?, ranks.len() as u32);
    let mut out = preamble(&mut encoder, &job_block(job, change), job.ranks)?;
    let mut index = Vec::new();
    for rank in ranks {
        let (mut process, threads) = process(job, outcome, rank, change);
        let threads: Vec<ThreadSegments<'_>> = (0..)
            .zip(&threads)
            .map(|(thread, segments)| ThreadSegments { thread, pieces: vec![segments.as_slice().into()] })
            .collect();
        let region = encoder.region(rank, &mut process, &threads, &TickScale::IDENTITY)?;
        index.extend_from_slice(&IndexEntry { offset: out.len() as u64, ..region.entry }.encode());
        out.extend_from_slice(&region.bytes);
    }
    let end = trailer(out.len() as u64, count);
    out.extend_from_slice(&index);
    out.extend_from_slice(&end);
    std::fs::write(path, &out).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(out.len() as u64)
}

fn path_of(job: &Job, file: u32, folder: &str) -> String {
    if is_header(file) {
        return format!("/scratch/{folder}/input.cfg");
    }
    let each = if job.place == Placement::Own { job.ranks } else { 1 };
    let step = if job.file_per_phase { format!(".step{:03}", file / each) } else { String::new() };
    match job.place {
        Placement::Own => format!("/scratch/{folder}/part.{:05}{step}", file % each),
        _ => format!("/scratch/{folder}/field{step}.dat"),
    }
}

fn is_shared(job: &Job, file: u32) -> bool {
    job.place != Placement::Own || is_header(file)
}

fn job_block(job: &Job, change: &Change) -> JobBlock {
    let files = if job.file_per_phase { job.phases } else { 1 };
    let shared =
        (0..files).chain([u32::MAX]).filter(|&file| is_shared(job, file)).map(|file| path_of(job, file, change.folder));
    JobBlock {
        info: JobInfo {
            key: format!("model-{}", job.seed),
            scheduler: "SLURM_JOB_ID=1".into(),
            uid: 1000,
            exe: b"/usr/bin/model".to_vec(),
            args: vec![b"model".to_vec()],
            cwd: b"/scratch/model".to_vec(),
            start_unix_ns: EPOCH_UNIX_NS + change.shift_ns,
            mpi: Some(Mpi { ranks: job.ranks, family: "MPICH".into(), version: "none: simulated".into() }),
            tracer: concat!("dxt-synth ", env!("CARGO_PKG_VERSION")).into(),
        },
        ops: table(),
        names: shared.map(|path| SharedName { hash: path_hash(path.as_bytes()), path: path.into() }).collect(),
        settings: Vec::new(),
        mounts: vec![Mount { path: b"/scratch".to_vec(), kind: "lustre".into() }],
    }
}

/// Files, layouts and streams of a process for its metadata block; they grow while calls are added.
#[derive(Default)]
struct Tables {
    change: Change,
    files: Vec<FileDef>,
    layouts: Vec<LayoutDef>,
    places: HashMap<u32, u32>,
    streams: Vec<StreamDef>,
    ids: HashMap<(u32, Op, bool), u32>,
}

fn process(job: &Job, outcome: &Outcome, rank: u32, change: &Change) -> (Process, Vec<Vec<Segment>>) {
    let mut tables = Tables { change: *change, ..Tables::default() };
    // Rank in the simulation.
    let simulated = if change.reversed { job.ranks - 1 - rank } else { rank };
    let first = (simulated * job.threads) as usize;
    let threads: Vec<Vec<Segment>> = outcome.threads[first..first + job.threads as usize]
        .iter()
        .map(|doings| doings.calls.iter().map(|done| tables.segment(job, done)).collect())
        .collect();
    let mut threads = threads;
    let mut tids: Vec<u32> = (0..job.threads).map(|thread| 1000 + rank * job.threads + thread).collect();
    let sync_points = &outcome.threads[first].sync_points;
    if job.shown && !sync_points.is_empty() {
        // As in the tracer, MPI calls belong to a separate entry of the thread table, with the id of the calling thread.
        threads.push(tables.sync_points(sync_points));
        tids.push(tids[0]);
    }
    let processor = processor(job, &tids, &outcome.threads[first..], change.times);
    let process = Process {
        info: ProcessInfo {
            rank: rank as i32,
            node: Job::node_name(job.node_of(simulated)),
            pid: 1000 + rank,
            ppid: 999,
            exe: b"/usr/bin/model".to_vec(),
            epoch_unix_ns: EPOCH_UNIX_NS + change.shift_ns,
            clock: ClockSource::Counter,
            clock_hz: 1_000_000_000,
            sync_ns: Some(0),
            end_ns: outcome.end_ns * change.times,
            ended_by: "MPI_Finalize".into(),
            ..ProcessInfo::default()
        },
        threads: (0..).zip(tids).map(|(index, tid)| ThreadDef { index, tid }).collect(),
        files: tables.files,
        streams: tables.streams,
        layouts: tables.layouts,
        processor,
        communicators: Vec::from_iter(job.shown.then(|| world(job, rank))),
        ..Process::default()
    };
    (process, threads)
}

/// Returns the samples of the use of the processors by the threads with the kernel ids `tids`, with all times multiplied by `factor`, and the
/// CPUs of their node.
fn processor(job: &Job, tids: &[u32], doings: &[Doings], factor: u64) -> ProcessorDef {
    let Some(share) = job.cpu_share else { return ProcessorDef::default() };
    let threads = tids.iter().zip(doings).take(job.threads as usize);
    let longer = |sample: &CpuSample| CpuSample {
        time_ns: sample.time_ns * factor,
        run_ns: sample.run_ns * factor,
        wait_ns: sample.wait_ns * factor,
        ..*sample
    };
    let times = |(tid, doings): (&u32, &Doings)| ThreadTimes::of_sums(*tid, true, doings.cpu.iter().map(longer));
    let of_node = f64::from(job.ranks.div_ceil(job.nodes) * job.threads);
    let cpus = (of_node * share).round().max(1.0) as usize;
    let byte = |at: usize| if cpus >= (at + 1) * 8 { u8::MAX } else { (1_u8 << (cpus - at * 8)) - 1 };
    ProcessorDef { cpus: (0..cpus.div_ceil(8)).map(byte).collect(), threads: threads.map(times).collect() }
}

/// Returns the definition of `MPI_COMM_WORLD` for the trace of one rank.
fn world(job: &Job, rank: u32) -> CommunicatorDef {
    let reported = job.ranks.min(64);
    let members: Vec<u8> = (0..reported)
        .flat_map(|i| ((u64::from(i) * u64::from(job.ranks) / u64::from(reported)) as u32).to_le_bytes())
        .collect();
    let (number, size, first) = (WORLD, job.ranks, 0);
    CommunicatorDef { number, size, rank: rank as i32, first, members: path_hash(&members), remote_size: 0 }
}

impl Tables {
    fn sync_points(&mut self, sync_points: &[(Op, u64, u64)]) -> Vec<Segment> {
        let file = self.files.len() as u32;
        let name = b"<MPI>".to_vec();
        self.files.push(FileDef { hash: path_hash(&name), path: Some(name), ..FileDef::default() });
        let mut segments = Vec::with_capacity(sync_points.len());
        for &(op, start, end) in sync_points {
            let id = self.stream(file, op, false);
            segments.push(Segment::new(
                StreamId(id),
                i64::from(WORLD),
                0,
                start * self.change.times,
                end * self.change.times,
            ));
        }
        segments
    }

    fn stream(&mut self, file: u32, op: Op, nested: bool) -> u32 {
        let streams = &mut self.streams;
        *self.ids.entry((file, op, nested)).or_insert_with(|| {
            let id = streams.len() as u32;
            let flags = if nested { stream_flags::NESTED } else { 0 };
            streams.push(StreamDef { id, file, op: op.code(), flags, errno: 0 });
            id
        })
    }

    fn segment(&mut self, job: &Job, done: &Done) -> Segment {
        let call = &done.call;
        let file = *self.places.entry(call.file).or_insert_with(|| {
            let place = self.files.len() as u32;
            let path = path_of(job, call.file, self.change.folder);
            self.files.push(FileDef {
                hash: path_hash(path.as_bytes()),
                path: (!is_shared(job, call.file)).then(|| path.into_bytes()),
                kind: FileKind::Regular,
                device: 1,
                inode: 1 + u64::from(call.file),
                block_size: 4 << 20,
            });
            let first = if job.crowded { 0 } else { call.file % job.osts };
            let osts: Vec<u32> =
                (0..job.stripe_count.min(job.osts)).map(|stripe| (first + stripe) % job.osts).collect();
            let bytes = attribute(job.stripe_size as u32, &osts);
            let (moment, source) = (LayoutMoment::Open, LayoutSource::Lustre);
            self.layouts.push(LayoutDef { file: place, moment, source, bytes });
            place
        });
        let id = self.stream(file, call.op, done.nested);
        let offset = call.offset.map_or(NO_OFFSET, |offset| offset as i64);
        Segment::new(StreamId(id), offset, call.length, done.start * self.change.times, done.end * self.change.times)
    }
}
