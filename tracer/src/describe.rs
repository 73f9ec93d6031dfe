//! Builds the descriptions of the job and of this process that the trace stores, anonymized if required.

use crate::clock::{self, Calibration};
use crate::config::{self, Config};
use crate::{anonymize, job, mpi, ops};
use trace_format::meta::{Job, JobInfo, Mount, Mpi, ProcessInfo, SharedName};

/// Builds the job block of the trace from the data of this process and the given shared file names and mounts.
pub(crate) fn job(names: Vec<SharedName>, mounts: Vec<Mount>) -> Job {
    let identity = job::identity();
    let world = mpi::world();
    let mpi = world.map(|world| Mpi {
        ranks: world.size.unsigned_abs(),
        family: world.abi.family.to_owned(),
        version: world.version.clone(),
    });
    let info = JobInfo {
        key: mpi::job_key().unwrap_or(job::own_key()).to_owned(),
        scheduler: identity.map(|identity| identity.scheduler.clone()).unwrap_or_default(),
        uid: job::user(),
        exe: identity.map(|identity| identity.exe.clone()).unwrap_or_default(),
        args: identity.map(|identity| identity.args.clone()).unwrap_or_default(),
        cwd: identity.map(|identity| identity.cwd.clone()).unwrap_or_default(),
        start_unix_ns: identity.map_or(0, |identity| identity.start_unix_ns),
        mpi,
        tracer: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let settings = config::current().map(Config::describe).unwrap_or_default();
    anonymize::job(Job { info, ops: ops::table(), names, settings, mounts })
}

/// Returns identity and times of this process. `by`: function or signal that ends the process. The writer sets the fields that depend on segments.
pub(crate) fn process(by: &str, calibration: &Calibration) -> ProcessInfo {
    let identity = job::identity();
    let (pid, ppid) = job::process_ids();
    anonymize::process_info(ProcessInfo {
        rank: mpi::world().map_or(identity.map_or(-1, |identity| identity.rank), |world| world.rank),
        node: identity.map(|identity| identity.host.clone()).unwrap_or_default(),
        pid,
        ppid,
        exe: identity.map(|identity| identity.exe.clone()).unwrap_or_default(),
        epoch_unix_ns: calibration.epoch_unix_ns,
        clock: calibration.source,
        clock_hz: calibration.hz,
        sync_ns: mpi::sync_ticks().map(|ticks| calibration.scale.nanoseconds(ticks)),
        end_ns: calibration.scale.nanoseconds(clock::now()),
        ended_by: by.to_owned(),
        segments: 0,
        missing: 0,
        blocks: 0,
    })
}
