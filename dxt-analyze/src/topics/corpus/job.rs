//! The row of a job.

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

/// What jobs are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Traces.
    Trace,
    /// A Darshan log.
    Darshan,
}

impl Form {
    /// Its name in columns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Darshan => "darshan",
        }
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its key: that of `export`. Of Darshan logs with one job id and start, later ones have `~2` and so on behind it.
    pub job: String,
    /// The first of its files.
    pub source: String,
    /// How many files it was read from.
    pub sources: u64,
    /// What it was read from.
    pub form: Form,
    /// The scheduler's job id; several rows have the same if a batch job ran several programs.
    pub batch: String,
    /// User id, if it is known.
    pub uid: Option<u32>,
    /// User's name, if this machine knows it.
    pub user_name: Option<String>,
    /// Last part of the executable's path.
    pub program: String,
    /// Executable.
    pub exe: String,
    /// Start, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// The same for people.
    pub start: String,
    /// From the earliest start to the last end, ns.
    pub runtime_ns: u64,
    /// Ranks that the job had; without ranks, its processes.
    pub ranks: u64,
    /// Processes on record.
    pub processes: u64,
    /// Nodes; not known of Darshan logs.
    pub nodes: Option<u64>,
    /// Files used.
    pub files: u64,
    /// What the program called.
    #[serde(flatten)]
    pub called: Called,
    /// Time in calls of every kind, ns.
    pub io_ns: u64,
    /// Mean over ranks of the share of the runtime that went into I/O: see [`super::share`].
    pub io_share: Option<f64>,
    /// Time in I/O of the rank that had most, ns.
    pub slowest_ns: u64,
    /// Its share of the runtime.
    pub slowest_share: Option<f64>,
    /// What went through each interface.
    #[serde(serialize_with = "by_name")]
    pub interfaces: BTreeMap<Interface, InterfaceSum>,
    /// MPI-IO, and POSIX and locks inside it.
    #[serde(default)]
    pub inside_mpiio: MpiioTime,
    /// Of it, time in POSIX, ns.
    #[serde(default)]
    pub posix_in_mpiio_ns: u64,
    /// Of that, time in locks, ns; `None` of a Darshan log, which does not have them.
    #[serde(default)]
    pub lock_ns: Option<u64>,
    /// The same of giving locks back.
    #[serde(default)]
    pub unlock_ns: Option<u64>,
    /// Operations that have no segment for want of room: findings may lack something.
    pub missing_segments: u64,
    /// Whether nothing is missing and nothing damaged.
    pub complete: bool,
    /// Places that could not be read.
    pub problems: u64,
    /// Findings; `None` if none were looked for.
    pub findings: Option<u64>,
    /// Those that cost most, at most three.
    #[serde(deserialize_with = "super::sent::codes_of")]
    pub top_findings: Vec<Code>,
}

fn by_name<S: Serializer>(sums: &BTreeMap<Interface, InterfaceSum>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(INTERFACES.map(|(interface, name)| (name, sums.get(&interface).copied().unwrap_or_default())))
}

impl JobRow {
    /// Makes a row that was read from JSON again what it was: interfaces that were not used are no entries, and shares are computed,
    /// as text does not carry each of their bits.
    pub(super) fn restore(&mut self) {
        self.interfaces.retain(|_, sum| sum.used);
        self.io_share = self.time().share();
        self.slowest_share = share_of(self.slowest_ns, self.runtime_ns);
    }

    /// What went through an interface.
    #[must_use]
    pub fn interface(&self, interface: Interface) -> InterfaceSum {
        self.interfaces.get(&interface).copied().unwrap_or_default()
    }

    /// What went through MPI-IO in either form.
    #[must_use]
    pub fn mpiio(&self) -> InterfaceSum {
        let mut sum = self.interface(Interface::MpiioIndependent);
        sum.add(&self.interface(Interface::MpiioCollective));
        sum
    }

    /// Whether MPI-IO was used, in whichever way.
    #[must_use]
    pub fn uses_mpiio(&self) -> bool {
        self.mpiio().used
    }

    /// Bytes read and written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.called.bytes_read.saturating_add(self.called.bytes_written)
    }

    /// Time in I/O and time that there was.
    #[must_use]
    pub fn time(&self) -> ShareOfTime {
        ShareOfTime { io_ns: self.io_ns.into(), ranks_ns: u128::from(self.ranks) * u128::from(self.runtime_ns) }
    }
}

/// What a job was read from.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// The first file.
    pub source: String,
    /// Number of files.
    pub sources: u64,
    /// Whether it is a Darshan log.
    pub darshan: bool,
}

fn share_of(slowest_ns: u64, runtime_ns: u64) -> Option<f64> {
    ShareOfTime { io_ns: slowest_ns.into(), ranks_ns: runtime_ns.into() }.share()
}

/// The row of a job whose findings are not known yet.
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
        // A log can have none that is valid.
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
