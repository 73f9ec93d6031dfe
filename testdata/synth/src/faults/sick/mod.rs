//! Cases (simulated jobs) with one injected fault each.

mod machine;
mod program;

use super::case::Case;
use super::job::{Direction, Interface, Job, Placement};

pub(super) fn cases() -> Vec<Case> {
    [machine::cases(), program::cases()].into_iter().flatten().collect()
}

/// Returns the default job with seed `seed`; if the seed is even, the trace records the job's barriers.
fn usual(seed: u64) -> Job {
    Job { seed, shown: seed.is_multiple_of(2), ..Job::default() }
}

/// Returns a job with few bytes per phase, so that small requests do not lead to too many calls.
fn light(seed: u64) -> Job {
    Job { ranks: 16, bytes: 4 << 20, compute_ns: 60e6, stripe_size: 1 << 20, ..usual(seed) }
}

fn reads(job: Job) -> Job {
    Job { direction: Direction::Read, ..job }
}

fn own_files(job: Job) -> Job {
    Job { place: Placement::Own, stripe_count: 1, ..job }
}

fn collective(job: Job) -> Job {
    Job { interface: Interface::Collective, place: Placement::Turns, ..job }
}
