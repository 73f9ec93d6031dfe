//! Asynchronous operations that overlap no computation: the program waits for them right after starting them, or the starting calls do the work
//! themselves.

use crate::cube::{Cell, split_files};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, Process, ProcessId, Run};
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::topics::ledger::busy::has_threads;
use crate::topics::ledger::result::waits_on_record;
use crate::words::verdict::{NoOverlap, no_overlap};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Time for which calls on asynchronous operations block one process, ns.
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

/// Returns one claim (finding with its saving) about asynchronous operations that could overlap computation; `None` if there are none.
pub(crate) fn claim(whole: &Whole<'_>) -> Option<Claim> {
    let (cube, ledger) = (&whole.causes.cube, &whole.ledger.result);
    let run = cube.run;
    let mut by: BTreeMap<ProcessId, Kept> = BTreeMap::new();
    // In a process with several threads, others may compute while one waits.
    let alone = |process: &&Process| !has_threads(process) && waits_on_record(run, process);
    let asked: FxHashSet<ProcessId> =
        run.numbered_processes().filter(|(_, process)| alone(process)).map(|(number, _)| number).collect();
    let split = split(run);
    let is_wait = |cell: &Cell| is_wait(cell) && !split.contains(&(cell.process, cell.file));
    for cell in cube.cells.iter().filter(|cell| is_wait(cell)) {
        let Some(op) = cube.stream(cell).map(|stream| run.op(stream)) else { continue };
        if !asked.contains(&cell.process) {
            continue;
        }
        let ns = cell.sums.time_ns as f64;
        let is = |whether: bool| if whether { ns } else { 0.0 };
        by.entry(cell.process).or_default().add(&Kept {
            all: ns,
            handing_over: is(op.name == "submit"),
            of_mpi: is(op.layer == Some(Layer::Mpiio)),
            calls: cell.sums.calls,
            in_flight: 0.0,
        });
    }
    for (process, kept) in &mut by {
        kept.in_flight = whole.ledger.busy.flights.get(process).copied().unwrap_or_default() as f64;
    }
    by.retain(|_, kept| kept.in_flight > 0.0 && kept.all >= kept.in_flight * run.thresholds.nearly_all_share);
    let mut sum = Kept::default();
    by.values().for_each(|kept| sum.add(kept));
    // Operations can overlap at most the process's time without I/O.
    let computes: BTreeMap<(&str, u32, i32), u64> =
        ledger.rows.iter().map(|row| ((row.node.as_str(), row.pid, row.rank), row.parts.no_io_ns)).collect();
    let part = |number: ProcessId| {
        let (kept, process) = (by.get(&number)?, run.process(number)?);
        let computes = *computes.get(&(run.node(process), process.pid, process.rank))? as f64;
        Some((computes / kept.all).min(1.0))
    };
    let mut savings = Vec::new();
    let mut unseen: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| is_wait(cell)) {
        let Some(part) = part(cell.process) else { continue };
        // Calls far longer than their peers have findings of their own.
        let kept = cell.time_ns() - cell.beyond_ns(1.0);
        if cell.leaf {
            savings.push((index, kept * part));
        } else {
            *unseen.entry(cell.process).or_default() += kept * part;
        }
    }
    if by.is_empty() {
        return None;
    }
    let waiting_ns = unseen.values().sum::<f64>() / ledger.processes.max(1) as f64;
    let finding = finding(run, &by, &sum);
    Some(Claim { waiting_ns, ..Claim::new(finding, savings) })
}

/// Returns the (process, file) pairs with split collective calls. The library decides where such calls do their work (MPI 4.0, 14.4.5), and
/// processes wait for each other as in any collective call.
fn split(run: &Run) -> FxHashSet<(ProcessId, FileId)> {
    let of = |(number, process): (ProcessId, &Process)| {
        split_files(run, process).into_iter().map(move |file| (number, file)).collect::<Vec<_>>()
    };
    run.numbered_processes().flat_map(of).collect()
}

fn is_wait(cell: &Cell) -> bool {
    matches!(cell.class, Class::Wait | Class::HandOver) && !cell.inside
}

fn finding(run: &Run, by: &BTreeMap<ProcessId, Kept>, sum: &Kept) -> Finding {
    let most = by.iter().max_by(|a, b| a.1.all.total_cmp(&b.1.all)).filter(|_| by.len() > 1);
    let facts = NoOverlap {
        mpi: sum.of_mpi > sum.all / 2.0,
        inside_submit: sum.handing_over >= sum.all * run.thresholds.half_share,
        in_flight_ns: sum.in_flight as u64,
        kept_ns: sum.all as u64,
        submitting_ns: sum.handing_over as u64,
        calls: sum.calls,
        processes: by.len() as u64,
        most: most.map(|(process, kept)| (run.process_name(*process), kept.all as u64)),
    };
    let about = About {
        calls: Some(sum.calls),
        time_ns: Some(sum.all as u64),
        operation: Some(facts.operation().into()),
        ..About::default()
    };
    Finding::new(Code::NO_OVERLAP, no_overlap(&facts)).with(about)
}
