//! The line of the first screen that names the job.

use super::result::JobLine;
use crate::text::units;
use crate::topics::Whole;
use crate::topics::summary::result::Summary;

pub(super) fn job_line(whole: &Whole<'_>, run_ns: u64) -> JobLine {
    let (summary, run): (&Summary, _) = (&whole.summary, whole.causes.cube.run);
    let job = &summary.job;
    let mut systems: Vec<String> =
        run.files.iter().filter(|file| file.name.starts_with('/')).map(|file| run.place_of(file)).collect();
    systems.sort();
    systems.dedup();
    JobLine {
        command: if job.args.is_empty() { job.exe.clone() } else { job.args.join(" ") },
        uid: job.uid,
        scheduler: job.scheduler.clone(),
        start: job.start.clone(),
        run_ns,
        processes: if summary.ranks > 0 {
            units::counted(summary.ranks, "rank")
        } else {
            units::counted(summary.processes, "process")
        },
        nodes: units::nodes(summary.nodes),
        mpi: job.mpi.clone(),
        file_systems: systems,
    }
}
