//! Intervals and events with known sums, as input of destinations.

use dxt_analyze::live::interval::{Group, Interval, NotSeen, Sums};
use dxt_analyze::live::sinks::{Outlet, To};
#[cfg(any(feature = "postgres", feature = "nats"))]
use dxt_analyze::live::{
    about::{Process, Target},
    event::{Event, Key},
    records::SoFar,
};
use std::sync::Arc;
use trace_format::Segment;
#[cfg(any(feature = "postgres", feature = "nats"))]
use trace_format::op::Layer;
use trace_format::op::OpClass;
use trace_format::segment::StreamId;

/// Returns the wall-clock time, ns since 1970-01-01 UTC.
pub(crate) fn now_unix_ns() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// Opens the destination `to` of live events, such as `nats:...` or `postgres:...`.
pub(crate) fn outlet(to: &str) -> Outlet {
    let mut outlet = to.parse::<To>().unwrap().open(std::time::Duration::from_secs(60)).unwrap();
    outlet.begin(None).unwrap();
    outlet
}

/// Returns a one-second interval with `calls` calls of 4096 bytes and 1 ms each, in one group whose names need escaping.
pub(crate) fn interval(begin_unix_ns: i64, calls: u64) -> Interval {
    let group = Group {
        job: "a job, \"of\" x=y".into(),
        node: "node1".into(),
        ranks: "0-31".into(),
        file_system: "/scratch lustre".into(),
        layer: "POSIX",
        op: "write".into(),
        class: OpClass::Write,
        nested: false,
    };
    let mut sums = Sums::default();
    let call = Segment::new(StreamId(0), 0, 4096, 0, 1_000_000);
    (0..calls).for_each(|_| sums.add(&call));
    Interval {
        begin_unix_ns,
        length_ns: 1_000_000_000,
        sums: [(Arc::new(group), sums)].into(),
        not_seen: NotSeen::default(),
        left_out: Arc::default(),
    }
}

/// Returns events of `jobs` jobs of 16 ranks with names that need escaping. From `begin_unix_ns` on, each process makes `calls` calls, one
/// per 10 µs, of 4096 bytes and 1 µs.
#[cfg(any(feature = "postgres", feature = "nats"))]
pub(crate) fn events(begin_unix_ns: i64, jobs: u32, calls: u32) -> Vec<Event> {
    let target = Arc::new(Target {
        layer: Layer::Posix,
        class: OpClass::Write,
        op: "pwrite".into(),
        file: "/scratch/a\tb \\. \"c\" ü\n".into(),
        file_number: 1,
        data_set: None,
        record_id: u64::MAX,
        file_system: "/scratch lustre".into(),
        errno: 0,
        nested: false,
    });
    let process = |job: u32, rank: u32| {
        Arc::new(Process {
            job: format!("job {job}"),
            job_id: job.into(),
            node: "node1".into(),
            rank: rank as i32,
            pid: 100 + job * 16 + rank,
            uid: 1000,
            exe: "/bin/app".into(),
            started: 77,
            spool: 0,
            epoch_unix_ns: begin_unix_ns,
            job_start_unix_ns: begin_unix_ns,
        })
    };
    let processes: Vec<_> = (0..jobs).flat_map(|job| (0..16).map(move |rank| process(job, rank))).collect();
    let call = |call: u32, process: &Arc<Process>| {
        let start_unix_ns = begin_unix_ns + i64::from(call) * 10_000;
        Event {
            process: process.clone(),
            target: target.clone(),
            key: Key { thread: 0, sequence: call / 256, slot: call % 256 },
            offset: i64::from(call) * 4096,
            length: 4096,
            start_unix_ns,
            end_unix_ns: start_unix_ns + 1_000,
            so_far: SoFar { calls: u64::from(call) + 1, ..SoFar::default() },
            stands_for: 1,
        }
    };
    (0..calls).flat_map(|number| processes.iter().map(move |process| call(number, process))).collect()
}
