//! Cases (simulated jobs) with two or three simultaneous faults of different cost, and cases with one weak fault.

use super::case::Case;
use super::injected as fault;
use super::job::{Direction, Interface, Job, Placement};

pub(super) fn cases() -> Vec<Case> {
    [two(), three(), weak()].into_iter().flatten().collect()
}

fn usual(seed: u64) -> Job {
    Job { seed, shown: seed.is_multiple_of(2), ..Job::default() }
}

fn two() -> Vec<Case> {
    let light = Job { ranks: 16, bytes: 4 << 20, compute_ns: 60e6, stripe_size: 1 << 20, ..usual(104) };
    let own = Job { place: Placement::Own, stripe_count: 1, ..usual(105) };
    let sieved = Job {
        interface: Interface::Independent,
        direction: Direction::Read,
        bytes: 8 << 20,
        transfer: 1 << 20,
        ..usual(109)
    };
    vec![
        Case::new("two-rank-and-sync", usual(101), [fault::slow_rank(5, 4.0), fault::sync_each()]).short(),
        Case::new(
            "two-stall-and-slow-node",
            Job { phases: 20, ..usual(102) },
            [fault::stall(9, 7, 6.0), fault::slow_node(3, 1.8)],
        ),
        Case::new(
            "two-ost-and-rank",
            Job { phases: 20, ..usual(103) },
            [fault::slow_osts(&[3], 9.0), fault::slow_rank(20, 1.8)],
        ),
        Case::new("two-small-and-slow-rank", light, [fault::small_writes(8192), fault::slow_rank(3, 1.4)]),
        Case::new(
            "two-open-and-window",
            Job { phases: 30, file_per_phase: true, ..own.clone() },
            [fault::slow_open(9, 0.2), fault::window(0.4, 0.6, 4.0)],
        ),
        Case::new("two-data-and-tail", usual(106), [fault::more_data(12, 4), fault::tail(0.002, 20.0)]),
        Case::new(
            "two-storm-and-slow-rank",
            Job { stats_each: 0, seed: 107, ..own.clone() },
            [fault::stat_storm(60), fault::slow_rank(7, 1.7)],
        ),
        Case::new(
            "two-queue-and-stall",
            Job { headroom: 2.0, seed: 108, shown: true, ..own },
            [fault::ost_queue(), fault::stall(4, 5, 0.7)],
        ),
        Case::new("two-sieve-and-late", sieved, [fault::sieved_reads(16), fault::slow_rank(15, 1.5)]),
        Case::new(
            "two-serial-and-stall",
            Job { bytes: 8 << 20, ..usual(110) },
            [fault::serial(), fault::stall(11, 3, 0.8)],
        ),
        Case::new(
            "two-locks-and-small",
            Job { bytes: 2 << 20, transfer: 1 << 20, ..usual(111) },
            [fault::file_locks(), fault::stall(2, 2, 0.5)],
        ),
    ]
}

fn three() -> Vec<Case> {
    let long = |seed| Job { phases: 30, ..usual(seed) };
    vec![
        Case::new(
            "three-rank-window-stall",
            long(120),
            [fault::slow_rank(5, 4.0), fault::window(0.5, 0.7, 5.0), fault::stall(22, 3, 1.0)],
        )
        .short(),
        Case::new(
            "three-sync-ost-stall",
            long(121),
            [fault::sync_each(), fault::slow_osts(&[6], 9.0), fault::stall(0, 20, 0.5)],
        ),
        Case::new(
            "three-data-open-window",
            Job { place: Placement::Own, stripe_count: 1, ..long(122) },
            [fault::more_data(2, 4), fault::slow_open(30, 1.2), fault::window(0.4, 0.6, 4.0)],
        ),
        Case::new(
            "three-stats-rank-stall",
            long(123),
            [fault::stat_storm(50), fault::slow_rank(31, 2.0), fault::stall(1, 25, 0.6)],
        ),
    ]
}

/// Returns cases (simulated jobs) that lose 1 to 10 % of the run time, which deserves a finding but no alarm.
fn weak() -> Vec<Case> {
    vec![
        Case::new("weak-slow-rank", Job { compute_ns: 700e6, ..usual(130) }, [fault::slow_rank(5, 2.0)]).short(),
        Case::new("weak-slow-node", Job { compute_ns: 600e6, ..usual(131) }, [fault::slow_node(2, 1.6)]),
        Case::new("weak-slow-ost", Job { compute_ns: 1e9, ..usual(132) }, [fault::slow_osts(&[4], 4.0)]),
        Case::new("weak-stall", Job { phases: 40, ..usual(133) }, [fault::stall(13, 17, 0.5)]),
        Case::new("weak-sync", Job { compute_ns: 800e6, ..usual(134) }, [fault::sync_each()]),
        Case::new("weak-tail", Job { compute_ns: 1e9, ..usual(135) }, [fault::tail(0.002, 20.0)]),
        Case::new(
            "weak-small-writes",
            Job { ranks: 16, bytes: 512 << 10, compute_ns: 600e6, ..usual(136) },
            [fault::small_writes(4096)],
        ),
        Case::new(
            "weak-open",
            Job { place: Placement::Own, stripe_count: 1, file_per_phase: true, compute_ns: 500e6, ..usual(137) },
            [fault::slow_open(9, 0.03)],
        ),
        Case::new(
            "weak-late-rank",
            Job { interface: Interface::Collective, place: Placement::Turns, headroom: 8.0, ..usual(138) },
            [fault::late_rank(7, 1.2)],
        ),
    ]
}
