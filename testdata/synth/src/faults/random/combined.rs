//! Random jobs with two or three independent faults, each of another kind.

use super::sick::KINDS;
use super::{COSTS, Draw};
use crate::faults::case::Case;
use crate::faults::job::Job;

/// Maximum number of attempts to draw independent faults for one case (simulated job).
const TRIES: u64 = 400;
/// Maximum number of accesses of the job with its faults.
const MOST_CALLS: u64 = 60_000;
/// Maximum factor between the sum of the faults' costs and the cost of all faults together: more means that the faults depend on each other.
const INDEPENDENT: f64 = 1.25;

/// Draws a case with two or, for every third number, three faults of generations 1 to `generation`. The type of the first fault is number
/// `number` (modulo the number of types) in the list of types. `None` if no attempt yields independent faults that cost enough, but not too
/// much.
pub(super) fn case(number: u64, seed: u64, generation: u64) -> Option<Case> {
    (0..TRIES).find_map(|attempt| {
        let mut draw = Draw { keys: [seed, number, attempt, 1], base: None };
        let kinds: Vec<_> = KINDS[..generation as usize].concat();
        let first = (number % kinds.len() as u64) as usize;
        let mut drawn = vec![first];
        let (mut job, fault) = kinds[first].1(&mut draw);
        let mut faults = vec![fault];
        while faults.len() < if number.is_multiple_of(3) { 3 } else { 2 } {
            let kind = draw.number(0, kinds.len() as u32) as usize;
            draw.base = Some(job.clone());
            let (adapted, fault) = kinds[kind].1(&mut draw);
            let commutes = faults.iter().all(|other| {
                let both = |first: &dyn Fn(&mut Job), second: &dyn Fn(&mut Job)| {
                    let mut job = adapted.clone();
                    first(&mut job);
                    second(&mut job);
                    format!("{job:?}")
                };
                both(&fault.inject, &other.inject) == both(&other.inject, &fault.inject)
            });
            if drawn.contains(&kind) || shape(&adapted) != shape(&job) || !commutes {
                return None;
            }
            (job, drawn) = (adapted, [drawn, vec![kind]].concat());
            faults.push(fault);
        }
        let names: Vec<&str> = drawn.iter().map(|kind| kinds[*kind].0).collect();
        let mut case = Case::new(&format!("combined-{number:04}-{}", names.join("+")), job.beside(), faults);
        let with_faults = case.without(None);
        let calls = with_faults.bytes / with_faults.transfer * u64::from(1 + with_faults.stats_each);
        // Ranks without I/O never pass their turn on.
        let stuck = with_faults.serial && (with_faults.only_rank_0 || with_faults.header.is_some());
        if stuck || u64::from(with_faults.ranks * with_faults.phases) * calls > MOST_CALLS {
            return None;
        }
        let truth = case.truth().2;
        let sum: u64 = truth.faults.iter().map(|fault| fault.truth_ns).sum();
        let ratio = sum as f64 / truth.truth_ns.max(1) as f64;
        let costs = |ns: u64| COSTS.contains(&(ns as f64 / truth.run_ns.max(1) as f64));
        let independent = (1.0 / INDEPENDENT..=INDEPENDENT).contains(&ratio);
        (independent && truth.faults.iter().all(|fault| costs(fault.truth_ns))).then_some(case)
    })
}

/// Returns the parameters of a job on which its faults depend, and which must stay the same when a further fault is added. The seed is one
/// of them: a different seed shows that another job was drawn.
fn shape(job: &Job) -> impl PartialEq + use<> {
    let machine = (job.seed, job.ranks, job.nodes, job.osts, job.stripe_size, job.stripe_count);
    (machine, job.interface, job.direction, job.place, job.transfer, job.file_per_phase)
}
