//! A program that computes and does I/O alternately, where nothing else is to blame for the time of its I/O: both could go on at once. That is
//! another program rather than a fault of this one, so it is worth knowing and no more.

use crate::findings::{About, Code, Explains, Finding, Saving};
use crate::model::Class;
use crate::topics::Whole;
use crate::topics::ledger::busy::has_threads;
use crate::words::verdict::by_turns;

/// Share of the run time that might be saved, from which it is said.
const LEAST: f64 = 0.1;
/// Fewest times that I/O comes again.
const BURSTS: u64 = 4;
/// Part of the I/O that is in reads or in writes, at least.
const MOST: f64 = 0.6;

/// Time in calls of a class, ns, and in how many phases it is.
fn of_class(whole: &Whole<'_>, class: Class) -> (f64, u64) {
    let grid = &whole.causes.grid;
    let mut busy = vec![false; grid.slots.phases()];
    let mut time = 0.0;
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == class) {
        time += entry.left_ns;
        if let Some(phase) = busy.get_mut(grid.phase(entry)) {
            *phase = true;
        }
    }
    (time, busy.into_iter().filter(|busy| *busy).count() as u64)
}

/// What could go on at once, if the run is such a one.
pub(crate) fn finding(whole: &Whole<'_>) -> Option<Finding> {
    let (grid, ledger) = (&whole.causes.grid, &whole.ledger.result);
    let run_ns = whole.causes.result.run_ns;
    let (read, reads) = of_class(whole, Class::Read);
    let (write, writes) = of_class(whole, Class::Write);
    let bursts = if read > write { reads } else { writes };
    let processes = ledger.processes.max(1);
    let (io_ns, computes_ns) = (ledger.job.io_ns() / processes, ledger.job.no_io_ns / processes);
    // Where others compute while one thread does I/O, that is what the thread is for.
    let threads = grid.run.processes.iter().any(has_threads);
    if bursts < BURSTS || threads || read.max(write) < (ledger.job.io_ns() as f64) * MOST {
        return None;
    }
    // The first piece is read, and the last one written, while there is nothing to compute.
    let saves_ns = (io_ns.min(computes_ns) as f64 * (1.0 - 1.0 / bursts as f64)) as u64;
    if (saves_ns as f64) < run_ns as f64 * LEAST {
        return None;
    }
    let reads = read > write;
    let operation = if reads { "reads" } else { "writes" };
    Some(Finding {
        saving: Some(Saving {
            saves_ns,
            saves_low_ns: None,
            saves_high_ns: None,
            explains: Explains { time_ns: 0, millionths: 0 },
        }),
        about: About { operation: Some(operation.into()), ..About::default() },
        ..Finding::new(Code::BY_TURNS, by_turns(reads, bursts, io_ns, computes_ns))
    })
}
