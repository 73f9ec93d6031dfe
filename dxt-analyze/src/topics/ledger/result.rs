//! Ledger: division of the run time by activity, for each process, and for the job as the sum of its processes.

use super::arrivals::Waits;
use super::busy::{Times, keeps_its_thread};
use super::parts::Parts;
use crate::model::{Interval, Op, Process, ProcessId, Run, Within};
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use crate::shared::ratio::share;
use crate::shared::totals::StreamTotal;
use crate::sum::Sum;
use serde::Serialize;
use std::cmp::Reverse;
use trace_format::op::{Layer, OpClass};

/// Run time of one process, divided by activity (reads, writes, waiting, ...).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessRow {
    /// MPI rank of the row's process; -1 for a process without MPI.
    pub rank: i32,
    /// Host name of the node on which the row's process runs.
    pub node: String,
    /// Id of the row's process.
    pub pid: u32,
    /// Number of processes in the row; above 1 for a reduced record, which stands for several ranks.
    pub processes: u64,
    /// Run time of the row, summed over its processes, ns.
    pub run_ns: u64,
    /// Division of the row's run time by activity (reads, writes, waiting, ...).
    #[serde(flatten)]
    pub parts: Parts,
}

/// Result of `ledger`: division of the run time by activity.
#[derive(Clone, Debug, Serialize)]
pub struct Ledger {
    /// Run time of the job, from the earliest start to the latest end of any process, ns.
    pub run_ns: u64,
    /// Number of processes included; ranks without a record count as ranks without I/O.
    pub processes: u64,
    /// Division by activity of the run time of all processes together.
    pub job: Parts,
    /// Share (0 to 1) of the run time of all processes that is spent in I/O calls.
    pub io_share: f64,
    /// True if waiting for the last rank is a separate part, which requires times of single calls.
    pub knows_waiting: bool,
    /// True if time in system calls inside MPI-IO and HDF5 is a separate part. False for Darshan logs with HDF5 or PnetCDF, which do not
    /// record nesting.
    pub knows_inside: bool,
    /// Sampling factor: waiting times are estimated from one in this many collective operations; 1 if from all.
    pub followed_one_in: u64,
    /// Duration of nonblocking and split operations, summed over processes, ns; in no part, since the program continues meanwhile.
    pub background_ns: u64,
    /// Time with at least one nonblocking or split operation in flight, summed over processes, ns.
    pub in_flight_ns: u64,
    /// True if calls that wait for asynchronous operations were recorded; the parts then include their time.
    pub knows_waits: bool,
    /// Division of each process's run time; processes with most time in I/O calls first.
    pub rows: Vec<ProcessRow>,
    /// Completeness of the trace.
    pub missing: Completeness,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    parts: Parts,
    /// Time of a process in blocking MPI-IO and HDF5 calls, ns.
    library_ns: u64,
    /// Time of a process in system calls made inside MPI-IO and HDF5 calls, ns.
    inside_ns: u64,
    background_ns: u64,
}

fn sums(run: &Run, totals: &[StreamTotal]) -> Vec<Sums> {
    let mut out = vec![Sums::default(); run.processes.len()];
    for total in totals {
        let Some((process, sums)) = run.process(total.process).zip(out.get_mut(total.process.index())) else {
            continue;
        };
        let Some(stream) = process.stream(total.stream) else { continue };
        let op = run.op(stream);
        let is_library = matches!(op.layer, Some(Layer::Mpiio | Layer::Hdf5 | Layer::Pnetcdf));
        let into = match stream.within() {
            Within::Overview => continue,
            Within::Mpiio | Within::Hdf5 if is_library => continue,
            // This time belongs to the operations that the library waits for, not to the library's own waiting.
            Within::Mpiio | Within::Hdf5 if op.class == Some(OpClass::Wait) => continue,
            Within::Mpiio | Within::Hdf5 => &mut sums.inside_ns,
            Within::Nothing if !keeps_its_thread(run, stream) => &mut sums.background_ns,
            Within::Nothing if is_library => &mut sums.library_ns,
            Within::Nothing => match op.class {
                Some(OpClass::Read) => &mut sums.parts.read_ns,
                Some(OpClass::Write) => &mut sums.parts.write_ns,
                Some(OpClass::Sync) => &mut sums.parts.sync_ns,
                Some(OpClass::Lock | OpClass::Unlock) => &mut sums.parts.lock_ns,
                Some(OpClass::Wait) => &mut sums.parts.asynchronous_ns,
                _ => &mut sums.parts.metadata_ns,
            },
        };
        *into = into.saturating_add(total.all.duration);
    }
    out
}

impl Sums {
    /// Returns the time in I/O calls, divided by activity. The parts inside MPI-IO and HDF5 calls never exceed the time in these calls.
    /// `waiting_ns`: time that the process waits in collective calls for the last rank.
    fn divided(&self, waiting_ns: u64) -> Parts {
        let mut parts = self.parts;
        parts.system_ns = self.inside_ns.min(self.library_ns);
        parts.waiting_ns = waiting_ns.min(self.library_ns - parts.system_ns);
        parts.library_ns = self.library_ns - parts.system_ns - parts.waiting_ns;
        parts
    }
}

/// True if the process has recorded calls that wait for asynchronous operations; calls that only poll for completion do not count.
#[must_use]
pub fn waits_on_record(run: &Run, process: &Process) -> bool {
    let is_wait = |op: &Op| op.class == Some(OpClass::Wait) && op.name == "wait";
    process.streams.iter().any(|stream| stream.within() == Within::Nothing && is_wait(run.op(stream)))
}

fn lifetime(process: &Process, last_ns: u64) -> u64 {
    process.end_ns.max(last_ns).saturating_sub(process.shift_ns)
}

/// Returns the part of a process's time in calls that was a wait for a processor, 0 to 1, and its wait outside of calls, ns: the mean over
/// its threads, for as long as any is sampled. `calls_ns`, `waits_ns`: sums of [`Times::cpu_waits`].
fn cpu_waits(process: &Process, (calls_ns, waits_ns): (u64, u64)) -> (f64, u64) {
    let (mut sampled, mut waits, mut longest) = (0_u64, 0_u64, 0_u64);
    for thread in process.cpu.threads() {
        let length = thread.iter().map(Interval::length_ns).sum::<Sum>().get();
        sampled = sampled.saturating_add(length);
        waits = waits.saturating_add(thread.iter().map(|of| of.wait_ns).sum::<Sum>().get());
        longest = longest.max(length);
    }
    let outside = share(waits.saturating_sub(waits_ns), sampled.saturating_sub(calls_ns));
    let most = longest as f64 * (1.0 - share(calls_ns, sampled));
    (share(waits_ns, calls_ns), (most * outside) as u64)
}

impl Ledger {
    /// Creates the ledger from `totals`. `busy`: wall-clock times in calls and with operations in flight; `waits`: times that processes
    /// wait in collective calls for the last rank.
    #[must_use]
    pub fn of(run: &Run, totals: &[StreamTotal], busy: &Times, waits: &Waits, lost: &Lost) -> Self {
        let mut last = vec![0_u64; run.processes.len()];
        for total in totals {
            let process = run.process(total.process);
            if let (Some(process), Some(last)) = (process, last.get_mut(total.process.index())) {
                *last = (*last).max(process.shift_ns.saturating_add(total.all.last_end));
            }
        }
        let ends = run.processes.iter().zip(&last).map(|(process, last)| process.end_ns.max(*last));
        let run_ns = ends.max().unwrap_or_default();
        let sums = sums(run, totals);
        let reduced = run.reduced_ranks();
        let mut rows: Vec<ProcessRow> = Vec::with_capacity(sums.len());
        for (((number, process), sums), last) in run.numbered_processes().zip(&sums).zip(&last) {
            let waiting = waits.by_process.get(&number).copied().unwrap_or_default();
            let folded = process.met.iter().map(|met| met.counters.duration).sum::<Sum>().get();
            let sync_point = waits.sync_point.get(&number).copied().unwrap_or_default().saturating_add(folded);
            let parts = Parts { meeting_ns: sync_point, ..sums.divided(waiting) };
            // A reduced record covers ranks that have rows of their own: it adds to their time in calls, not to their run time.
            let stands_for = if process.reduction.is_none() { 1 } else { u64::from(process.reduction.ranks) };
            let life = lifetime(process, *last);
            let total = life.saturating_mul(stands_for);
            let in_calls = busy.calls.get(&number).copied().unwrap_or(u64::MAX);
            let parts = parts.within(total, in_calls);
            let (of_calls, outside_ns) = cpu_waits(process, busy.cpu_waits.get(&number).copied().unwrap_or_default());
            rows.push(ProcessRow {
                rank: process.rank,
                node: run.node(process).to_owned(),
                pid: process.pid,
                processes: stands_for,
                run_ns: total,
                parts: parts.without_cpu_waits(of_calls, outside_ns),
            });
        }
        // Calls that a rank makes after MPI_Finalize count for the rank.
        let continuations = run.continuations();
        for (later, first) in &continuations {
            let Some(later) = rows.get(later.index()).cloned() else { continue };
            if let Some(row) = rows.get_mut(first.index()) {
                row.run_ns = row.run_ns.max(later.run_ns);
                row.parts.add(&Parts { no_io_ns: 0, ..later.parts });
                row.parts = row.parts.within(row.run_ns, u64::MAX);
            }
        }
        let known = if run.was_log() { run.info.mpi.as_ref().map_or(0, |mpi| u64::from(mpi.ranks)) } else { 0 };
        let processes = run.worker_count().max(known);
        let (mut job, mut lives) = (Parts::default(), 0_u64);
        let works = run.is_worker();
        for (row, process) in rows.iter().zip(&run.processes).filter(|(_, process)| works(process)) {
            job.add(&Parts { no_io_ns: 0, ..row.parts });
            if process.reduction.is_none() {
                lives = lives.saturating_add(row.run_ns);
            }
        }
        // Ranks without a row are only in the reduced record, or did no I/O.
        let single = run.workers().filter(|process| process.reduction.is_none()).count() as u64;
        let total = lives.saturating_add(processes.max(reduced).saturating_sub(single).saturating_mul(run_ns));
        let mut job = job.within(total, u64::MAX);
        let background = sums.iter().map(|one| one.background_ns).sum::<Sum>().get();
        let overview = run.processes.iter().flat_map(|process| &process.streams).any(|stream| stream.overview);
        let mut number = 0..;
        rows.retain(|_| number.next().is_none_or(|number| !continuations.contains_key(&ProcessId(number))));
        rows.sort_by_key(|row| (Reverse(row.parts.io_ns()), row.rank, row.pid));
        let missing = Completeness::of(run, lost);
        rows.iter_mut()
            .map(|row| &mut row.parts)
            .chain([&mut job])
            .for_each(|parts| parts.partial = missing.lower_bounds);
        Self {
            run_ns,
            processes: processes.max(reduced),
            job,
            io_share: job.io_share(),
            knows_waiting: run.segments() > 0 && run.window.is_none(),
            knows_inside: !overview,
            followed_one_in: waits.one_in.max(1),
            background_ns: background,
            in_flight_ns: busy.flights.values().copied().sum::<Sum>().get(),
            knows_waits: run.processes.iter().any(|process| waits_on_record(run, process)),
            rows,
            missing,
        }
    }
}
