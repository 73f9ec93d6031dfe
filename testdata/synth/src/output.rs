//! Writer of all ranks as one trace file. Each rank's region is written once complete; only the index, 64 bytes per rank, stays in memory.

use crate::args::Args;
use crate::patterns;
use crate::process::{EPOCH_UNIX_NS, simulate};
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use trace_format::columns::TickScale;
use trace_format::frame::IndexEntry;
use trace_format::meta::{Job, JobInfo, Mount, Mpi, SharedName, path_hash};
use trace_format::write::{Encoder, ThreadSegments, preamble, trailer};

/// Writes the trace described by `args`; returns a summary line.
pub(crate) fn write(args: &Args) -> anyhow::Result<String> {
    let path = args.output.display();
    let file = File::create(&args.output).with_context(|| format!("failed to create {path}"))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let (bytes, segments) = write_to(args, &mut out).with_context(|| format!("failed to write {path}"))?;
    out.flush().with_context(|| format!("failed to write {path}"))?;
    Ok(format!("{path}: {} ranks, {segments} segments, {bytes} bytes", args.ranks()))
}

/// Writes the trace to `out`; returns the numbers of bytes and segments written.
fn write_to(args: &Args, out: &mut impl Write) -> anyhow::Result<(u64, u64)> {
    let pattern = patterns::named(args);
    let mut encoder = Encoder::new()?;
    let head = preamble(&mut encoder, &job(args), args.ranks())?;
    out.write_all(&head)?;
    let (mut at, mut total, mut index) = (head.len() as u64, 0, Vec::new());
    for rank in 0..args.ranks() {
        let (mut process, segments) = simulate(args, pattern.as_ref(), rank)?;
        let threads = [ThreadSegments { thread: 0, pieces: vec![segments.as_slice().into()] }];
        let region = encoder.region(rank, &mut process, &threads, &TickScale::IDENTITY)?;
        out.write_all(&region.bytes)?;
        index.extend_from_slice(&IndexEntry { offset: at, ..region.entry }.encode());
        at += region.bytes.len() as u64;
        total += region.entry.segments;
    }
    out.write_all(&index)?;
    let end = trailer(at, args.ranks());
    out.write_all(&end)?;
    Ok((at + (index.len() + end.len()) as u64, total))
}

fn job(args: &Args) -> Job {
    let name = format!("{:?}", args.pattern);
    let (path, shared) = patterns::named(args).path(0);
    Job {
        info: JobInfo {
            key: format!("synthetic-{name}-{}", args.seed),
            scheduler: "SLURM_JOB_ID=1".into(),
            uid: 1000,
            exe: b"/usr/bin/synthetic".to_vec(),
            args: vec![b"synthetic".to_vec(), name.clone().into_bytes()],
            cwd: b"/scratch/synth".to_vec(),
            start_unix_ns: EPOCH_UNIX_NS,
            mpi: Some(Mpi { ranks: args.ranks(), family: "MPICH".into(), version: "none: synthetic trace".into() }),
            tracer: concat!("dxt-synth ", env!("CARGO_PKG_VERSION")).into(),
        },
        ops: crate::ops::table(),
        names: Vec::from_iter(shared.then(|| SharedName { hash: path_hash(path.as_bytes()), path: path.into() })),
        settings: vec![("pattern".into(), name), ("seed".into(), args.seed.to_string())],
        mounts: vec![Mount { path: b"/scratch".to_vec(), kind: "lustre".into() }],
    }
}
