//! Programs that alternate between computation and I/O, where nothing else explains the time of I/O: the two could overlap. Reported as
//! information only, since overlapping needs changes of the program's structure.

use crate::findings::{About, Code, Explains, Finding, Saving};
use crate::model::Class;
use crate::topics::Whole;
use crate::topics::ledger::busy::has_threads;
use crate::words::verdict::by_turns;

/// Returns the run time in calls of a class (reads, writes, opens and so on), ns, and the number of phases with such calls.
fn of_class(whole: &Whole<'_>, class: Class) -> (f64, u64) {
    let cube = &whole.causes.cube;
    let mut busy = vec![false; cube.slots.phases()];
    let mut time = 0.0;
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == class) {
        time += cell.time_ns();
        if let Some(phase) = busy.get_mut(cube.phase(cell)) {
            *phase = true;
        }
    }
    (time, busy.into_iter().filter(|busy| *busy).count() as u64)
}

/// Returns a finding if the run alternates and overlapping would save enough.
pub(crate) fn finding(whole: &Whole<'_>) -> Option<Finding> {
    let (cube, ledger) = (&whole.causes.cube, &whole.ledger.result);
    let run_ns = whole.causes.result.run_ns;
    let thresholds = &cube.run.thresholds;
    let (read, reads) = of_class(whole, Class::Read);
    let (write, writes) = of_class(whole, Class::Write);
    let bursts = if read > write { reads } else { writes };
    let processes = ledger.processes.max(1);
    let (io_ns, computes_ns) = (ledger.job.io_ns() / processes, ledger.job.no_io_ns / processes);
    // A process with several threads may overlap already: one thread does I/O while others compute.
    let threads = cube.run.processes.iter().any(has_threads);
    if bursts < thresholds.few_min
        || threads
        || read.max(write) < (ledger.job.io_ns() as f64) * thresholds.majority_share
    {
        return None;
    }
    // The first piece is read, and the last one written, with no computation to overlap with.
    let saves_ns = (io_ns.min(computes_ns) as f64 * (1.0 - 1.0 / bursts as f64)) as u64;
    if (saves_ns as f64) < run_ns as f64 * thresholds.some_share {
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
