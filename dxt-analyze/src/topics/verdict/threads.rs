//! Threads of a process whose reads and writes never overlap, though they take most of the run: something lets only one in at a time.

use crate::findings::{About, Code, Finding};
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::words::verdict::{Threads, serialized_threads};

/// Part of the time of all calls that is time with any thread in a call, from which they follow one another.
const IN_TURN: f64 = 0.97;
/// Part of the run that threads are in calls, from which they wait for each other.
const MOST: f64 = 0.5;
/// Part of the time in calls that one thread has at most if several share them.
const SHARED: f64 = 2.0 / 3.0;

/// Part of the time from the first call of any thread to the last one that a thread is there, the mean by their time in calls, from which they
/// are there at once: of those that come one after another, each made for one piece of work, it is less.
const MEANWHILE: f64 = 0.6;

/// The process that loses most by it.
pub(crate) fn claims(whole: &Whole<'_>) -> Option<Claim> {
    let grid = &whole.causes.grid;
    let run_ns = whole.causes.result.run_ns as f64;
    let found = grid.run.numbered_processes().filter_map(|(number, _)| {
        let busy = *whole.ledger.busy.calls.get(&number)? as f64;
        let of = grid.threads.get(number.index())?;
        let (most, all) = (of.most_ns as f64, of.all_ns as f64);
        // Whose calls all lie behind those of another does not wait for it.
        let meanwhile = of.mean_span_ns as f64 >= of.span_ns as f64 * MEANWHILE;
        let by_turns = busy >= all * IN_TURN && busy >= run_ns * MOST && most <= all * SHARED && meanwhile;
        by_turns.then_some((number, busy, *of))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let &(number, busy, of) = found.first()?;
    let words = serialized_threads(&Threads {
        process: grid.run.process_name(number),
        others: found.len() as u64 - 1,
        count: of.count,
        busy_ns: busy as u64,
        sum_ns: of.all_ns,
        most_ns: of.most_ns,
    });
    let about = About { time_ns: Some(busy as u64), ..About::default() };
    let finding = Finding::new(Code::THREADS_BY_TURNS, words).with(about);
    Some(Claim { waiting_ns: (busy - of.most_ns as f64).max(0.0), ..Claim::new(finding, Vec::new()) })
}
