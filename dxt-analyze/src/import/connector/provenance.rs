//! Job description of a trace made from the connector's rows, and remarks on how such a trace differs from a recorded one.

use super::jobs::{Job, MOST_JOBS, Survey};
use super::row::table;
use crate::model::Problem;
use crate::model::converted::SOURCE;
use crate::text::paths::shown;
use crate::text::units::agree;
use std::path::Path;
use trace_format::meta::{self, JobInfo, Mpi};

pub(super) fn key(job: &Job) -> String {
    format!("ldms-{}", job.id)
}

pub(super) fn block(job: &Job, form: &str) -> meta::Job {
    let tracer = format!("LDMS-Darshan connector, {form}");
    let is_mpi = job.last_rank > 0 || job.layers.1;
    let ranks = u32::try_from(job.last_rank).unwrap_or(0).saturating_add(1);
    meta::Job {
        info: JobInfo {
            key: key(job),
            scheduler: job.id.clone(),
            uid: job.uid.unwrap_or(u32::MAX),
            exe: job.exe.clone(),
            args: if job.exe.is_empty() { Vec::new() } else { vec![job.exe.clone()] },
            cwd: Vec::new(),
            start_unix_ns: job.start_unix_ns,
            mpi: is_mpi.then(|| Mpi { ranks, family: "MPI".into(), version: String::new() }),
            tracer: tracer.clone(),
        },
        ops: table(),
        settings: vec![(SOURCE.to_owned(), tracer)],
        ..meta::Job::default()
    }
}

/// Returns sentences on how the imported trace differs from a recorded one. `unknown` is the number of calls on files without a name.
pub(super) fn remarks(path: &Path, job: &Job, form: &str, unknown: u64) -> Vec<String> {
    let mut out = vec![format!(
        "The LDMS-Darshan connector ({form}) records only opens, reads, writes and closes that succeeded, with times to the microsecond."
    )];
    if unknown > 0 {
        out.push(format!(
            "{}: {unknown} of {} calls {}: no row of an open call gives the path for {} record_id, or the record_id was rounded.",
            shown(path),
            job.calls,
            agree(unknown, "is on an unknown file", "are on unknown files"),
            agree(unknown, "its", "their")
        ));
    }
    if job.rounded > 0 {
        let have = agree(job.rounded, "has a time that was", "have times that were");
        out.push(format!(
            "{} of {} calls {have} rounded before the import, as spreadsheets do (1.7E+09 instead of 1700000123.456).",
            job.rounded, job.calls
        ));
    }
    if job.layers == (true, true) {
        out.push(
            "POSIX calls are assumed to be inside an MPI-IO call of their rank if that call is on the same file and encloses them in time.".into(),
        );
    }
    if job.has_no_rank {
        out.push("Processes without a rank are combined into one process per node.".into());
    }
    out
}

/// Returns the problems of the whole file: damaged rows, too many jobs, too many names.
pub(super) fn problems(path: &Path, survey: &Survey) -> Vec<Problem> {
    let problem = |offset, what| Problem { file: shown(path), offset, what };
    let damaged = survey.damaged.iter().map(|(first, count)| {
        let who = match count {
            1 => format!("line {} is skipped", first.line),
            2 => format!("line {} and another one are skipped", first.line),
            count => format!("line {} and {} others are skipped", first.line, count - 1),
        };
        problem(first.offset, format!("{who}: {}; correct or remove the damaged lines", first.why))
    });
    let beyond = (survey.left_out > 0).then(|| {
        let what = format!(
            "{} {} skipped: the file has more than {MOST_JOBS} jobs; split the file",
            survey.left_out,
            agree(survey.left_out, "call is", "calls are")
        );
        problem(0, what)
    });
    damaged.chain(beyond).chain(survey.names.room().problem(path)).collect()
}
