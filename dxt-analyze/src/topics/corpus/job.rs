//! Row of `corpus` that describes one job.

use super::interface::{INTERFACES, Interface, InterfaceSum, sums as interface_sums};
use super::share::{ShareOfTime, slowest_ns};
use crate::findings::Code;
use crate::model::Run;
use crate::shared::mpiio_time::MpiioTime;
use crate::shared::sums::{self, Called};
use crate::shared::totals::StreamTotal;
use crate::sum::Sum;
use crate::topics::summary::result::Summary;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// Format of a job's input files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Input files are traces recorded by this project's tracer.
    Trace,
    /// Input file is a log written by Darshan.
    Darshan,
}

impl Form {
    /// Returns the name of the format for columns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Darshan => "darshan",
        }
    }
}

/// Row that describes one job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Job key, as in `export`. Of Darshan logs with equal job id and start, later ones get `~2`, `~3`, ... appended.
    pub job: String,
    /// Path of the job's first input file (trace or log).
    pub source: String,
    /// Number of the job's input files (traces or logs).
    pub sources: u64,
    /// Format of the job's input files: trace or Darshan log.
    pub form: Form,
    /// Job id of the batch scheduler; rows share it if a batch job ran several programs.
    pub batch: String,
    /// User id of the job's owner; `None` if not known.
    pub uid: Option<u32>,
    /// User name of the job's owner; `None` if this machine does not know it.
    pub user_name: Option<String>,
    /// Name of the program: last part of the executable's path.
    pub program: String,
    /// Path of the program's executable.
    pub exe: String,
    /// Start of the job, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Start of the job, as text (date and time).
    pub start: String,
    /// Time from the earliest start to the last end of a process, ns.
    pub runtime_ns: u64,
    /// Number of ranks of the job; without MPI, number of its processes.
    pub ranks: u64,
    /// Number of the job's processes that were recorded.
    pub processes: u64,
    /// Number of nodes of the job; `None` for Darshan logs.
    pub nodes: Option<u64>,
    /// Number of files that the job used.
    pub files: u64,
    /// Number, bytes and time of calls that the program itself made, without calls made inside them.
    #[serde(flatten)]
    pub called: Called,
    /// Time in I/O calls of every kind, summed over processes, ns.
    pub io_ns: u64,
    /// Share of the run time spent in I/O, mean over ranks; see [`super::share`].
    pub io_share: Option<f64>,
    /// Time in I/O calls of the rank with most time in them, ns.
    pub slowest_ns: u64,
    /// Share of the run time that this slowest rank spent in I/O: `slowest_ns` / `runtime_ns`.
    pub slowest_share: Option<f64>,
    /// Number of calls, bytes and time by I/O interface.
    #[serde(serialize_with = "by_name")]
    pub interfaces: BTreeMap<Interface, InterfaceSum>,
    /// Time in MPI-IO calls, and in POSIX calls and file locks inside MPI-IO.
    #[serde(default)]
    pub inside_mpiio: MpiioTime,
    /// Time in POSIX calls made inside MPI-IO, summed over processes, ns.
    #[serde(default)]
    pub posix_in_mpiio_ns: u64,
    /// Time in acquiring file locks inside MPI-IO, ns; `None` for Darshan logs, which do not record locks.
    #[serde(default)]
    pub lock_ns: Option<u64>,
    /// Time in releasing file locks inside MPI-IO, ns; `None` for Darshan logs, which do not record locks.
    #[serde(default)]
    pub unlock_ns: Option<u64>,
    /// Number of operations that have only counters because memory for segments was full: findings may be incomplete.
    pub missing_segments: u64,
    /// True if no data of the job is missing or damaged.
    pub complete: bool,
    /// Number of places in the input files that could not be read.
    pub problems: u64,
    /// Number of findings; `None` if the job was not analyzed for findings.
    pub findings: Option<u64>,
    /// Codes of the (at most three) most costly findings.
    pub top_findings: Vec<Code>,
}

fn by_name<S: Serializer>(sums: &BTreeMap<Interface, InterfaceSum>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(INTERFACES.map(|(interface, name)| (name, sums.get(&interface).copied().unwrap_or_default())))
}

impl JobRow {
    /// Completes a row read from JSON: removes unused interfaces, and recomputes the shares, which text does not preserve exactly.
    pub(super) fn restore(&mut self) {
        self.interfaces.retain(|_, sum| sum.used);
        self.io_share = self.time().share();
        self.slowest_share = share_of(self.slowest_ns, self.runtime_ns);
    }

    /// Returns the totals of the calls through one interface.
    #[must_use]
    pub fn interface(&self, interface: Interface) -> InterfaceSum {
        self.interfaces.get(&interface).copied().unwrap_or_default()
    }

    /// Returns the totals of independent and collective MPI-IO calls together.
    #[must_use]
    pub fn mpiio(&self) -> InterfaceSum {
        let mut sum = self.interface(Interface::MpiioIndependent);
        sum.add(&self.interface(Interface::MpiioCollective));
        sum
    }

    /// True if the program used MPI-IO, independent or collective.
    #[must_use]
    pub fn uses_mpiio(&self) -> bool {
        self.mpiio().used
    }

    /// Returns the sum of the bytes that the program read and wrote.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.called.bytes_read.saturating_add(self.called.bytes_written)
    }

    /// Returns the time in I/O calls and the available rank time (ranks x run time), ns.
    #[must_use]
    pub fn time(&self) -> ShareOfTime {
        ShareOfTime { io_ns: self.io_ns.into(), ranks_ns: u128::from(self.ranks) * u128::from(self.runtime_ns) }
    }
}

/// Input files of a job.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// Path of the job's first input file (trace or log).
    pub source: String,
    /// Number of the job's input files (traces or logs).
    pub sources: u64,
    /// True if the job's input is a Darshan log, false for traces.
    pub darshan: bool,
}

fn share_of(slowest_ns: u64, runtime_ns: u64) -> Option<f64> {
    ShareOfTime { io_ns: slowest_ns.into(), ranks_ns: runtime_ns.into() }.share()
}

/// Returns the row of a job; findings are added later.
#[must_use]
pub fn job(run: &Run, summary: &Summary, totals: &[StreamTotal], read: Read) -> JobRow {
    let of_job = &summary.job;
    let ranks = match summary.ranks.max(of_job.mpi_ranks.into()) {
        0 => summary.processes,
        ranks => ranks,
    };
    let interfaces = interface_sums(run, totals.iter());
    let called = Called {
        operations: sums::by_process(run, totals).iter().map(|one| one.called.operations).sum::<Sum>().get(),
        bytes_read: summary.bytes_read,
        bytes_written: summary.bytes_written,
        read_ns: summary.read_ns,
        write_ns: summary.write_ns,
        other_ns: summary.other_ns,
    };
    let io_ns = called.time_ns();
    let mean_ns = io_ns / ranks.max(1);
    let slowest_ns = slowest_ns(run, totals, mean_ns);
    let inside = MpiioTime::of(run, totals);
    let mut row = JobRow {
        job: of_job.key.clone(),
        source: read.source,
        sources: read.sources,
        form: if read.darshan { Form::Darshan } else { Form::Trace },
        batch: of_job.scheduler.clone(),
        // A log can lack a valid user id.
        uid: Some(of_job.uid).filter(|&uid| uid != u32::MAX),
        user_name: None,
        program: of_job.exe.rsplit('/').next().unwrap_or_default().to_owned(),
        exe: of_job.exe.clone(),
        start_unix_ns: of_job.start_unix_ns,
        start: of_job.start.clone(),
        runtime_ns: of_job.runtime_ns,
        ranks,
        processes: summary.processes,
        nodes: summary.nodes.filter(|_| !read.darshan),
        files: summary.files,
        called,
        io_ns,
        io_share: None,
        slowest_ns,
        slowest_share: share_of(slowest_ns, of_job.runtime_ns),
        interfaces,
        inside_mpiio: inside,
        posix_in_mpiio_ns: inside.posix.time_ns,
        lock_ns: (!read.darshan).then_some(inside.locks.time_ns),
        unlock_ns: (!read.darshan).then_some(inside.unlocks.time_ns),
        missing_segments: summary.missing_segments,
        complete: summary.missing.complete,
        problems: summary.missing.problem_count,
        findings: None,
        top_findings: Vec::new(),
    };
    row.io_share = row.time().share();
    row
}
