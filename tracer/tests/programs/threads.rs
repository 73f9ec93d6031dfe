//! Tests of threads with own and with shared file descriptors: every call is attributed to the thread that made it, at the offset of its bytes.

use crate::harness::{Launch, Order, Scratch, assert_same, workload};

fn run(threads: u32, records: u32, buffer: &str) {
    let scratch = Scratch::new();
    let (log, traces) = Launch::new(&scratch, workload("threads"))
        .arg(scratch.data())
        .arg(threads.to_string())
        .arg(records.to_string())
        .env("DXT_BUFFER_MAX", buffer)
        .traced();
    assert_eq!(traces.missing(), 0);
    assert_same(Order::File, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
}

#[test]
fn four_threads() {
    run(4, 500, "64M");
}

#[test]
fn more_threads_than_processors() {
    run(32, 100, "64M");
}

#[test]
fn one_thread_beside_main() {
    run(1, 1000, "64M");
}

#[test]
fn with_a_full_buffer_nothing_is_lost_uncounted() {
    for overflow in ["fold", "compact"] {
        let scratch = Scratch::new();
        let (log, traces) = Launch::new(&scratch, workload("threads"))
            .arg(scratch.data())
            .arg("4")
            .arg("3000")
            .env("DXT_BUFFER_MAX", "256K")
            .env("DXT_OVERFLOW", overflow)
            .traced();
        assert!(traces.missing() > 0 || overflow == "compact");
        let bytes = |name: &str| log.iter().filter(|op| op.name == name).map(|op| op.length).sum::<u64>();
        let count = |name: &str| log.iter().filter(|op| op.name == name).count() as u64;
        for name in ["open", "close", "read", "write", "seek"] {
            let reported = traces.totals(&["POSIX"], name, &scratch.data());
            assert_eq!(reported, (count(name), bytes(name)), "{overflow}: {name}");
        }
    }
}
