//! Threads of a process whose reads and writes never overlap, though they take most of the run: a lock admits one at a time.

use crate::findings::{About, Code, Finding};
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::words::verdict::{Threads, serialized_threads};

/// Returns a claim (finding with its saving) about the process that loses most time by serialized threads; `None` if no process has such
/// threads.
pub(crate) fn claims(whole: &Whole<'_>) -> Option<Claim> {
    let cube = &whole.causes.cube;
    let run_ns = whole.causes.result.run_ns as f64;
    let thresholds = &cube.run.thresholds;
    let found = cube.run.numbered_processes().filter_map(|(number, _)| {
        let busy = *whole.ledger.busy.calls.get(&number)? as f64;
        let of = cube.threads.get(number.index())?;
        let (most, all) = (of.most_ns as f64, of.all_ns as f64);
        // A thread whose calls all lie after those of another does not wait for it.
        let meanwhile = of.mean_span_ns as f64 >= of.span_ns as f64 * thresholds.majority_share;
        let by_turns = busy >= all * thresholds.all_share
            && busy >= run_ns * thresholds.half_share
            && most <= all * thresholds.majority_share
            && meanwhile;
        by_turns.then_some((number, busy, *of))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let &(number, busy, of) = found.first()?;
    let words = serialized_threads(&Threads {
        process: cube.run.process_name(number),
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
