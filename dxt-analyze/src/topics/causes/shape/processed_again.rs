//! Computing that is repeated since data are read again: after each pass over a file, a program decompresses, parses or searches the same
//! bytes. The trace has the pauses between calls and the time on processors, but not what is computed: the saving is an estimate, and may be 0.

use crate::cube::Cube;
use crate::findings::{About, Code, Finding, Severity};
use crate::model::{Class, FileId, Interval, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::common::Who;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Use of a file by a process.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    opens: u64,
    /// Bytes that the process reads.
    read: u64,
    /// End of the last byte that the process reads.
    until: u64,
}

/// Returns one claim (finding with its saving) about all files that processes read again and again.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    // Pauses of ranks may be waits for each other.
    if cube.run.ranks() > 0 {
        return None;
    }
    let mut uses: BTreeMap<(ProcessId, FileId), Use> = BTreeMap::new();
    let mut in_calls: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf) {
        *in_calls.entry(cell.process).or_default() += cell.time_ns();
        let Some(stream) = cube.stream(cell).filter(|of| of.within() == Within::Nothing && !of.failed) else {
            continue;
        };
        let of = uses.entry((cell.process, stream.file)).or_default();
        match cell.class {
            Class::Open => add(&mut of.opens, cell.sums.calls),
            Class::Read => {
                add(&mut of.read, cell.sums.bytes);
                of.until = of.until.max(cell.sums.range.1);
            }
            _ => {}
        }
    }
    let mut by: BTreeMap<ProcessId, Vec<(f64, FileId, u64, Use)>> = BTreeMap::new();
    for ((process, file), of) in uses.into_iter().filter(|(_, of)| of.read > of.until && of.until > 0) {
        let Some(pauses) = cube.pauses.get(&(process, file)) else { continue };
        let passes = of.opens.max(pauses.from_start);
        let again = 1.0 - of.until as f64 / of.read as f64;
        // Work after few passes, such as those of a training, may be different each time.
        if passes < thresholds.many_calls_min || again < thresholds.half_share {
            continue;
        }
        let share = computing_share(cube, process, in_calls.get(&process).copied().unwrap_or_default());
        let ns = pauses.between_ns.saturating_add(pauses.behind_ns) as f64 * again * share;
        by.entry(process).or_default().push((ns, file, passes, of));
    }
    // Threads compute at the same time.
    let sum = |(process, all): (&ProcessId, &Vec<(f64, FileId, u64, Use)>)| {
        let longest = on_processors(cube, *process).into_iter().max().unwrap_or(0);
        all.iter().map(|(ns, ..)| ns).sum::<f64>().min(longest as f64)
    };
    let (process, most) = by.iter().max_by(|a, b| sum(*a).total_cmp(&sum(*b)))?;
    let saves_ns = sum((process, most));
    let (_, file, passes, of) = most.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let name = cube.run.file(*file)?.name.clone();
    let about = About { file: Some(name.clone()), calls: Some(*passes), bytes: Some(of.read), ..About::default() };
    let words = words::ProcessedAgain {
        who: Who::of(by.len(), cube.run.process_name(*process)),
        file: &name,
        others: most.len() as u64 - 1,
        passes: *passes,
        read: of.read,
        until: of.until,
        time_ns: saves_ns as u64,
    };
    let finding = Finding::new(Code::PROCESSED_AGAIN, words::processed_again(&words, about));
    (saves_ns > 0.0).then(|| Claim {
        waiting_ns: saves_ns,
        range: Some((0.0, 1.0)),
        at_most: Severity::Warn,
        ..Claim::new(finding, Savings::new())
    })
}

/// Returns the time of each of a process's threads on processors, ns; empty if it is unknown.
fn on_processors(cube: &Cube<'_>, process: ProcessId) -> Vec<u64> {
    let threads = cube.run.process(process).into_iter().flat_map(|of| of.cpu.threads());
    threads.map(|thread: &[Interval]| thread.iter().map(|of| of.run_ns).fold(0_u64, u64::saturating_add)).collect()
}

/// Returns the share of a process's pauses between calls in which it computes, 0 to 1: the rest of its time on processors beside `in_calls`,
/// its time in calls, ns. 0 if its time on processors is unknown.
fn computing_share(cube: &Cube<'_>, process: ProcessId, in_calls: f64) -> f64 {
    let pauses = cube.pauses.get(&(process, FileId::NONE)).map_or(0, |of| of.between_ns);
    let all = on_processors(cube, process).into_iter().fold(0_u64, u64::saturating_add) as f64;
    ((all - in_calls).max(0.0) / (pauses as f64).max(1.0)).min(1.0)
}
