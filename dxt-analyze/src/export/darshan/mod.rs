//! Export of a trace as a Darshan log of format 3.41: counters of POSIX, MPI-IO and C streams, stripe layouts, DXT segments of POSIX and
//! MPI-IO, and heat maps. `docs/darshan.md` lists the data that such a log cannot represent.
//!
//! The trace is read once for the counters and heat maps, and once more for the segments of each API.

mod heat;
mod layouts;
mod records;
mod segments;
mod sums;

use crate::model::{FileId, FileLayout, ProcessId, Run};
use crate::progress::Bar;
use crate::scan::Lost;
use anyhow::{Context, Result};
use darshan_log::write::{DxtVersion, LustreVersion, Writer};
use darshan_log::{Api, Job, Module, Mount, record_id};
use heat::Heat;
use std::fs::File;
use std::io::BufWriter;
use sums::Sums;

/// Darshan release named in the log, for tools that read it: logs of this release have the same format.
const RELEASE: &str = "3.5.0";

/// Returns the ranks, each with its processes, since Darshan has one process per rank.
fn ranks(run: &Run) -> Vec<(i64, Vec<ProcessId>)> {
    let mut out: Vec<(i64, Vec<ProcessId>)> = Vec::new();
    let mut next = run.processes.iter().map(|process| i64::from(process.rank)).max().unwrap_or(-1) + 1;
    for (number, process) in run.numbered_processes().filter(|(_, process)| process.reduction.is_none()) {
        let rank = i64::from(process.rank);
        match out.last_mut() {
            Some((last, numbers)) if rank >= 0 && *last == rank => numbers.push(number),
            _ if rank >= 0 => out.push((rank, vec![number])),
            // Processes without a rank get the numbers after the highest rank.
            _ => {
                out.push((next, vec![number]));
                next += 1;
            }
        }
    }
    out.sort_by_key(|(rank, _)| *rank);
    out
}

/// Writes the log to the empty file `file`; returns the segments and blocks that could not be read. `layouts` has the stripe layout of each file.
///
/// # Errors
/// Fails if the log cannot be written, or the trace has data that a log cannot represent.
pub fn write(run: &Run, layouts: &[Option<FileLayout>], version: DxtVersion, file: File) -> Result<Lost> {
    let failed = || "failed to write the log";
    let ranks = ranks(run);
    let mut lost = Lost::default();
    let bar = Bar::new(run.segments(), "counters");
    let mut heat = Heat::new(run);
    let mut sums = Sums::default();
    for (rank, processes) in &ranks {
        sums::add(run, *rank, processes, &mut sums, &mut heat, &mut lost, &bar);
    }
    let all_ranks: Vec<ProcessId> =
        run.numbered_processes().filter(|(_, p)| !p.reduction.is_none()).map(|(n, _)| n).collect();
    sums::add(run, sums::ALL_RANKS, &all_ranks, &mut sums, &mut heat, &mut lost, &bar);
    drop(bar);
    sums.join_shared();

    let used = run.numbered_files().filter(|(file, _)| sums.files.contains(file));
    let names = used
        .map(|(_, file)| file.name.as_str())
        .chain(crate::import::darshan::heat::NAMES.iter().map(|(name, _)| *name));
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, file), &job(run, ranks.len()), &mounts(run), names)
        .with_context(failed)?;
    for module in [Module::Posix, Module::MpiIo] {
        writer.counters(module, sums.records(run, layouts, module)).with_context(failed)?;
    }
    let lustre = layouts::records(run, layouts, &sums.files);
    let lustre_version =
        if lustre.iter().all(|record| record.components.len() == 1) { LustreVersion::V1 } else { LustreVersion::V2 };
    if !lustre.is_empty() {
        writer.lustre(lustre_version, lustre).with_context(failed)?;
    }
    writer.counters(Module::Stdio, sums.records(run, layouts, Module::Stdio)).with_context(failed)?;
    for api in [Api::Posix, Api::MpiIo] {
        let bar = Bar::new(run.segments(), "segments");
        writer
            .dxt::<anyhow::Error>(api, version, |dxt| {
                ranks.iter().try_for_each(|(rank, processes)| segments::write(run, *rank, processes, api, dxt, &bar))
            })
            .context("failed to write the segments into a log (--time, --ranks and --files choose fewer)")?;
    }
    writer.heatmaps(heat.records()).with_context(failed)?;
    if run.missing_segments() > 0 {
        writer.set_partial(Module::DxtPosix);
        writer.set_partial(Module::DxtMpiIo);
    }
    let out = writer.finish().with_context(failed)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(failed)?;
    Ok(lost)
}

fn id(run: &Run, file: FileId) -> u64 {
    record_id(run.file_name(file).as_bytes())
}

fn job(run: &Run, processes: usize) -> Job {
    let info = &run.info;
    let end_ns = run.processes.iter().map(|process| process.end_ns).max().unwrap_or(0);
    let (from, until) =
        (run.start_unix_ns.max(0), run.start_unix_ns.max(0).saturating_add_unsigned(end_ns.max(run.span().1)));
    let digits: String = info.scheduler.chars().filter(char::is_ascii_digit).collect();
    let pid = run.processes.first().map_or(0, |process| i64::from(process.pid));
    let words: Vec<String> = info.args.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let exe = if words.is_empty() { String::from_utf8_lossy(&info.exe).into_owned() } else { words.join(" ") };
    let mut job = Job::default();
    job.uid = i64::from(info.uid);
    (job.start_sec, job.start_nsec) = (from / 1_000_000_000, from % 1_000_000_000);
    (job.end_sec, job.end_nsec) = (until / 1_000_000_000, until % 1_000_000_000);
    job.nprocs = (processes as i64).max(info.mpi.as_ref().map_or(1, |mpi| i64::from(mpi.ranks)));
    job.jobid = digits.parse().unwrap_or(pid);
    job.exe = exe.replace(['\n', '\0', '\r'], " ").as_str().into();
    let made_by = format!("dxt-analyze {}", env!("CARGO_PKG_VERSION"));
    job.metadata = vec![("lib_ver".into(), RELEASE.into()), ("made_by".into(), made_by.as_str().into())];
    job
}

/// Returns the mount points, at least one, as a log requires.
fn mounts(run: &Run) -> Vec<Mount> {
    let clean = |text: &str| text.replace(['\n', '\t', '\0'], " ").as_str().into();
    let mut out: Vec<Mount> =
        run.mounts.iter().map(|(point, kind)| Mount { point: clean(point), fs_type: clean(kind) }).collect();
    if out.is_empty() {
        out.push(Mount { point: "/".into(), fs_type: "unknown".into() });
    }
    out
}
