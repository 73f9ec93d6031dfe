//! Asynchronous operations that nothing overlaps: the program waits for them as soon as it has handed them over, or hands them over in calls that
//! do the work themselves.

use crate::findings::{About, Code, Evidence, Finding};
use crate::model::{FileId, Process, ProcessId, Run};
use crate::text::units;
use crate::topics::Whole;
use crate::topics::causes::claim::{self, Claim};
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, split_files};
use crate::topics::ledger::busy::has_threads;
use crate::topics::ledger::result::waits_on_record;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Part of the time with an operation in flight that the program is kept by them, from which nothing overlaps.
const KEPT: f64 = 0.9;
/// Part of the time kept that is in handing over, from which that does the work.
const HANDING_OVER: f64 = 0.5;

/// Time that a process is kept, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    all: f64,
    handing_over: f64,
    of_mpi: f64,
    calls: u64,
    in_flight: f64,
}

impl Kept {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.handing_over += other.handing_over;
        self.of_mpi += other.of_mpi;
        self.calls = self.calls.saturating_add(other.calls);
        self.in_flight += other.in_flight;
    }
}

/// What could go on while the program computes.
pub(crate) fn claim(whole: &Whole<'_>) -> Option<Claim> {
    let (grid, ledger) = (&whole.causes.grid, &whole.ledger.result);
    let run = grid.run;
    let mut by: BTreeMap<ProcessId, Kept> = BTreeMap::new();
    // Where others compute while one thread waits, that is what the thread is for.
    let alone = |process: &&Process| !has_threads(process) && waits_on_record(run, process);
    let asked: FxHashSet<ProcessId> =
        run.numbered_processes().filter(|(_, process)| alone(process)).map(|(number, _)| number).collect();
    let split = split(run);
    let is_wait = |entry: &Entry| is_wait(entry) && !split.contains(&(entry.process, entry.file));
    for entry in grid.entries.iter().filter(|entry| is_wait(entry)) {
        let Some(op) = grid.stream(entry).map(|stream| run.op(stream)) else { continue };
        if !asked.contains(&entry.process) {
            continue;
        }
        let ns = entry.cell.time_ns as f64;
        let is = |whether: bool| if whether { ns } else { 0.0 };
        by.entry(entry.process).or_default().add(&Kept {
            all: ns,
            handing_over: is(op.name == "submit"),
            of_mpi: is(op.layer == Some(Layer::Mpiio)),
            calls: entry.cell.calls,
            in_flight: 0.0,
        });
    }
    for (process, kept) in &mut by {
        kept.in_flight = whole.ledger.busy.flights.get(process).copied().unwrap_or_default() as f64;
    }
    by.retain(|_, kept| kept.in_flight > 0.0 && kept.all >= kept.in_flight * KEPT);
    let mut sum = Kept::default();
    by.values().for_each(|kept| sum.add(kept));
    // What a process computes for could go on meanwhile.
    let computes: BTreeMap<(&str, u32, i32), u64> =
        ledger.rows.iter().map(|row| ((row.node.as_str(), row.pid, row.rank), row.parts.no_io_ns)).collect();
    let part = |number: ProcessId| {
        let (kept, process) = (by.get(&number)?, run.process(number)?);
        let computes = *computes.get(&(run.node(process), process.pid, process.rank))? as f64;
        Some((computes / kept.all).min(1.0))
    };
    let mut shortened = Vec::new();
    let mut unseen: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for (index, entry) in (0_u32..).zip(&grid.entries).filter(|(_, entry)| is_wait(entry)) {
        let Some(part) = part(entry.process) else { continue };
        // What takes far longer than its like is a matter of its own.
        let kept = entry.left_ns - entry.beyond_ns(1.0);
        if entry.leaf {
            shortened.push((index, kept * part));
        } else {
            *unseen.entry(entry.process).or_default() += kept * part;
        }
    }
    if by.is_empty() {
        return None;
    }
    let waiting_ns = unseen.values().sum::<f64>() / ledger.processes.max(1) as f64;
    let finding = finding(run, &by, &sum);
    Some(Claim { waiting_ns, ..Claim::new(finding, shortened) })
}

/// Files that processes use split collective calls on: where these do their work, in the call that begins them, in the one that ends them, or between,
/// is the library's matter (MPI 4.0, 14.4.5), and whoever makes them waits for others as in any collective call.
fn split(run: &Run) -> FxHashSet<(ProcessId, FileId)> {
    let of = |(number, process): (ProcessId, &Process)| {
        split_files(run, process).into_iter().map(move |file| (number, file)).collect::<Vec<_>>()
    };
    run.numbered_processes().flat_map(of).collect()
}

fn is_wait(entry: &Entry) -> bool {
    matches!(entry.class, Class::Wait | Class::HandOver) && !entry.inside
}

fn finding(run: &Run, by: &BTreeMap<ProcessId, Kept>, sum: &Kept) -> Finding {
    let what = if sum.of_mpi > sum.all / 2.0 { "nonblocking MPI-IO" } else { "asynchronous I/O" };
    let hands = sum.handing_over >= sum.all * HANDING_OVER;
    let time = units::duration(sum.all as u64);
    let title = if hands {
        format!(
            "{what} runs inside the calls that should only start it: {} in these calls",
            units::duration(sum.handing_over as u64)
        )
    } else {
        format!("the program waits {time} for {what} right after starting it, and computes nothing in between")
    };
    let hint = match (hands, sum.of_mpi > sum.all / 2.0) {
        (true, true) => {
            "use your own thread with blocking calls (MPI_THREAD_MULTIPLE), or an I/O library that has one (ADIOS2, HDF5's asynchronous connector): this MPI \
             library does the I/O inside the nonblocking call"
        }
        (true, false) => {
            "use a thread or io_uring: io_submit(2) works in the background only for files opened with O_DIRECT, on file systems that support this"
        }
        (false, true) => {
            "compute between the call and its MPI_Wait: alternate two buffers, and wait for the I/O of a step when the next step is ready"
        }
        (false, false) => {
            "compute between submitting and waiting: alternate two buffers, and wait for the I/O of a step when the next step is ready"
        }
    };
    let mut evidence: Vec<Evidence> = vec![
        format!(
            "in flight for {}, of which the program spends {time} in {} that submit or wait ({} submitting)",
            units::duration(sum.in_flight as u64),
            units::counted(sum.calls, "call"),
            units::duration(sum.handing_over as u64)
        )
        .into(),
    ];
    let most = by.iter().max_by(|a, b| a.1.all.total_cmp(&b.1.all)).filter(|_| by.len() > 1);
    evidence.extend(most.map(|(process, kept)| {
        Evidence::from(format!(
            "{}; most in {}: {}",
            units::counted(by.len() as u64, "process"),
            run.process_name(*process),
            units::duration(kept.all as u64)
        ))
    }));
    let about = About {
        calls: Some(sum.calls),
        time_ns: Some(sum.all as u64),
        operation: Some(what.into()),
        ..About::default()
    };
    claim::finding(Code::NO_OVERLAP, title, evidence, hint).with(about)
}
