//! Jobs with one fault.

use super::case::Case;
use super::injected as fault;
use super::job::{Direction, Header, Interface, Job, Order, Place};

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    [units(), storage(), moments(), requests(), together(), habits()].into_iter().flatten().collect()
}

/// The usual job with a seed of its own; the trace shows its barriers if the seed is even.
fn usual(seed: u64) -> Job {
    Job { seed, shown: seed.is_multiple_of(2), ..Job::default() }
}

/// Few bytes in a phase, so that small requests do not become too many.
fn light(seed: u64) -> Job {
    Job { ranks: 16, bytes: 4 << 20, compute_ns: 60e6, stripe_size: 1 << 20, ..usual(seed) }
}

fn reads(job: Job) -> Job {
    Job { direction: Direction::Read, ..job }
}

fn own_files(job: Job) -> Job {
    Job { place: Place::Own, stripe_count: 1, ..job }
}

fn collective(job: Job) -> Job {
    Job { interface: Interface::Collective, place: Place::Turns, ..job }
}

/// One rank, one node.
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

/// Storage targets and stripes.
fn storage() -> Vec<Case> {
    let queue = Job { headroom: 2.0, ..own_files(usual(21)) };
    vec![
        Case::new("slow-ost", usual(16), [fault::slow_osts(&[3], 6.0)]).short(),
        Case::new("slow-ost-own-files", own_files(usual(17)), [fault::slow_osts(&[5], 5.0)]),
        Case::new(
            "slow-ost-wide-writes",
            Job { stripe_size: 1 << 20, transfer: 16 << 20, ..usual(18) },
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
            Job { nodes: 32, place: Place::Turns, handover_ns: 8e6, ..usual(29) },
            [fault::misaligned(1 << 16)],
        ),
        Case::new(
            "misaligned-header",
            Job { ranks: 16, nodes: 16, place: Place::Turns, handover_ns: 8e6, ..usual(30) },
            [fault::misaligned(2048)],
        ),
    ]
}

/// Moments.
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

/// Sizes and places of requests.
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
                place: Place::Turns,
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

/// What ranks do together.
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

/// Opens, stats, syncs, locks.
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
