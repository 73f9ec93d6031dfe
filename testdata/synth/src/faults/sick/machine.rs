//! Cases (simulated jobs) with one fault of the machine each.

use super::{collective, own_files, reads, usual};
use crate::faults::case::Case;
use crate::faults::injected as fault;
use crate::faults::job::{Direction, Interface, Job, Placement};

pub(super) fn cases() -> Vec<Case> {
    [units(), storage(), moments(), processors()].into_iter().flatten().collect()
}

/// Returns cases (simulated jobs) with slow ranks or slow nodes.
fn units() -> Vec<Case> {
    vec![
        Case::new("slow-rank-shared", usual(1), [fault::slow_rank(5, 4.0)]).short(),
        Case::new("slow-rank-barriers", usual(2), [fault::slow_rank(17, 2.5)]),
        Case::new("slow-rank-own-files", own_files(usual(3)), [fault::slow_rank(30, 3.0)]),
        Case::new("slow-rank-of-four", Job { ranks: 4, nodes: 1, sigma: 0.5, ..usual(4) }, [fault::slow_rank(2, 3.0)]),
        Case::new("slow-rank-reads-noisy", Job { sigma: 0.8, ..reads(usual(5)) }, [fault::slow_rank(11, 5.0)]),
        Case::new(
            "slow-rank-of-512",
            Job { ranks: 512, nodes: 16, osts: 32, stripe_count: 32, bytes: 16 << 20, ..usual(6) },
            [fault::slow_rank(300, 6.0)],
        ),
        Case::new("slow-rank-no-meeting", Job { meet: false, ..usual(7) }, [fault::slow_rank(8, 4.0)]),
        Case::new(
            "slow-rank-independent",
            Job { interface: Interface::Independent, ..usual(8) },
            [fault::slow_rank(12, 4.0)],
        ),
        Case::new("slow-node", usual(9), [fault::slow_node(1, 3.0)]).short(),
        Case::new("slow-node-of-two", Job { nodes: 2, ..usual(10) }, [fault::slow_node(1, 3.0)]),
        Case::new(
            "slow-node-of-16",
            Job { ranks: 128, nodes: 16, osts: 16, stripe_count: 16, bytes: 32 << 20, sigma: 0.5, ..reads(usual(11)) },
            [fault::slow_node(9, 2.5)],
        ),
        Case::new("slow-node-own-files", own_files(usual(12)), [fault::slow_node(3, 4.0)]),
        Case::new("more-data", usual(13), [fault::more_data(3, 3)]).short(),
        Case::new("more-data-own-files", own_files(usual(14)), [fault::more_data(20, 4)]),
        Case::new("more-data-reads", reads(usual(15)), [fault::more_data(9, 2)]),
    ]
}

/// Returns cases (simulated jobs) with faults of storage targets and stripes.
fn storage() -> Vec<Case> {
    let queue = Job { headroom: 2.0, ..own_files(usual(21)) };
    vec![
        Case::new("slow-ost", usual(16), [fault::slow_osts(&[3], 6.0)]).short(),
        Case::new("slow-ost-own-files", own_files(usual(17)), [fault::slow_osts(&[5], 5.0)]),
        Case::new(
            "slow-ost-wide-writes",
            Job { stripe_size: 1 << 20, transfer: 3 << 20, ..usual(18) },
            [fault::slow_osts(&[2], 8.0)],
        ),
        Case::new(
            "slow-ost-of-64",
            Job { ranks: 128, nodes: 8, osts: 64, stripe_count: 64, bytes: 128 << 20, ..reads(usual(19)) },
            [fault::slow_osts(&[41], 8.0)],
        ),
        Case::new(
            "slow-ost-of-4",
            Job { osts: 4, stripe_count: 4, sigma: 0.5, ..usual(20) },
            [fault::slow_osts(&[1], 4.0)],
        ),
        Case::new("two-slow-osts", Job { osts: 16, stripe_count: 16, ..usual(22) }, [fault::slow_osts(&[4, 11], 6.0)]),
        Case::new(
            "two-slow-osts-reads",
            Job { osts: 12, stripe_count: 12, sigma: 0.5, ..reads(usual(23)) },
            [fault::slow_osts(&[0, 7], 8.0)],
        ),
        Case::new("ost-queue", queue.clone(), [fault::ost_queue()]).short(),
        Case::new(
            "ost-queue-reads",
            Job { seed: 24, shown: true, direction: Direction::Read, ..queue },
            [fault::ost_queue()],
        ),
        Case::new("few-stripes", Job { headroom: 2.0, ..usual(25) }, [fault::few_stripes()]),
        Case::new(
            "few-stripes-collective",
            Job { headroom: 0.3, aggregators: 8, ..collective(usual(26)) },
            [fault::few_stripes()],
        ),
        Case::new(
            "shared-stripes",
            Job { nodes: 32, transfer: 1 << 20, bytes: 16 << 20, ..usual(27) },
            [fault::shared_stripes()],
        )
        .short(),
        Case::new(
            "shared-stripes-few-nodes",
            Job { ranks: 30, nodes: 10, transfer: 1 << 20, bytes: 16 << 20, ..usual(28) },
            [fault::shared_stripes()],
        ),
        Case::new(
            "misaligned-large",
            Job { nodes: 32, place: Placement::Turns, handover_ns: 8e6, ..usual(29) },
            [fault::misaligned(1 << 16)],
        ),
        Case::new(
            "misaligned-header",
            Job { ranks: 16, nodes: 16, place: Placement::Turns, handover_ns: 8e6, ..usual(30) },
            [fault::misaligned(2048)],
        ),
    ]
}

/// Returns cases (simulated jobs) with faults that last for a part of the run only, or hit single calls.
fn moments() -> Vec<Case> {
    let long = |seed| Job { phases: 30, ..usual(seed) };
    vec![
        Case::new("window", long(31), [fault::window(0.4, 0.6, 6.0)]).short(),
        Case::new("window-no-meeting", Job { meet: false, ..long(33) }, [fault::window(0.2, 0.5, 4.0)]),
        Case::new("window-reads", Job { sigma: 0.5, ..reads(long(32)) }, [fault::window(0.7, 0.8, 10.0)]),
        Case::new("window-own-files", own_files(long(34)), [fault::window(0.1, 0.3, 8.0)]),
        Case::new("tail", usual(35), [fault::tail(0.01, 50.0)]).short(),
        Case::new("tail-reads", Job { sigma: 0.5, ..reads(usual(36)) }, [fault::tail(0.01, 50.0)]),
        Case::new("tail-own-files", Job { ranks: 64, ..own_files(usual(37)) }, [fault::tail(0.005, 80.0)]),
        Case::new("stall", Job { phases: 40, compute_ns: 1e9, ..usual(38) }, [fault::stall(7, 14, 30.0)]).short(),
        Case::new("stall-one-process", Job { ranks: 1, nodes: 1, ..usual(39) }, [fault::stall(0, 6, 30.0)]),
        Case::new(
            "stall-collective",
            Job { phases: 20, compute_ns: 1e9, ..collective(usual(40)) },
            [fault::stall(8, 7, 5.0)],
        ),
        Case::new("stall-early-reads", Job { compute_ns: 500e6, ..reads(usual(41)) }, [fault::stall(21, 0, 3.0)]),
    ]
}

/// Returns cases (simulated jobs) in which processes share CPUs.
fn processors() -> Vec<Case> {
    let busy = |seed| Job { cpu_share: Some(1.0), ..usual(seed) };
    vec![
        Case::new("few-cpus", busy(42), [fault::few_cpus(0.25)]).short(),
        Case::new("few-cpus-own-files", own_files(busy(43)), [fault::few_cpus(0.5)]),
        Case::new("few-cpus-reads", Job { sigma: 0.5, ..reads(busy(44)) }, [fault::few_cpus(0.3)]),
        Case::new("few-cpus-unsynchronized", Job { meet: false, ..busy(45) }, [fault::few_cpus(0.4)]),
    ]
}
