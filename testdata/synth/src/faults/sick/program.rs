//! Cases (simulated jobs) with one fault of the program each.

use super::{collective, light, own_files, reads, usual};
use crate::faults::case::Case;
use crate::faults::injected as fault;
use crate::faults::job::{Header, Interface, Job, Order, Placement};

pub(super) fn cases() -> Vec<Case> {
    [requests(), together(), habits()].into_iter().flatten().collect()
}

/// Returns cases (simulated jobs) with faults in the size or placement of requests.
fn requests() -> Vec<Case> {
    let stream = Job { interface: Interface::Streams, bytes: 100 << 10, transfer: 100, ..own_files(light(54)) };
    vec![
        Case::new("small-writes", light(42), [fault::small_writes(4096)]).short(),
        Case::new("small-writes-own-files", own_files(light(43)), [fault::small_writes(8192)]),
        Case::new("small-reads", reads(light(44)), [fault::small_reads(4096)]),
        Case::new(
            "small-reads-independent",
            Job { interface: Interface::Independent, ..reads(light(45)) },
            [fault::small_reads(8192)],
        ),
        Case::new("random-reads", reads(light(46)), [fault::random_reads(4096)]).short(),
        Case::new("random-reads-own-files", own_files(reads(light(47))), [fault::random_reads(16384)]),
        Case::new(
            "strided-writes",
            Job { nodes: 4, handover_ns: 1e6, ..collective(light(48)) },
            [fault::strided(64 << 10)],
        )
        .short(),
        Case::new("strided-reads", reads(collective(light(49))), [fault::strided(16 << 10)]),
        Case::new(
            "sieved-reads",
            Job { interface: Interface::Independent, bytes: 8 << 20, transfer: 1 << 20, ..reads(usual(50)) },
            [fault::sieved_reads(16)],
        )
        .short(),
        Case::new(
            "sieved-reads-few",
            Job {
                ranks: 8,
                nodes: 2,
                interface: Interface::Independent,
                bytes: 8 << 20,
                transfer: 512 << 10,
                ..reads(usual(51))
            },
            [fault::sieved_reads(32)],
        ),
        Case::new(
            "sieved-writes",
            Job {
                interface: Interface::Independent,
                place: Placement::Turns,
                bytes: 1 << 20,
                transfer: 64 << 10,
                nodes: 2,
                compute_ns: 40e6,
                ..light(52)
            },
            [fault::sieved_writes(8)],
        ),
        Case::new(
            "sieved-writes-apart",
            Job { interface: Interface::Independent, bytes: 4 << 20, transfer: 512 << 10, ..usual(53) },
            [fault::sieved_writes(8)],
        ),
        Case::new("flushed-streams", stream.clone(), [fault::flush_each()]),
        Case::new("flushed-streams-one-process", Job { ranks: 1, nodes: 1, seed: 55, ..stream }, [fault::flush_each()]),
        Case::new(
            "read-modify-write",
            Job { transfer: 256 << 10, bytes: 8 << 20, ..own_files(usual(56)) },
            [fault::edges(1000)],
        )
        .short(),
        Case::new(
            "read-modify-write-large",
            Job { transfer: 1 << 20, bytes: 32 << 20, ..own_files(usual(57)) },
            [fault::edges(5000)],
        ),
        Case::new("reading-again", reads(usual(58)), [fault::reading_again(4)]).short(),
        Case::new("reading-again-own-files", own_files(reads(usual(59))), [fault::reading_again(3)]),
        Case::new(
            "hot-block",
            Job {
                ranks: 1024,
                nodes: 32,
                bytes: 32 << 20,
                phases: 4,
                osts: 16,
                stripe_count: 16,
                header: Some(Header { by_all: false, bulk_ranks: 8, ost_ns: 3e5 }),
                ..reads(usual(60))
            },
            [fault::hot_block(8, 3e5)],
        ),
        Case::new(
            "hot-block-of-128",
            Job {
                ranks: 128,
                nodes: 8,
                bytes: 32 << 20,
                header: Some(Header { by_all: false, bulk_ranks: 128, ost_ns: 1e6 }),
                ..reads(usual(61))
            },
            [fault::hot_block(128, 1e6)],
        ),
    ]
}

/// Returns cases (simulated jobs) with faults in the coordination of ranks.
fn together() -> Vec<Case> {
    vec![
        Case::new("late-rank-collective", collective(usual(62)), [fault::late_rank(5, 2.0)]).short(),
        Case::new("late-rank-collective-reads", reads(collective(usual(63))), [fault::late_rank(26, 3.0)]),
        Case::new(
            "late-rank-of-256",
            Job { ranks: 256, nodes: 8, aggregators: 8, bytes: 8 << 20, ..collective(usual(64)) },
            [fault::late_rank(100, 2.0)],
        ),
        Case::new("rank-0-only", Job { bytes: 8 << 20, ..usual(65) }, [fault::only_rank_0()]).short(),
        Case::new("rank-0-only-reads", Job { bytes: 8 << 20, ..reads(usual(66)) }, [fault::only_rank_0()]),
        Case::new("one-aggregator", Job { bytes: 16 << 20, ..collective(usual(67)) }, [fault::one_aggregator()]),
        Case::new(
            "one-aggregator-of-128",
            Job { ranks: 128, nodes: 8, aggregators: 8, bytes: 8 << 20, ..collective(usual(68)) },
            [fault::one_aggregator()],
        ),
        Case::new("serial-writes", Job { bytes: 8 << 20, ..usual(69) }, [fault::serial()]).short(),
        Case::new("serial-own-files", Job { bytes: 8 << 20, ..own_files(usual(70)) }, [fault::serial()]),
    ]
}

/// Returns cases (simulated jobs) with too many opens, stats, syncs or locks.
fn habits() -> Vec<Case> {
    let steps = |seed| Job { file_per_phase: true, ..own_files(usual(seed)) };
    vec![
        Case::new("slow-open-of-one", steps(71), [fault::slow_open(9, 0.4)]).short(),
        Case::new("slow-open-of-one-once", usual(72), [fault::slow_open(14, 1.5)]),
        Case::new("slow-metadata", steps(73), [fault::slow_metadata(8e6)]).short(),
        Case::new(
            "slow-metadata-of-512",
            Job { ranks: 512, nodes: 16, phases: 3, bytes: 16 << 20, osts: 32, ..steps(74) },
            [fault::slow_metadata(2e6)],
        ),
        Case::new(
            "open-storm",
            Job { transfer: 64 << 10, bytes: 4 << 20, ..own_files(usual(75)) },
            [fault::open_storm()],
        ),
        Case::new(
            "open-storm-reads",
            Job { transfer: 64 << 10, bytes: 4 << 20, ..reads(usual(76)) },
            [fault::open_storm()],
        ),
        Case::new("stat-storm", Job { transfer: 1 << 20, bytes: 8 << 20, ..usual(77) }, [fault::stat_storm(40)])
            .short(),
        Case::new("stat-storm-own-files", own_files(usual(78)), [fault::stat_storm(30)]),
        Case::new("sync-each", Job { transfer: 1 << 20, bytes: 16 << 20, ..usual(79) }, [fault::sync_each()]).short(),
        Case::new("sync-each-own-files", own_files(usual(80)), [fault::sync_each()]),
        Case::new(
            "sync-each-independent",
            Job { interface: Interface::Independent, transfer: 1 << 20, bytes: 16 << 20, ..usual(81) },
            [fault::sync_each()],
        ),
        Case::new("file-locks", Job { bytes: 4 << 20, transfer: 1 << 20, ..usual(82) }, [fault::file_locks()]).short(),
        Case::new(
            "file-locks-reads",
            Job { bytes: 8 << 20, transfer: 4 << 20, ..reads(usual(83)) },
            [fault::file_locks()],
        ),
        Case::new(
            "random-order-heavy",
            Job { order: Order::Random, ..reads(light(84)) },
            [fault::random_reads(32 << 10)],
        ),
    ]
}
