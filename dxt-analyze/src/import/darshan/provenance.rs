//! Job description of a trace made from a Darshan log, and remarks on how such a trace differs from a recorded one.

use super::cursor::COUNTED;
use super::plausible::Bounds;
use super::{DATA_ONLY, ops};
use crate::model;
use darshan_log::{Info, Log, Module};
use std::io::{Read, Seek};
use trace_format::meta::{ClockSource, ProcessInfo};
use trace_format::meta::{Job, JobInfo, Mount, Mpi, Note};

fn words(info: &Info) -> Vec<Vec<u8>> {
    let line = info.job.exe.as_bytes();
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Returns the path of the executable: the first word of the command line; empty if the log has none.
pub(crate) fn exe(info: &Info) -> Vec<u8> {
    words(info).into_iter().next().unwrap_or_default()
}

fn version<R>(log: &Log<R>) -> String
where
    R: Read + Seek,
{
    let runtime = log.job().metadata("lib_ver").map_or_else(|| "unknown".into(), |text| text.to_str().into_owned());
    format!("Darshan log {}, runtime {runtime}", log.header().version.as_str())
}

pub(crate) fn job<R: Read + Seek>(log: &Log<R>, counters_only: bool) -> Job {
    let info = log.info();
    let has = |module| has(log, module);
    let bounds = Bounds::of(&info);
    let is_mpi = bounds.nprocs.is_some_and(|ranks| ranks > 1) || has(Module::MpiIo) || has(Module::DxtMpiIo);
    let ranks = bounds.nprocs.and_then(|ranks| u32::try_from(ranks).ok()).unwrap_or(0);
    let start = bounds.start_unix_ns;
    let (variable, value) = if counters_only { ("DXT_ENABLE", "counters") } else { DATA_ONLY };
    let hints = info.job.metadata("h").map(|hints| ("hints".to_owned(), hints.to_str().into_owned()));
    let settings = [(super::SOURCE.to_owned(), version(log)), (variable.to_owned(), value.to_owned())];
    Job {
        info: JobInfo {
            key: format!("darshan-{}-{}", info.job.jobid, start),
            scheduler: info.job.jobid.to_string(),
            uid: u32::try_from(info.job.uid).unwrap_or(u32::MAX),
            exe: exe(&info),
            args: words(&info),
            cwd: Vec::new(),
            start_unix_ns: start,
            mpi: is_mpi.then(|| Mpi { ranks, family: "MPI".into(), version: String::new() }),
            tracer: version(log),
        },
        ops: ops::table(has(Module::Dfs) || has(Module::Daos)),
        settings: settings.into_iter().chain(hints).collect(),
        mounts: info
            .mounts
            .iter()
            .map(|mount| Mount { path: mount.point.as_bytes().to_vec(), kind: mount.fs_type.to_string() })
            .collect(),
        ..Job::default()
    }
}

/// Returns notes on log contents that are incomplete, that the import skips, or that differ from the output of Darshan's releases.
pub(crate) fn notes<R: Read + Seek>(log: &mut Log<R>) -> Vec<Note> {
    let counted = |module: Module| COUNTED.contains(&module);
    // Calls without segments are still counted if their module has counters.
    let has_calls = |log: &Log<R>, module: Module| match module {
        Module::DxtPosix => !has(log, Module::Posix),
        Module::DxtMpiIo => !has(log, Module::MpiIo),
        Module::Mdhim => true,
        _ => counted(module),
    };
    let mut out = Vec::new();
    let mut say =
        |lacks: bool, what: String| out.push(if lacks { model::Note::lacks(&what) } else { model::Note::Said(what) });
    for module in log.partial().filter_map(|entry| entry.module) {
        say(
            has_calls(log, module),
            format!("{module} records of the log are incomplete (Darshan ran out of memory for them)"),
        );
    }
    for skipped in log.skipped() {
        match skipped.module {
            Some(module) => {
                let what = format!(
                    "{module} records (version {}) of the log are skipped: dxt-analyze does not read this version",
                    skipped.version
                );
                say(has_calls(log, module), what);
            }
            None => {
                say(true, format!("records of module {} of the log are skipped: the module is unknown", skipped.place));
            }
        }
    }
    for (module, fit) in log.unofficial() {
        let Some(fit) = fit else {
            say(
                has_calls(log, module),
                format!("unknown record layout: the {module} records, written by a modified Darshan, are not read"),
            );
            continue;
        };
        let one_length = !matches!(module, Module::Lustre | Module::DxtPosix | Module::DxtMpiIo | Module::Heatmap);
        let whose = if one_length { "" } else { "heads of " };
        let counts = if fit.counts_segments {
            "; their numbers of segments include kinds of calls that Darshan's releases do not record"
        } else {
            ""
        };
        let what = format!(
            "{whose}{module} records have {} bytes, {} more than Darshan's: the additional bytes, written by a modified Darshan, are not read{counts}",
            fit.bytes(),
            fit.extra
        );
        say(false, what);
    }
    for (region, bytes) in &log.info().padding {
        say(false, format!("{bytes} zero bytes before {region}, written by a modified Darshan, are skipped"));
    }
    out.iter().map(|note| Note { what: note.words().to_owned(), count: 0 }).collect()
}

pub(crate) fn has<R: Read + Seek>(log: &Log<R>, module: Module) -> bool {
    log.header().module(module).is_some_and(|entry| entry.region.length > 0)
}

/// Returns sentences on how the imported trace differs from a recorded one.
pub(crate) fn remarks<R: Read + Seek>(log: &Log<R>) -> Vec<String> {
    let has = |module| has(log, module);
    let mut out = vec![format!(
        "{}: counts, bytes and times are exact; the log has only one time for all metadata calls of a file together; it is shown with the opens, unless the time of a single open is known.",
        version(log)
    )];
    if has(Module::DxtPosix) || has(Module::DxtMpiIo) {
        out.push("DXT records no segments (single calls) of C streams, metadata calls and failed calls.".into());
    }
    if has(Module::DxtMpiIo) {
        out.push(
            "If a rank's MPI-IO calls on a file have several forms (independent, collective, nonblocking), the longest calls are assumed to be collective."
                .into(),
        );
    }
    if has(Module::DxtPosix) && has(Module::DxtMpiIo) {
        out.push(
            "POSIX calls are assumed to be inside an MPI-IO call of their rank if that call is on the same file and encloses them in time.".into(),
        );
    }
    out
}

pub(crate) fn process_info(info: &Info, rank: i64) -> ProcessInfo {
    let bounds = Bounds::of(info);
    ProcessInfo {
        rank: i32::try_from(rank).unwrap_or(-1),
        exe: exe(info),
        epoch_unix_ns: bounds.start_unix_ns,
        clock: ClockSource::Monotonic,
        clock_hz: 1_000_000_000,
        end_ns: bounds.end_ns(info),
        ended_by: "Darshan".into(),
        ..ProcessInfo::default()
    }
}
